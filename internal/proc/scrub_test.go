package proc

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestScrubHidesSecretsAndKeepsTheRest(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ text, want string }{
		{`connection to "host=db1 password=hunter2 dbname=app" failed`, `connection to "host=db1 password=*** dbname=app" failed`},
		{`password='hun\'ter 2' host=db1`, `password=*** host=db1`},
		{`password = 'hunter2' host=db1`, `password = *** host=db1`},
		{`password=hun\ ter2 host=db1`, `password=*** host=db1`},
		{`PGPASSWORD=hunter2 pg_dump`, `PGPASSWORD=*** pg_dump`},
		{`sslpassword=hunter2`, `sslpassword=***`},
		{`postgres://app:hunter2@db1:5432/app?sslmode=require`, `postgres://***@db1:5432/app?sslmode=require`},
		{`postgres://app:hun@ter/2@db1/app`, `postgres://***@db1/app`},
		{`postgresql://db1/app?user=u&password=hunter2`, `postgresql://db1/app?user=u&password=***`},
		{`discord://hunter2@12345`, `discord://***@12345`},
		{`https://db1:9000/bucket/key`, `https://db1:9000/bucket/key`},
		{`bad key AGE-SECRET-KEY-1QQPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L here`, `bad key *** here`},
		{`age-secret-key-pq-1qqpzry9x8 here`, `*** here`},
		{"x\n-----BEGIN OPENSSH PRIVATE KEY-----\nhunter2\n-----END OPENSSH PRIVATE KEY-----\ny", "x\n***\ny"},
		{"-----BEGIN PRIVATE KEY-----\nhunter2", "***"},
		{`Authorization: AWS4-HMAC-SHA256 Credential=AK/x, Signature=hunter2`, `Authorization: ***`},
		{`{"authorization":"Bearer hunter2"}`, `{"authorization":***`},
		{`sent Bearer hunter2, got 401`, `sent Bearer ***, got 401`},
		{`AWS_SECRET_ACCESS_KEY=hunter2/x+y= next`, `AWS_SECRET_ACCESS_KEY=*** next`},
		{`{"secret_key": "hun\"ter2", "region": "auto"}`, `{"secret_key": ***, "region": "auto"}`},
		{`token: hunter2`, `token: ***`},
		{`GET /key?X-Amz-Signature=hunter2`, `GET /key?X-Amz-Signature=***`},
		{`Command was: CREATE ROLE app PASSWORD 'hunter2';`, `Command was: CREATE ROLE app PASSWORD ***;`},
		{`OPTIONS (user 'app', password 'hun''ter2')`, `OPTIONS (user 'app', password ***)`},
		{`verifier SCRAM-SHA-256$4096:hunter2$x:y`, `verifier ***`},
		{"ERROR:  duplicate key\nDETAIL:  Key (mail)=(hunter2) already exists.\nnext", "ERROR:  duplicate key\nDETAIL:  ***\nnext"},
		{`CONTEXT:  COPY app.person, line 12, column mail: "hunter2"`, `CONTEXT:  COPY app.person, line 12`},
		{`FATAL:  password authentication failed for user "app"`, `FATAL:  password authentication failed for user "app"`},
		{`connection to server on socket "/run/.s.PGSQL.5432" failed: No such file or directory`, `connection to server on socket "/run/.s.PGSQL.5432" failed: No such file or directory`},
	} {
		if got := Scrub(row.text); got != row.want {
			t.Errorf("%s\n got %s\nwant %s", row.text, got, row.want)
		}
	}
}

func TestTailIsBoundedWholeLinesAndPrintable(t *testing.T) {
	t.Parallel()
	kept := newTail(nil)
	fmt.Fprintf(kept, "password=%s\n", strings.Repeat("hunter2", 10))
	for n := range 1000 {
		fmt.Fprintf(kept, "line %d\x1b[31m\x00\xff\n", n)
	}
	got := kept.text()
	if len(got) > tailSize || !utf8.ValidString(got) || strings.ContainsAny(got, "\x00\x1b") {
		t.Errorf("got %d bytes: %q", len(got), got)
	}
	if !strings.HasPrefix(got, "line ") || !strings.HasSuffix(got, "line 999[31m?") {
		t.Errorf("got %q … %q", got[:20], got[len(got)-20:])
	}
}

func TestTailShowsNoPartOfAnEndlessLine(t *testing.T) {
	t.Parallel()
	kept := newTail(nil)
	fmt.Fprintf(kept, "password=%s\n", strings.Repeat("hunter2", 1000))
	if got := kept.text(); strings.Contains(got, "hunter2") || got == "" {
		t.Errorf("got %q", got)
	}
}
