package backup

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/heyaira/heyaira-loop/internal/config"
	"github.com/heyaira/heyaira-loop/internal/pgtest"
	"github.com/heyaira/heyaira-loop/internal/store"
	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/ledger"
)

// TestObserve runs on one server that nobody else uses, one test after the other: any
// commit in a cluster moves the markers of all its databases.
func TestObserve(t *testing.T) {
	t.Parallel()
	server := pgtest.NewServer(t, "autovacuum=off")
	for _, c := range []struct {
		name string
		test func(w *watched)
	}{
		{"IdleDatabaseStaysUnchanged", idleDatabaseStaysUnchanged},
		{"IdleLookTakesOneTurn", idleLookTakesOneTurn},
		{"EveryKindOfChangeIsSeen", everyKindOfChangeIsSeen},
		{"RestartCrashAndPlanAreChanges", restartCrashAndPlanAreChanges},
		{"DoubtIsAChangeAfterFifteenMinutes", doubtIsAChangeAfterFifteenMinutes},
		{"ForcedLookIsForced", forcedLookIsForced},
		{"LedgerMadeAnewLearnsItsStore", ledgerMadeAnewLearnsItsStore},
		{"LockedSequenceIsADoubtAndHoldsUpNoTick", lockedSequenceIsADoubtAndHoldsUpNoTick},
		{"WeakMarkersAreNoted", weakMarkersAreNoted},
		{"PoolerIsRefused", poolerIsRefused},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(watch(t, server)) })
	}
}

// watched is a database under observation.
type watched struct {
	t        testing.TB
	server   *pgtest.Server
	conninfo string
	consumer *Consumer
	head     ledger.Head
}

func watch(t testing.TB, server *pgtest.Server) *watched {
	t.Helper()
	w := &watched{t: t, server: server, conninfo: server.Database(t)}
	w.consumer = consumer(service(t, w.conninfo))
	w.head = ledger.Head{WorkType: WorkType, Scope: "app", Stores: map[string]string{"local": "5d2b2c7e-0000-4000-8000-000000000000"}, Now: time.Now()}
	return w
}

// through is the watched database by way of a relay.
func (w *watched) through(r *relay) string {
	return service(w.t, strings.Replace(w.conninfo, w.server.Socket, r.socket, 1))
}

func consumer(service string) *Consumer {
	return New(Options{Host: "db1", Backups: map[string]config.Backup{
		"app": {Name: "app", Service: service, Store: "local", Recipients: []string{"age1x"}},
	}})
}

// observe looks once and answers what the ledger would be told.
func (w *watched) observe() ledger.Observation {
	w.t.Helper()
	seen, err := w.consumer.Observe(w.t.Context(), w.head)
	if err != nil {
		w.t.Fatalf("observe: %v", err)
	}
	if len(seen) != 1 || seen[0].Scope != "app" || seen[0].WorkType != WorkType {
		w.t.Fatalf("observe = %+v, want one observation of app", seen)
	}
	return seen[0]
}

// cover makes the present state the covered one.
func (w *watched) cover() {
	w.t.Helper()
	w.head.CoveredMarker, w.head.Memo = "", nil
	w.head.CoveredMarker = w.observe().Marker
}

// do runs statements in the database and has their counts written at once, as they
// are some seconds after any session's work.
func (w *watched) do(statements ...string) {
	w.t.Helper()
	conn := pgtest.Connect(w.t, w.conninfo)
	defer conn.Close(w.t.Context())
	for _, statement := range append(statements, "SELECT pg_stat_force_next_flush()", "SELECT 1") {
		if _, err := conn.Exec(w.t.Context(), statement); err != nil {
			w.t.Fatalf("%s: %v", statement, err)
		}
	}
}

func reason(o ledger.Observation) string {
	var payload struct{ Seen string }
	_ = json.Unmarshal(o.Payload, &payload)
	return payload.Seen
}

