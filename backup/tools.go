package backup

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/heyaira/heyaira-loop/internal/proc"
	"github.com/heyaira/heyaira-loop/lease"
)

// clientFolders is where Debian and its kin put one client a major version.
const clientFolders = "/usr/lib/postgresql/*/bin"

// tools are the programs of one PostgreSQL client.
type tools struct {
	dump    string // path of pg_dump
	restore string // path of pg_restore
	version int    // of pg_dump, as a server_version_num has it
}

// findTools looks for a client that can dump a server of that major version: the
// same major if there is one, else the nearest newer, never an older one, which
// would leave out what it does not know. With pgBin only that folder is looked at.
// None found is blocked.
func findTools(ctx context.Context, pgBin string, serverMajor int) (tools, error) {
	hint := fmt.Sprintf("apt-get install postgresql-client-%d, or name the folder of a client as pg_bin", serverMajor)
	if pgBin != "" {
		found, err := toolsIn(ctx, pgBin)
		if err == nil && found.major() < serverMajor {
			err = fmt.Errorf("find pg_dump: %s holds PostgreSQL %d, the server is %d", pgBin, found.major(), serverMajor)
		}
		return found, lease.WithClass(lease.Blocked, advise(err, hint))
	}
	found := bestTools(ctx, toolFolders(), serverMajor)
	if found.dump == "" {
		err := fmt.Errorf("find pg_dump: none of PostgreSQL %d or newer", serverMajor)
		return tools{}, lease.WithClass(lease.Blocked, advise(err, hint))
	}
	return found, nil
}

// bestTools chooses among folders, those without a usable client left aside; zero
// where none will do.
func bestTools(ctx context.Context, folders []string, serverMajor int) tools {
	var best tools
	for _, dir := range folders {
		found, err := toolsIn(ctx, dir)
		switch {
		case err != nil, found.major() < serverMajor:
		case best.dump == "", found.major() < best.major(), found.major() == best.major() && found.version > best.version:
			best = found
		}
	}
	return best
}

func (t tools) major() int { return t.version / 10000 }

// toolFolders are the folders to look at, in order.
func toolFolders() []string {
	folders, _ := filepath.Glob(clientFolders) // it fails for a bad pattern only
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if filepath.IsAbs(dir) {
			folders = append(folders, dir)
		}
	}
	return folders
}

// toolsIn asks the client in a folder for its version.
func toolsIn(ctx context.Context, dir string) (tools, error) {
	t := tools{dump: filepath.Join(dir, "pg_dump"), restore: filepath.Join(dir, "pg_restore")}
	for _, path := range []string{t.dump, t.restore} {
		if _, err := exec.LookPath(path); err != nil {
			return tools{}, fmt.Errorf("find %s: %w", filepath.Base(path), err)
		}
	}
	var out bytes.Buffer
	if err := proc.Run(ctx, proc.Command{Name: "pg_dump", Path: t.dump, Args: []string{"--version"}, Stdout: &out}); err != nil {
		return tools{}, fmt.Errorf("ask pg_dump for its version: %w", err)
	}
	version, err := parseVersion(out.String())
	if err != nil {
		return tools{}, fmt.Errorf("ask %s for its version: %w", t.dump, err)
	}
	t.version = version
	return t, nil
}

// parseVersion reads "pg_dump (PostgreSQL) 15.18 (Debian …)" as 150018; a version
// before its release ("18beta1") has no minor number.
func parseVersion(text string) (int, error) {
	parts := regexp.MustCompile(`\(PostgreSQL\) (\d+)(?:\.(\d+))?`).FindStringSubmatch(text)
	if parts == nil {
		return 0, fmt.Errorf("%.80q names none", text)
	}
	major, err := strconv.Atoi(parts[1])
	if err != nil {
		return 0, fmt.Errorf("read version: %w", err)
	}
	minor, _ := strconv.Atoi(parts[2]) // "" counts as 0
	return major*10000 + minor, nil
}
