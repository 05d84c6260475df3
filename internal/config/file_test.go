package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// write makes a file of exactly this mode, whatever the umask.
func write(t *testing.T, path, text string, mode fs.FileMode) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	chmod(t, path, mode)
	return path
}

func chmod(t *testing.T, path string, mode fs.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// folder is private, unlike t.TempDir under a wide umask.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	chmod(t, dir, 0o700)
	return dir
}

func refused(t *testing.T, err error, problem, hint string) {
	t.Helper()
	var refusal *Error
	if !errors.As(err, &refusal) {
		t.Fatalf("got %v, want a refusal", err)
	}
	if !strings.Contains(refusal.Problem, problem) || refusal.Hint() != hint {
		t.Errorf("got %v (hint %q), want %s (hint %q)", err, refusal.Hint(), problem, hint)
	}
}

func TestLoadReadsAFile(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	path := write(t, filepath.Join(dir, "config.yaml"), minimal, 0o644)
	got, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, got.Path, path)
	equal(t, got.Stores["local"].Path, filepath.Join(dir, "store"))
}

func TestFilesOthersCanChangeAreRefused(t *testing.T) {
	t.Parallel()
	t.Run("group", func(t *testing.T) {
		path := write(t, filepath.Join(folder(t), "a'b.yaml"), minimal, 0o664)
		_, err := Load(path)
		refused(t, err, "group or others can write it", "chmod go-w '"+strings.ReplaceAll(path, "'", `'\''`)+"'")
	})
	t.Run("others", func(t *testing.T) {
		path := write(t, filepath.Join(folder(t), "config.yaml"), minimal, 0o606)
		_, err := Load(path)
		refused(t, err, "group or others can write it", "chmod go-w "+path)
	})
	t.Run("folder", func(t *testing.T) {
		dir := folder(t)
		path := write(t, filepath.Join(dir, "config.yaml"), minimal, 0o600)
		chmod(t, dir, 0o770)
		_, err := Load(path)
		refused(t, err, "group or others can write it", "chmod go-w "+dir)
		chmod(t, dir, 0o777|fs.ModeSticky)
		if _, err := Load(path); err != nil {
			t.Errorf("a folder with the sticky bit: %v", err)
		}
	})
	t.Run("target of a link", func(t *testing.T) {
		dir, other := folder(t), folder(t)
		target := write(t, filepath.Join(other, "real.yaml"), minimal, 0o600)
		link := filepath.Join(dir, "config.yaml")
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(link); err != nil {
			t.Fatalf("a link to a private file: %v", err)
		}
		chmod(t, other, 0o777)
		_, err := Load(link)
		refused(t, err, "group or others can write it", "chmod go-w "+other)
		chmod(t, other, 0o700)
		chmod(t, target, 0o666)
		_, err = Load(link)
		refused(t, err, "group or others can write it", "chmod go-w "+link)
	})
}

// stranger is a file of another user's, which only root can make; without root the
// file's record says so.
type stranger struct{ fs.FileInfo }

func (s stranger) Sys() any { return &syscall.Stat_t{Uid: uint32(os.Geteuid() + 4242)} }

