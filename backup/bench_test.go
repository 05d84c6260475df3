package backup

import (
	"context"
	_ "embed"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"

	"github.com/heyaira/heyaira-loop/internal/config"
	"github.com/heyaira/heyaira-loop/internal/pgtest"
	"github.com/heyaira/heyaira-loop/internal/store"
	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/ledger"
)

var (
	//go:embed testdata/expire.sql
	expireSQL string
	//go:embed testdata/due.sql
	dueSQL string
	//go:embed testdata/intent.sql
	intentSQL string
)

// bench is a protected database, a ledger and a store in a folder, with a backup
// configured between them.
type bench struct {
	database string // conninfo of the protected database
	ledger   *ledger.DB
	levers   *pgx.Conn // of the ledger
	who      ledger.Identity
	folder   string
	store    store.Store
	config   config.Backup
	key      *age.X25519Identity
	consumer *Consumer
	markers  int
}

const benchScope = "app"

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{folder: t.TempDir()}
	b.database = pgtest.Database(t)
	b.openLedger(t, pgtest.Ledger(t))
	var err error
	if b.key, err = age.GenerateX25519Identity(); err != nil {
		t.Fatal(err)
	}
	if b.store, err = store.NewDir(b.folder); err != nil {
		t.Fatal(err)
	}
	b.config = config.Backup{
		Name: benchScope, Service: service(t, b.database), Store: "local",
		Recipients: []string{b.key.Recipient().String()}, Compression: 3, Verify: levelHash,
		Lease: time.Minute, Attempts: 50, PgBin: clientBin(),
	}
	b.consumer = New(Options{
		Environment: "test", Host: "h1", Program: "test",
		Backups: map[string]config.Backup{benchScope: b.config},
		Types:   config.Type{MaxRunning: 4},
		Store:   func(string) (store.Store, error) { return b.store, nil },
	})
	b.register(t)
	return b
}

// clientBin is the newest of Debian's clients. To ask everything in PATH for its
// version takes longer than a small backup; "" does that where there is none.
func clientBin() string {
	folders, _ := filepath.Glob(clientFolders)
	if len(folders) == 0 {
		return ""
	}
	return folders[len(folders)-1]
}

