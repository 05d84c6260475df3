package commands

import (
	"bytes"
	"errors"
	"runtime/debug"
	"testing"
	"time"
)

func TestTablesAreAlignedAndTrimmed(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	env := newEnv(nil, &out, nil)
	rows := [][]string{{"app", "idle", ""}, {"a-long-name", "due", "x\x1b[31m\ny"}}
	if err := env.printTable([]string{"SCOPE", "STATE", "NOTE"}, rows); err != nil {
		t.Fatal(err)
	}
	const want = "SCOPE        STATE  NOTE\napp          idle\na-long-name  due    x�[31m y\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
}

func TestErrorsAreTold(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{
		"":     "heyaira-loop: reach postgres://***@h/d: no\nhint: try �[2J again\n",
		"json": `{"error":"reach postgres://***@h/d: no","hint":"try �[2J again","status":7}` + "\n",
	} {
		var errs bytes.Buffer
		env := newEnv(nil, nil, &errs)
		env.logFormat = format
		env.tell(misuse("try \x1b[2J again", "reach postgres://u:canary@h/d:\nno"), 7)
		env.tell(told(7), 7)
		if got := errs.String(); got != want {
			t.Errorf("got\n%s, want\n%s", got, want)
		}
	}
}

type gone struct{}

func (gone) Write([]byte) (int, error) { return 0, errors.New("gone") }

func TestLostOutputIsAnError(t *testing.T) {
	t.Parallel()
	env := newEnv(nil, gone{}, nil)
	for name, err := range map[string]error{
		"say":   env.say("x"),
		"json":  env.printJSON(1),
		"table": env.printTable([]string{"A"}, [][]string{{"1"}}),
	} {
		if err == nil {
			t.Errorf("%s: a write that failed was not told", name)
		}
	}
}

func TestNumbersForPeople(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 12_345_678: "12.3 MB", 5_000_000_000_000: "5.0 TB"} {
		if got := size(bytes); got != want {
			t.Errorf("size(%d) = %s, want %s", bytes, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		0: "0s", 59 * time.Second: "59s", 61 * time.Second: "1m 1s", 25 * time.Hour: "1d 1h", 90 * time.Minute: "1h 30m",
	} {
		if got := span(d); got != want {
			t.Errorf("span(%s) = %s, want %s", d, got, want)
		}
	}
	now := time.Date(2026, 11, 30, 18, 30, 5, 0, time.UTC)
	if got := moment(now.Add(time.Hour), now); got != "19:30Z" {
		t.Errorf("moment today = %s", got)
	}
	if got := moment(now.Add(24*time.Hour), now); got != "2026-12-01 18:30Z" {
		t.Errorf("moment tomorrow = %s", got)
	}
}

func TestVersionComesFromTheBuild(t *testing.T) {
	t.Parallel()
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef0123"}
	for want, info := range map[string]debug.BuildInfo{
		"v1.2.3":                   {Main: debug.Module{Version: "v1.2.3"}},
		"devel":                    {Main: debug.Module{Version: "(devel)"}},
		"devel-0123456789ab":       {Settings: []debug.BuildSetting{revision}},
		"devel-0123456789ab+dirty": {Settings: []debug.BuildSetting{revision, {Key: "vcs.modified", Value: "true"}}},
	} {
		if got := versionOf(&info); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