func TestFilesOfStrangersAreRefused(t *testing.T) {
	t.Parallel()
	info, err := os.Stat(write(t, filepath.Join(folder(t), "config.yaml"), minimal, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	var refusal *Error
	if err := judge("config.yaml", stranger{info}, 0); !errors.As(err, &refusal) || !strings.Contains(refusal.Problem, "neither to root nor to the caller") {
		t.Errorf("got %v", err)
	}
}

func TestWhatIsNoFileIsRefused(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	_, err := Load(filepath.Join(dir, "none.yaml"))
	refused(t, err, "no such file or directory", "")
	_, err = Load(dir)
	refused(t, err, "not a regular file", "")
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Load(pipe)
	refused(t, err, "not a regular file", "")
	_, err = Load(write(t, filepath.Join(dir, "big.yaml"), strings.Repeat("#", sizeLimit+1), 0o600))
	refused(t, err, "larger than 1 MiB", "")
}

func TestFindNeverLooksInTheWorkingDirectory(t *testing.T) {
	t.Parallel()
	home, xdg := folder(t), folder(t)
	own := func(base string) string { return filepath.Join(base, "heyaira-loop", "config.yaml") }
	for _, base := range []string{filepath.Join(home, ".config"), xdg} {
		if err := os.MkdirAll(filepath.Dir(own(base)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	inHome := write(t, own(filepath.Join(home, ".config")), minimal, 0o600)
	inXDG := write(t, own(xdg), minimal, 0o600)
	for _, test := range []struct {
		name string
		flag string
		env  map[string]string
		root bool
		want string
	}{
		{"flag first", "/a.yaml", map[string]string{"HEYAIRA_CONFIG": "/b.yaml", "HOME": home}, false, "/a.yaml"},
		{"then the variable", "", map[string]string{"HEYAIRA_CONFIG": "/b.yaml", "HOME": home}, false, "/b.yaml"},
		{"empty counts as unset", "", map[string]string{"HEYAIRA_CONFIG": "", "XDG_CONFIG_HOME": xdg}, false, inXDG},
		{"then the user's own", "", map[string]string{"HOME": home}, false, inHome},
		{"a relative folder is ignored", "", map[string]string{"HOME": home, "XDG_CONFIG_HOME": "."}, false, inHome},
		{"a folder without a file", "", map[string]string{"HOME": home, "XDG_CONFIG_HOME": home}, false, ""},
		{"not for root", "", map[string]string{"HOME": home, "XDG_CONFIG_HOME": xdg}, true, ""},
		{"nowhere", "", map[string]string{"HOME": "."}, false, ""},
	} {
		got, err := find(test.flag, func(name string) string { return test.env[name] }, test.root)
		if test.want == "" {
			// A machine may have a file in /etc; then that is the answer.
			if got != "/etc/heyaira-loop/config.yaml" {
				refused(t, err, "/etc/heyaira-loop/config.yaml", "give --config FILE, or set HEYAIRA_CONFIG")
			}
			continue
		}
		if err != nil || got != test.want {
			t.Errorf("%s: got %q, %v, want %q", test.name, got, err, test.want)
		}
	}
}

func TestConninfo(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	path := write(t, filepath.Join(dir, "config.yaml"), strings.Replace(minimal, "service: ledger", "url_file: ledger.url", 1), 0o600)
	read := func() (string, error) {
		got, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		return got.Ledger.Conninfo(func(string) string { return "" })
	}
	_, err := read()
	refused(t, err, "no such file or directory", "")
	secret := write(t, filepath.Join(dir, "ledger.url"), "\npostgres://u:p@h/db \n", 0o640)
	if got, err := read(); err != nil || got != "postgres://u:p@h/db" {
		t.Errorf("got %q, %v", got, err)
	}
	chmod(t, secret, 0o644)
	_, err = read()
	refused(t, err, "others can read it", "chmod o-rwx "+secret)
	write(t, secret, " \n", 0o600)
	_, err = read()
	refused(t, err, "the file it names is empty", "")
	if !strings.Contains(err.Error(), path+":3:13: ledger.url_file: ") {
		t.Errorf("no place in %v", err)
	}

	source := Source{URLEnv: "LEDGER_URL"}
	if got, err := source.Conninfo(func(name string) string { return "value of " + name }); err != nil || got != "value of LEDGER_URL" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := source.Conninfo(func(string) string { return "" }); err == nil {
		t.Error("an unset variable was accepted")
	}
	if got, err := (Source{Service: "ledger"}).Conninfo(nil); err != nil || got != "service=ledger" {
		t.Errorf("got %q, %v", got, err)
	}
}
