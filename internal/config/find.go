package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Find names the configuration file: the flag's, HEYAIRA_CONFIG's, the user's own
// under $XDG_CONFIG_HOME (else ~/.config) unless root asks, /etc's. A place that is
// named by hand is taken whether or not a file stands there; an empty flag or
// variable counts as unset. The working directory is never looked at.
func Find(flag string, env func(string) string) (path string, err error) {
	return find(flag, env, os.Geteuid() == 0)
}

func find(flag string, env func(string) string, root bool) (string, error) {
	for _, given := range []string{flag, env("HEYAIRA_CONFIG")} {
		if given != "" {
			path, err := filepath.Abs(given)
			if err != nil {
				return "", &Error{Path: given, Problem: "the working directory is unknown", Advice: "give an absolute path"}
			}
			return path, nil
		}
	}
	places := searched(env, root)
	for _, place := range places {
		// Any other failure is Load's to report: a file that cannot be looked at must
		// not give way to another.
		if _, err := os.Stat(place); !errors.Is(err, fs.ErrNotExist) {
			return place, nil
		}
	}
	return "", &Error{
		Problem: "no file at " + strings.Join(places, " or "),
		Advice:  "give --config FILE, or set HEYAIRA_CONFIG",
	}
}

// searched are the places without a name given. A relative folder in the environment
// would lead into the working directory and is ignored.
func searched(env func(string) string, root bool) []string {
	var places []string
	if !root {
		base := env("XDG_CONFIG_HOME")
		if !filepath.IsAbs(base) {
			base = filepath.Join(env("HOME"), ".config")
		}
		if filepath.IsAbs(base) {
			places = append(places, filepath.Join(base, "heyaira-loop", "config.yaml"))
		}
	}
	return append(places, "/etc/heyaira-loop/config.yaml")
}