func idleDatabaseStaysUnchanged(w *watched) {
	t := w.t
	w.do("CREATE TABLE t (id serial PRIMARY KEY, note text)", "INSERT INTO t (note) SELECT repeat('x', i) FROM generate_series(1, 1000) i")
	w.cover()
	for range 5 {
		// Readers come and go; a checkpoint writes.
		w.do("SELECT count(*) FROM t", "BEGIN READ ONLY", "SELECT count(*) FROM pg_class", "COMMIT", "CHECKPOINT", "VACUUM t")
		if got := w.observe(); got.Marker != w.head.CoveredMarker || got.Forced || string(got.Memo) != "null" {
			t.Fatalf("observe of an idle database = %s (%s), memo %s, want the covered %s", got.Marker, reason(got), got.Memo, w.head.CoveredMarker)
		}
	}
}

func everyKindOfChangeIsSeen(w *watched) {
	t := w.t
	w.do("CREATE TABLE t (id int, note text)", "CREATE TABLE empty ()", "CREATE SEQUENCE s", "SELECT nextval('s')",
		"SELECT lo_create(4711)", "CREATE ROLE r", "INSERT INTO t SELECT i, 'x' FROM generate_series(1, 100) i", "CREATE UNLOGGED TABLE u (id int)")
	for _, statements := range [][]string{
		{"INSERT INTO t VALUES (0, 'new')"},
		{"UPDATE t SET note = 'y' WHERE id = 1"},
		{"DELETE FROM t WHERE id = 2"},
		{"INSERT INTO u VALUES (1)"},
		{"TRUNCATE t"},
		{"CREATE TABLE other (id int)"},
		{"DROP TABLE empty"},
		{"ALTER TABLE t ADD COLUMN extra int DEFAULT 1"},
		{"CREATE INDEX ON t (id)"},
		{"CREATE VIEW v AS SELECT id FROM t"},
		{"COMMENT ON TABLE t IS 'seen'"},
		{"GRANT SELECT ON t TO r"},
		{"SELECT nextval('s')"},
		{"SELECT setval('s', 1000)"},
		{"ALTER SEQUENCE s INCREMENT 5"},
		{"SELECT lo_put(4711, 0, 'bytes')"},
		{"SELECT lo_unlink(4711)"},
		{"CREATE ROLE another"},
		{"ALTER ROLE r PASSWORD 'p'"},
		{"GRANT r TO another"},
		{"ALTER DATABASE postgres SET work_mem = '8MB'"},
		{"BEGIN", "INSERT INTO t VALUES (1)", "SAVEPOINT a", "INSERT INTO t VALUES (2)", "ROLLBACK TO a", "COMMIT"},
		{"PREPARE p AS SELECT 1", "DO $$ BEGIN INSERT INTO t VALUES (3); COMMIT; END $$"},
		{"SELECT pg_stat_reset()"},
	} {
		w.cover()
		if got := w.observe(); got.Marker != w.head.CoveredMarker {
			t.Fatalf("before %q: changed (%s)", statements, reason(got))
		}
		w.do(statements...)
		got := w.observe()
		if got.Marker == w.head.CoveredMarker {
			t.Errorf("after %q: unchanged, want changed (%s)", statements, reason(got))
		}
		if _, err := ParseMarker(got.Marker); err != nil {
			t.Errorf("after %q: %v", statements, err)
		}
	}
}

func restartCrashAndPlanAreChanges(w *watched) {
	t := w.t
	w.do("CREATE TABLE t (id int)")
	for _, c := range []struct {
		name   string
		change func()
	}{
		{"restart", func() { w.server.Stop("fast"); w.server.Start() }},
		{"crash", func() { w.server.Stop("immediate"); w.server.Start() }},
		{"another store", func() {
			w.head.Stores = map[string]string{"local": "6e2b2c7e-0000-4000-8000-000000000000"}
		}},
		{"another recipient", func() {
			b := w.consumer.options.Backups["app"]
			b.Recipients = append(b.Recipients, "age1y")
			w.consumer.options.Backups["app"] = b
		}},
	} {
		w.cover()
		c.change()
		if got := w.observe(); got.Marker == w.head.CoveredMarker {
			t.Errorf("after %s: unchanged, want changed", c.name)
		}
	}
}

