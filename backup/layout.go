package backup

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/heyaira/heyaira-loop/lease"
)

// Names in a store and in a backup's folder.
const (
	storeKey     = "store.json"
	ownersFolder = "owners"
	mainName     = "main.dump.zst.age"
	manifestName = "manifest.json"
	verifiedName = "verified.json"
	refutedName  = "refuted.json"
	pinName      = "pin.json"
)

// idTime is the time at the beginning of a backup's id, UTC to the second.
const idTime = "20060102T150405Z"

// ID is a backup's id, the name of its folder. It is new for each attempt, so a
// stale worker overwrites nothing; whose it is and which is newer can be read off it.
type ID struct {
	At         time.Time    // the ledger's clock
	Ledger     string       // the first 8 hexadecimal digits of the ledger's id
	Generation lease.Serial // orders the backups of a scope
	Fence      lease.Serial // orders the attempts at one generation
	Random     string       // 8 hexadecimal digits
}

// newID names a new attempt. The epoch in it is the generation's; the fence was
// drawn by the same ledger after it was adopted, so its epoch is no other.
func newID(at time.Time, ledger string, generation, fence lease.Serial) (ID, error) {
	random := make([]byte, 4)
	if _, err := rand.Read(random); err != nil {
		return ID{}, fmt.Errorf("name backup: %w", err)
	}
	if len(ledger) < 8 {
		return ID{}, fmt.Errorf("name backup: ledger id %q is no UUID", ledger)
	}
	return ID{
		At:         at.UTC().Truncate(time.Second),
		Ledger:     ledger[:8],
		Generation: generation,
		Fence:      lease.NewSerial(generation.Epoch(), fence.Number()),
		Random:     hex.EncodeToString(random),
	}, nil
}

// String is the id: time, ledger, epoch, generation, fence, random digits.
func (id ID) String() string {
	return fmt.Sprintf("%s-%s-%d-%d-%d-%s", id.At.UTC().Format(idTime), id.Ledger,
		id.Generation.Epoch(), id.Generation.Number(), id.Fence.Number(), id.Random)
}

// ParseID reads what String writes, and nothing else.
func ParseID(text string) (ID, error) {
	wrong := fmt.Errorf("parse backup id %q: want TIME-LEDGER-EPOCH-GENERATION-FENCE-RANDOM", text)
	parts := strings.Split(text, "-")
	if len(parts) != 6 {
		return ID{}, wrong
	}
	at, err := time.Parse(idTime, parts[0])
	if err != nil {
		return ID{}, wrong
	}
	var numbers [3]int64
	for i := range numbers {
		if numbers[i], err = strconv.ParseInt(parts[2+i], 10, 64); err != nil || numbers[i] < 0 {
			return ID{}, wrong
		}
	}
	id := ID{
		At:         at,
		Ledger:     parts[1],
		Generation: lease.NewSerial(numbers[0], numbers[1]),
		Fence:      lease.NewSerial(numbers[0], numbers[2]),
		Random:     parts[5],
	}
	if !hexEight(id.Ledger) || !hexEight(id.Random) || id.String() != text {
		return ID{}, wrong
	}
	return id, nil
}

// newer tells whether id stands before other: by generation, never by time; the
// attempts at one generation by fence.
func (id ID) newer(other ID) bool {
	if id.Generation != other.Generation {
		return id.Generation > other.Generation
	}
	return id.Fence > other.Fence
}

// folder is where the backup lies in its store.
func (id ID) folder(scope string) string {
	at := id.At.UTC()
	return path.Join(scope, at.Format("2006"), at.Format("01"), id.String())
}

// key is the key of one of the objects in the backup's folder.
func (id ID) key(scope, name string) string { return path.Join(id.folder(scope), name) }

// splitKey reads the key of an object in a backup's folder; false for any other key.
func splitKey(key string) (scope string, id ID, name string, ok bool) {
	parts := strings.Split(key, "/")
	if len(parts) != 5 {
		return "", ID{}, "", false
	}
	id, err := ParseID(parts[3])
	if err != nil || id.key(parts[0], parts[4]) != key {
		return "", ID{}, "", false
	}
	return parts[0], id, parts[4], true
}

// ownerKey is the key of a scope's n-th owner.
func ownerKey(scope string, n int) string {
	return path.Join(scope, ownersFolder, fmt.Sprintf("%04d.json", n))
}

// ownerNumber reads what ownerKey writes; false for any other key.
func ownerNumber(scope, key string) (int, bool) {
	digits := strings.TrimSuffix(path.Base(key), ".json")
	n, err := strconv.Atoi(digits)
	return n, err == nil && n > 0 && ownerKey(scope, n) == key
}

// checkScope refuses a name that could lead out of a scope's folder. The
// configuration allows the same names.
func checkScope(scope string) error {
	if !regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`).MatchString(scope) {
		return fmt.Errorf("read scope %q: want a name of a-z, 0-9, '.', '_' and '-'", scope)
	}
	return nil
}

// objectName tells whether name may stand for an object in a manifest: a plain name
// inside the folder, and none of the store's own records.
func objectName(name string) bool {
	if !regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{0,99}$`).MatchString(name) {
		return false
	}
	return !strings.HasSuffix(name, ".json")
}

func hexEight(text string) bool {
	if len(text) != 8 || text != strings.ToLower(text) {
		return false
	}
	_, err := hex.DecodeString(text)
	return err == nil
}
