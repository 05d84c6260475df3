package lease

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
)

// NewOwner is a name for one invocation on a host: host:pid:16 hex digits. The 64
// random bits make it fit nobody else, also where a fence is handed out twice. The
// host is what caps for each host are counted by; a ':' in it is replaced.
func NewOwner(host string) string {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails: without randomness the program ends
	return fmt.Sprintf("%s:%d:%s", strings.ReplaceAll(host, ":", "-"), os.Getpid(), hex.EncodeToString(random[:]))
}