// A transaction without counted changes may be work that was counted late, or none.
func doubtIsAChangeAfterFifteenMinutes(w *watched) {
	t := w.t
	w.do("CREATE TABLE t (id int)")
	w.cover()
	w.do("SELECT pg_current_xact_id()")
	first := w.observe()
	if first.Marker != w.head.CoveredMarker {
		t.Fatalf("first look: changed (%s), want the covered marker while unsure", reason(first))
	}
	var kept memo
	if err := json.Unmarshal(first.Memo, &kept); err != nil || kept.UnsureSince.IsZero() {
		t.Fatalf("memo = %s, %v, want since when it is unsure", first.Memo, err)
	}

	w.head.Memo, w.head.Now = first.Memo, w.head.Now.Add(14*time.Minute)
	again := w.observe()
	if again.Marker != w.head.CoveredMarker || string(again.Memo) != string(first.Memo) {
		t.Errorf("after 14 minutes: marker %s, memo %s, want the covered marker and the memo %s", again.Marker, again.Memo, first.Memo)
	}
	w.head.Now = w.head.Now.Add(time.Minute)
	if late := w.observe(); late.Marker == w.head.CoveredMarker {
		t.Error("after 15 minutes: unchanged, want changed")
	}

	// A newer cover ends the doubt; the next one begins anew.
	w.head.CoveredAt = w.head.Now.Add(-time.Minute)
	if got := w.observe(); got.Marker != w.head.CoveredMarker {
		t.Error("doubt of an older cover was carried over")
	}
}

func forcedLookIsForced(w *watched) {
	t := w.t
	if got := w.observe(); got.Marker == "" || reason(got) != "never covered" {
		t.Errorf("first look = %q (%s), want a marker", got.Marker, reason(got))
	}
	w.cover()
	w.head.Force = true
	got := w.observe()
	if !got.Forced || got.Marker == "" {
		t.Errorf("forced look = %+v, want it forced", got)
	}
	w.head.Force, w.head.CoveredMarker = false, "no marker"
	if got := w.observe(); got.Marker == "no marker" {
		t.Error("a covered marker that cannot be read was answered, want a change")
	}
}

// The covers of a ledger that was lost come back from the store, which it does not
// know by name yet.
func ledgerMadeAnewLearnsItsStore(w *watched) {
	t := w.t
	st, err := store.NewDir(t.TempDir())
	if err != nil {
		t.Fatalf("open store: %v", err)
	}
	w.consumer.options.Store = func(string) (store.Store, error) { return st, nil }
	id, err := nameStore(t.Context(), st)
	if err != nil {
		t.Fatalf("name store: %v", err)
	}
	w.head.Stores = map[string]string{"local": id}
	w.cover()
	w.head.Stores = nil
	if got := w.observe(); got.Marker != w.head.CoveredMarker {
		t.Errorf("observe = changed (%s), want the covered marker", reason(got))
	}
	if err := st.Remove(t.Context(), storeKey); err != nil {
		t.Fatalf("remove: %v", err)
	}
	if got := w.observe(); got.Marker == w.head.CoveredMarker {
		t.Error("observe = unchanged with an empty store, want changed")
	}
}

// A session that alters a sequence holds a lock that the marker's reader waits for.
func lockedSequenceIsADoubtAndHoldsUpNoTick(w *watched) {
	t := w.t
	w.do("CREATE SEQUENCE s")
	w.cover()
	conn := pgtest.Connect(t, w.conninfo)
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatalf("begin: %v", err)
	}
	if _, err := tx.Exec(t.Context(), "ALTER SEQUENCE s INCREMENT 7"); err != nil {
		t.Fatalf("alter: %v", err)
	}
	if got := w.observe(); got.Marker != w.head.CoveredMarker || reason(got) != "sequences are locked" {
		t.Errorf("while locked = %s (%s), want the covered marker, unsure", got.Marker, reason(got))
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatalf("rollback: %v", err)
	}
}