// openLedger makes another ledger the bench's.
func (b *bench) openLedger(t *testing.T, conninfo string) {
	t.Helper()
	b.ledger = ledger.Open(ledger.Options{Conninfo: conninfo, Environment: "test", Command: "test", Host: "h1", Log: zerolog.Nop()})
	t.Cleanup(func() { _ = b.ledger.Close(context.Background()) })
	b.levers = pgtest.Connect(t, conninfo)
	var err error
	if b.who, err = b.ledger.Identity(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) register(t *testing.T) {
	t.Helper()
	policy := b.consumer.Policy().Policy
	policy.MaxRunningPerHost = 0
	if err := b.ledger.Register(t.Context(), "h1", []ledger.Policy{policy}, b.consumer.Scopes(), "digest"); err != nil {
		t.Fatal(err)
	}
}

// observe makes work of a change.
func (b *bench) observe(t *testing.T) {
	t.Helper()
	ticket, _, err := b.ledger.Ticket(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.markers++
	marker := strings.Repeat("m", b.markers)
	answers, err := b.ledger.Ensure(t.Context(), ticket, []ledger.Observation{{WorkType: WorkType, Scope: benchScope, Marker: marker}})
	if err != nil || answers[0].Err != nil || answers[0].Item == 0 {
		t.Fatalf("ensure: %+v, %v", answers, err)
	}
}

// hold claims the scope's item and starts a step of it.
func (b *bench) hold(t *testing.T, step lease.Step) *held {
	t.Helper()
	b.lever(t, dueSQL)
	items, err := b.ledger.Claim(t.Context(), lease.Request{
		Scopes: map[string][]string{WorkType: {benchScope}}, Limit: 1, Owner: lease.NewOwner("h1"),
	})
	if err != nil || len(items) != 1 {
		t.Fatalf("claim: %d items, %v", len(items), err)
	}
	return b.start(t, items[0].Holder, step)
}

func (b *bench) start(t *testing.T, holder lease.Holder, step lease.Step) *held {
	t.Helper()
	items, err := b.ledger.Start(t.Context(), lease.NewOwner("h1"), step, []lease.Holder{holder})
	if err != nil || len(items) != 1 {
		t.Fatalf("start %s: %d items, %v", step, len(items), err)
	}
	return &held{DB: b.ledger, item: items[0]}
}

// lapse lets every lease end and takes it back.
func (b *bench) lapse(t *testing.T) {
	t.Helper()
	b.lever(t, expireSQL)
	if _, err := b.ledger.Reclaim(t.Context(), 10); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) lever(t *testing.T, sql string) {
	t.Helper()
	if _, err := b.levers.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

// intent is how the ledger's only intent stands.
func (b *bench) intent(t *testing.T) (state string) {
	t.Helper()
	if err := b.levers.QueryRow(t.Context(), intentSQL).Scan(&state); err != nil {
		t.Fatal(err)
	}
	return state
}

// held is an item in the hands of a test.
type held struct {
	*ledger.DB
	item   lease.Item
	reply  func(stage string) // told of each report, where it is set
	lapsed bool               // the fence is lost, as far as Check goes
}

func (h *held) Check(ctx context.Context) error {
	kept, err := h.Renew(ctx, []lease.Progress{{Holder: h.item.Holder}})
	if err == nil && (len(kept) == 0 || h.lapsed) {
		err = lease.ErrLost
	}
	return err
}

func (h *held) Report(stage string, _ int64) {
	if h.reply != nil {
		h.reply(stage)
	}
}

// attempt is one run of a held item over st.
func (b *bench) attempt(h *held, st store.Store) *attempt {
	return &attempt{
		item: h.item, who: b.who, guard: lease.NewGuard(b.ledger, h.item.Holder), hand: h,
		config: b.config, program: "test", open: func(string) (store.Store, error) { return st, nil },
	}
}

// run runs an attempt and gives up what it did not fire, as the loop does.
func (b *bench) run(ctx context.Context, t *testing.T, a *attempt) (publication, error) {
	t.Helper()
	published, err := a.run(ctx)
	if err != nil && !lost(ctx, err) {
		if err := a.guard.Abandon(ctx); err != nil {
			t.Error(err)
		}
	}
	return published, err
}

// publish makes a change and backs it up.
func (b *bench) publish(t *testing.T) (publication, *held) {
	t.Helper()
	b.observe(t)
	h := b.hold(t, lease.Run)
	published, err := b.attempt(h, b.store).run(t.Context())
	if err != nil {
		t.Fatalf("run: %v", err)
	}
	return published, h
}

// verify ends run and starts verify, and answers what verify says.
func (b *bench) verify(t *testing.T, published publication, h *held) (*held, error) {
	t.Helper()
	result, err := published.result()
	if err != nil {
		t.Fatal(err)
	}
	if kept, err := b.ledger.Finish(t.Context(), []lease.Finished{{Holder: h.item.Holder, Result: result}}); err != nil || len(kept) != 1 {
		t.Fatalf("finish: %d kept, %v", len(kept), err)
	}
	v := b.start(t, h.item.Holder, lease.Verify)
	evidence, err := b.trial(v).run(t.Context(), func(string) (store.Store, error) { return b.store, nil }, v.item.Result)
	if err != nil {
		return v, err
	}
	ended, err := b.ledger.Complete(t.Context(), []lease.Proof{{Holder: v.item.Holder, Evidence: []byte(evidence)}})
	if err != nil || len(ended) != 1 || ended[0].Outcome != lease.Covered {
		t.Fatalf("complete: %+v, %v", ended, err)
	}
	return v, nil
}

func (b *bench) trial(h *held) *trial {
	return &trial{hand: h, scope: benchScope, level: b.config.Verify, now: func() time.Time { return h.item.Now }}
}

// backup makes a change, backs it up and verifies it.
func (b *bench) backup(t *testing.T) publication {
	t.Helper()
	published, h := b.publish(t)
	if _, err := b.verify(t, published, h); err != nil {
		t.Fatalf("verify: %v", err)
	}
	return published
}

// path is where an object of a backup lies in the folder.
func (b *bench) path(t *testing.T, backup, name string) string {
	t.Helper()
	id, err := ParseID(backup)
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(b.folder, filepath.FromSlash(id.key(benchScope, name)))
}

// files are the objects of the store, relative to its folder.
func (b *bench) files(t *testing.T) []string {
	t.Helper()
	var keys []string
	for info, err := range b.store.List(t.Context(), "", "") {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, info.Key)
	}
	return keys
}

func (b *bench) restore(t *testing.T, o RestoreOptions) (RestoreReport, error) {
	t.Helper()
	o.Store, o.PgBin = b.store, clientBin()
	if o.Identities == nil {
		o.Identities = []age.Identity{b.key}
	}
	return Restore(t.Context(), o)
}

// flipByte changes one byte of a file, counted from its end where at is negative.
func flipByte(t *testing.T, path string, at int64) {
	t.Helper()
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if at < 0 {
		at += int64(len(text))
	}
	text[at] ^= 1
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// trap is a store that does something else at some keys.
type trap struct {
	store.Store
	putOnce func(ctx context.Context, key string, body []byte) (handled bool, err error)
}

func (f *trap) PutOnce(ctx context.Context, key string, body []byte) error {
	if handled, err := f.putOnce(ctx, key, body); handled {
		return err
	}
	return f.Store.PutOnce(ctx, key, body)
}

var errTrap = errors.New("the reply was lost")
