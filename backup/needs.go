package backup

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/heyaira/heyaira-loop/internal/proc"
)

// needs are the roles that an archive names.
type needs struct {
	owners   []string
	grantees []string
}

// readNeeds asks pg_restore for the definitions in an archive. Its list of contents
// stands at the beginning, so only that is read of it. A role that is missing would
// be found out late otherwise: privileges are restored last.
func readNeeds(ctx context.Context, pgRestore string, source io.Reader) (needs, error) {
	input := &valve{source: source}
	defer input.shut()
	out, err := proc.Stream(ctx, proc.Command{
		Name:  "pg_restore",
		Path:  pgRestore,
		Args:  []string{"--schema-only", "--file=-"},
		Env:   libpqEnvironment(),
		Stdin: input,
	})
	if err != nil {
		return needs{}, err
	}
	defer out.Close()
	found, err := parseNeeds(out)
	if err != nil {
		return needs{}, fmt.Errorf("read contents of archive: %w", err)
	}
	return found, nil
}

// The two lines that name roles: the comment that pg_restore writes above each
// definition, and the end of a statement of privileges, where PUBLIC is no role.
const (
	entryHead = `^-- Name: .*; Type: (.*); Schema: .*; Owner: (.*?)(?:; Tablespace: .*)?$`
	grantRole = `(?:TO|FROM|AUTHORIZATION) (?:"((?:[^"]|"")+)"|([a-z_][a-z0-9_]*))(?: WITH GRANT OPTION)?;$`
)

func parseNeeds(source io.Reader) (needs, error) {
	heads, grants := regexp.MustCompile(entryHead), regexp.MustCompile(grantRole)
	var found needs
	privileges := false
	lines := bufio.NewReader(source)
	for {
		line, err := shortLine(lines)
		if err != nil && err != io.EOF {
			return needs{}, err
		}
		if head := heads.FindStringSubmatch(line); head != nil {
			privileges = strings.HasSuffix(head[1], "ACL")
			if head[2] != "-" && head[2] != "" {
				found.owners = append(found.owners, head[2])
			}
		} else if role := grants.FindStringSubmatch(line); privileges && role != nil {
			found.grantees = append(found.grantees, strings.ReplaceAll(role[1], `""`, `"`)+role[2])
		}
		if err == io.EOF {
			slices.Sort(found.owners)
			slices.Sort(found.grantees)
			found.owners, found.grantees = slices.Compact(found.owners), slices.Compact(found.grantees)
			return found, nil
		}
	}
}

// shortLine reads a line without its end, and of one that is longer than the buffer
// only the beginning: neither of the two patterns is that long.
func shortLine(lines *bufio.Reader) (string, error) {
	part, more, err := lines.ReadLine()
	line := string(part)
	for more && err == nil {
		_, more, err = lines.ReadLine()
	}
	return line, err
}

// valve is a child's input that can be shut: after that nothing is read from the
// source any more, also by a copy that is still under way.
type valve struct {
	mu     sync.Mutex
	source io.Reader
	closed bool
}

func (v *valve) Read(p []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return 0, io.EOF
	}
	return v.source.Read(p)
}

func (v *valve) shut() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.closed = true
}