func weakMarkersAreNoted(w *watched) {
	t := w.t
	w.do("CREATE SEQUENCE s", "CREATE ROLE blind LOGIN",
		`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET track_counts = off', current_database()); END $$`)
	w.consumer = consumer(service(t, strings.Replace(w.conninfo, "user=postgres", "user=blind", 1)))
	memo := string(w.observe().Memo)
	for _, want := range []string{"track_counts is off", "1 sequences are unreadable"} {
		if !strings.Contains(memo, want) {
			t.Errorf("memo = %s, want %q", memo, want)
		}
	}
}

func idleLookTakesOneTurn(w *watched) {
	t := w.t
	relay := newRelay(t, w.server, false)
	w.consumer = consumer(w.through(relay))
	w.cover()
	before := relay.turns.Load()
	w.observe()
	if got := relay.turns.Load() - before; got != 1 {
		t.Errorf("an idle look took %d turns, want 1", got)
	}
}

func poolerIsRefused(w *watched) {
	pooled := consumer(w.through(newRelay(w.t, w.server, true)))
	_, err := pooled.Observe(w.t.Context(), w.head)
	if lease.ClassOf(err) != lease.Blocked || !strings.Contains(fmt.Sprint(err), "pooler") || hintOf(err) == "" {
		w.t.Errorf("observe through a pooler = %v (%s), want blocked with a hint", err, lease.ClassOf(err))
	}
}

func TestLedgerIsNoProtectedDatabase(t *testing.T) {
	t.Parallel()
	own := consumer(service(t, pgtest.Ledger(t)))
	_, err := own.Observe(t.Context(), ledger.Head{Scope: "app"})
	if lease.ClassOf(err) != lease.Permanent || !strings.Contains(fmt.Sprint(err), "ledger") || hintOf(err) == "" {
		t.Errorf("observe of the ledger = %v (%s), want permanent with a hint", err, lease.ClassOf(err))
	}
}

func TestObserverSaysWhatIsWrongAndNoSecret(t *testing.T) {
	t.Parallel()
	const canary = "c4nary-password"
	socket, _, _ := strings.Cut(pgtest.Database(t), " ")
	up := func(settings string) string {
		return service(t, socket+" port=5432 "+settings, "password="+canary)
	}
	for name, c := range map[string]struct {
		service string
		class   lease.Class
		want    string
	}{
		"ErrServerDown": {service(t, "host=/nowhere port=5432 user=postgres dbname=app", "password="+canary), lease.Transient, "dial"},
		"ErrDatabase":   {up("user=postgres dbname=absent"), lease.Blocked, "does not exist"},
		"ErrRole":       {up("user=nobody dbname=postgres"), lease.Blocked, "does not exist"},
		"ErrService":    {"absent", lease.Blocked, "absent"},
		"ErrSetting":    {up("user=postgres dbname=postgres sslcrl=/x"), lease.Transient, "sslcrl"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := consumer(c.service).Observe(t.Context(), ledger.Head{Scope: "app"})
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.service) {
				t.Fatalf("observe = %v, want the service and %q", err, c.want)
			}
			if lease.ClassOf(err) != c.class {
				t.Errorf("class of %v = %s, want %s", err, lease.ClassOf(err), c.class)
			}
			if strings.Contains(err.Error()+hintOf(err), canary) || strings.Contains(err.Error(), "\n") {
				t.Errorf("the error holds a secret or a second line: %v", err)
			}
		})
	}
	if _, err := consumer("any").Observe(t.Context(), ledger.Head{Scope: "other"}); lease.ClassOf(err) != lease.Permanent {
		t.Errorf("observe of an unknown scope = %v, want permanent", err)
	}
}
