package commands

import (
	"strings"
	"testing"
)

func TestPasswordsOnTheCommandLineAreRefused(t *testing.T) {
	t.Parallel()
	for conninfo, refused := range map[string]bool{
		"":                                     false,
		"service=ledger":                       false,
		"host=h user=u dbname=d":               false,
		"postgres://u@h/d":                     false,
		"postgresql:///d?host=/run/postgresql": false,
		"passfile=/home/u/.pgpass dbname=d":    false,
		"postgres://u:canary@h/d":              true,
		"postgres://u:@h/d":                    true,
		"postgres://h/d?password=canary":       true,
		"postgres://h/d?sslpassword=canary":    true,
		"password=canary":                      true,
		"host=h PassWord = 'can ary'":          true,
		"host='h'password=canary":              true,
		"host=h sslpassword=canary":            true,
		"postgres://u:canary@h:port/d":         true,
		"postgres://%zz:canary@h/d":            true,
	} {
		err := refusePassword("ledger", conninfo)
		if (err != nil) != refused {
			t.Errorf("%q: got %v, want refused %v", conninfo, err, refused)
		}
		if err != nil && strings.Contains(err.Error()+hintOf(err), "canary") {
			t.Errorf("%q is repeated: %v", conninfo, err)
		}
	}
}
