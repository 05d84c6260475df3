package backup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
	"testing/iotest"

	"filippo.io/age"

	"github.com/heyaira/heyaira-loop/lease"
)

func newIdentity(t testing.TB) *age.X25519Identity {
	t.Helper()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatalf("make identity: %v", err)
	}
	return identity
}

// rows is compressible text with some noise, like a table's.
func rows(size int) []byte {
	random := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	for b.Len() < size {
		b.WriteString("order\tpaid\t2026-11-30\t")
		for range 4 {
			b.WriteByte(byte(random.IntN(256)))
		}
		b.WriteByte('\n')
	}
	return b.Bytes()[:size]
}

func sealed(t testing.TB, plain []byte, recipients ...age.Recipient) ([]byte, *sealer) {
	t.Helper()
	var out bytes.Buffer
	s, err := newSealer(&out, recipients, 3)
	if err != nil {
		t.Fatalf("new sealer: %v", err)
	}
	if _, err := s.Write(plain); err != nil {
		t.Fatalf("write: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	return out.Bytes(), s
}

func TestSealedOpensWithEachRecipientsKeyAndNoOther(t *testing.T) {
	t.Parallel()
	one, two, other := newIdentity(t), newIdentity(t), newIdentity(t)
	plain := rows(3<<20 + 17)
	ciphertext, _ := sealed(t, plain, one.Recipient(), two.Recipient())
	for _, identity := range []age.Identity{one, two} {
		body, err := unseal(bytes.NewReader(ciphertext), []age.Identity{other, identity})
		if err != nil {
			t.Fatalf("unseal: %v", err)
		}
		got, err := io.ReadAll(body)
		if err != nil {
			t.Fatalf("read: %v", err)
		}
		if !bytes.Equal(got, plain) {
			t.Errorf("got %d other bytes, want the %d that were sealed", len(got), len(plain))
		}
		if err := body.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	_, err := unseal(bytes.NewReader(ciphertext), []age.Identity{other})
	if !errors.Is(err, errNoKey) || lease.ClassOf(err) != lease.Blocked {
		t.Errorf("unseal with a stranger's key = %v (%s), want errNoKey (blocked)", err, lease.ClassOf(err))
	}
}

func TestSealedIsWhatOrdinaryToolsRead(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"age", "zstd"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	identity := newIdentity(t)
	plain := rows(1 << 20)
	ciphertext, _ := sealed(t, plain, identity.Recipient())
	key := write(t, "key", identity.String()+"\n")
	cmd := exec.Command("sh", "-c", `age -d -i "$1" | zstd -d`, "sh", key)
	cmd.Stdin = bytes.NewReader(ciphertext)
	got, err := cmd.Output()
	if err != nil {
		t.Fatalf("age -d | zstd -d: %v", err)
	}
	if !bytes.Equal(got, plain) {
		t.Errorf("age -d | zstd -d gave %d other bytes, want %d", len(got), len(plain))
	}
}

func TestEveryLevelIsReadBack(t *testing.T) {
	t.Parallel()
	identity := newIdentity(t)
	plain := rows(2 << 20)
	for level := 1; level <= 19; level += 3 {
		var out bytes.Buffer
		s, err := newSealer(&out, []age.Recipient{identity.Recipient()}, level)
		if err != nil {
			t.Fatalf("new sealer at level %d: %v", level, err)
		}
		if _, err := io.Copy(s, bytes.NewReader(plain)); err != nil {
			t.Fatalf("level %d: seal: %v", level, err)
		}
		if err := s.Close(); err != nil {
			t.Fatalf("level %d: close: %v", level, err)
		}
		if s.Plain() != int64(len(plain)) || out.Len() >= len(plain) {
			t.Errorf("level %d: %d of %d bytes sealed into %d", level, s.Plain(), len(plain), out.Len())
		}
		if err := readUnsealed(&out, identity); err != nil {
			t.Errorf("level %d: read: %v", level, err)
		}
	}
}

func TestSumIsThatOfTheCiphertext(t *testing.T) {
	t.Parallel()
	ciphertext, s := sealed(t, rows(300_000), newIdentity(t).Recipient())
	want := sha256.Sum256(ciphertext)
	if sum, size := s.Sum(); sum != hex.EncodeToString(want[:]) || size != int64(len(ciphertext)) {
		t.Errorf("Sum() = %s, %d, want %x, %d", sum, size, want, len(ciphertext))
	}
}

func TestCutCiphertextIsDamagedAndNeverAnEnd(t *testing.T) {
	t.Parallel()
	identity := newIdentity(t)
	plain := rows(2 << 20)
	ciphertext, _ := sealed(t, plain, identity.Recipient())
	const chunk = 64<<10 + 16
	body := bytes.Index(ciphertext, []byte("\n---")) // the last line of the header
	body += bytes.IndexByte(ciphertext[body+1:], '\n') + 2 + 16
	lengths := []int{0, 1, 30, body - 3, body, body + 1, body + chunk - 1, body + chunk, body + chunk + 1, body + 2*chunk, len(ciphertext) - 1}
	for range 20 {
		lengths = append(lengths, rand.IntN(len(ciphertext)))
	}
	for _, length := range lengths {
		err := readUnsealed(bytes.NewReader(ciphertext[:length]), identity)
		if !errors.Is(err, errDamaged) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut to %d of %d bytes: %v, want errDamaged and no end", length, len(ciphertext), err)
		}
	}
}

func TestChangedByteIsDamaged(t *testing.T) {
	t.Parallel()
	identity := newIdentity(t)
	ciphertext, _ := sealed(t, rows(500_000), identity.Recipient())
	for range 40 {
		at := rand.IntN(len(ciphertext))
		damaged := bytes.Clone(ciphertext)
		damaged[at] ^= 1 << rand.IntN(8)
		err := readUnsealed(bytes.NewReader(damaged), identity)
		// In the header's stanza a change cannot be told from another key's.
		if !errors.Is(err, errDamaged) && !errors.Is(err, errNoKey) {
			t.Errorf("byte %d of %d changed: %v, want an error", at, len(ciphertext), err)
		}
	}
	if err := readUnsealed(bytes.NewReader(append(bytes.Clone(ciphertext), 'x')), identity); !errors.Is(err, errDamaged) {
		t.Errorf("a byte too many: %v, want errDamaged", err)
	}
}

func TestFailedSourceIsNotTakenForDamage(t *testing.T) {
	t.Parallel()
	identity := newIdentity(t)
	ciphertext, _ := sealed(t, rows(1<<20), identity.Recipient())
	away := errors.New("store went away")
	err := readUnsealed(io.MultiReader(bytes.NewReader(ciphertext[:len(ciphertext)/2]), iotest.ErrReader(away)), identity)
	if !errors.Is(err, away) || errors.Is(err, errDamaged) {
		t.Errorf("read = %v, want the store's error and not errDamaged", err)
	}
	err = readUnsealed(io.MultiReader(bytes.NewReader(ciphertext[:len(ciphertext)/2]), iotest.ErrReader(io.ErrUnexpectedEOF)), identity)
	if err == nil || errors.Is(err, errDamaged) || errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("read = %v, want an error that is no end and no damage", err)
	}
}

func readUnsealed(src io.Reader, identity age.Identity) error {
	body, err := unseal(src, []age.Identity{identity})
	if err != nil {
		return err
	}
	defer body.Close()
	_, err = io.Copy(io.Discard, body)
	return err
}

func TestSealerFinishesNothingAfterAFailure(t *testing.T) {
	t.Parallel()
	identity := newIdentity(t)
	full := errors.New("disk full")
	dst := &limited{room: 300_000, err: full}
	s, err := newSealer(dst, []age.Recipient{identity.Recipient()}, 3)
	if err != nil {
		t.Fatalf("new sealer: %v", err)
	}
	noise := make([]byte, 1<<20)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	for range 4 {
		_, err = s.Write(noise)
	}
	if closed := s.Close(); !errors.Is(closed, full) {
		t.Errorf("Close() = %v after Write() = %v, want %v", closed, err, full)
	}
	if err := readUnsealed(bytes.NewReader(dst.Bytes()), identity); !errors.Is(err, errDamaged) {
		t.Errorf("what it left reads as %v, want errDamaged", err)
	}
}

func TestFailedReadLeavesNothingToClose(t *testing.T) {
	t.Parallel()
	identity := newIdentity(t)
	var out bytes.Buffer
	s, err := newSealer(&out, []age.Recipient{identity.Recipient()}, 3)
	if err != nil {
		t.Fatalf("new sealer: %v", err)
	}
	killed := errors.New("pg_dump was killed")
	if _, err := io.Copy(s, io.MultiReader(bytes.NewReader(rows(1<<20)), iotest.ErrReader(killed))); !errors.Is(err, killed) {
		t.Errorf("copy = %v, want %v", err, killed)
	}
	if err := s.Close(); !errors.Is(err, killed) {
		t.Errorf("Close() = %v, want %v", err, killed)
	}
	if err := readUnsealed(&out, identity); !errors.Is(err, errDamaged) {
		t.Errorf("what it left reads as %v, want errDamaged", err)
	}
}

func TestAbortLeavesACutCiphertext(t *testing.T) {
	t.Parallel()
	identity := newIdentity(t)
	var out bytes.Buffer
	s, err := newSealer(&out, []age.Recipient{identity.Recipient()}, 3)
	if err != nil {
		t.Fatalf("new sealer: %v", err)
	}
	if _, err := s.Write(rows(2 << 20)); err != nil {
		t.Fatalf("write: %v", err)
	}
	s.Abort()
	if err := s.Close(); err == nil {
		t.Error("Close() after Abort() = nil, want an error")
	}
	if err := readUnsealed(&out, identity); !errors.Is(err, errDamaged) {
		t.Errorf("what it left reads as %v, want errDamaged", err)
	}
}

func TestEmptyDumpIsNotSealed(t *testing.T) {
	t.Parallel()
	s, err := newSealer(io.Discard, []age.Recipient{newIdentity(t).Recipient()}, 3)
	if err != nil {
		t.Fatalf("new sealer: %v", err)
	}
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), "nothing was written") {
		t.Errorf("Close() = %v, want that nothing was written", err)
	}
}

// limited is a disk with little room.
type limited struct {
	bytes.Buffer
	room int
	err  error
}

func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > l.room {
		return 0, l.err
	}
	return l.Buffer.Write(p)
}
