package config

import "testing"

func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"tick", "claim", "run", "verify", "max_running"}
	for word, want := range map[string]string{
		"tikc": "tick", "tik": "tick", "ticks": "tick", "clam": "claim", "max_runing": "max_running",
		"ru": "run", "frobnicate": "", "": "", "rx": "", "verifying": "",
	} {
		if got := Nearest(word, names); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}
