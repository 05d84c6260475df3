package commands

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// transcriptVariable names the file with what scripts/quickstart said on a terminal.
const transcriptVariable = "HEYAIRA_TEST_TRANSCRIPT"

// TestReadmeShowsTheQuickstart holds the README's transcript against the script, and
// against its output where scripts/test has recorded one.
func TestReadmeShowsTheQuickstart(t *testing.T) {
	t.Parallel()
	var shown string
	for _, b := range readmeBlocks(t) {
		if b.language == "console" {
			shown = constant(b.text)
		}
	}
	script := constant(readText(t, "scripts/quickstart"))
	typed := regexp.MustCompile(`(?m)^\$ (.+)$`).FindAllStringSubmatch(shown, -1)
	if len(typed) == 0 {
		t.Error("README.md: the transcript has no commands")
	}
	for _, command := range typed {
		if !strings.Contains(script, command[1]) {
			t.Errorf("README.md: scripts/quickstart does not run %s", command[1])
		}
	}
	if call := transcriptVariable + `="$folder/transcript" go test -count=1 -run '^` + t.Name() + `$' ./commands`; !strings.Contains(readText(t, "scripts/test"), "\n"+call+"\n") {
		t.Errorf("scripts/test does not compare the transcript: %s", call)
	}

	path := os.Getenv(transcriptVariable)
	if path == "" {
		return // the ordinary run: the rest is for scripts/test
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	said := constant(string(text))
	for part := range strings.SplitSeq(shown, "\n…\n") {
		_, rest, found := strings.Cut("\n"+said, "\n"+part+"\n")
		if !found {
			t.Fatalf("README.md shows\n%s\nscripts/quickstart said from there on\n%s", part, said)
		}
		said = rest
	}
}

// constant is what a transcript shows in every run: no times, names, sizes and hashes
// of that one, no widths of columns, and of a line that was drawn over only the last.
func constant(text string) string {
	for _, rule := range [][2]string{
		{`\r+\n`, "\n"},
		{`(?m)^.*\r`, ""},
		{`\d{8}T\d{6}Z-[0-9a-f]{8}(-\d+){3}-[0-9a-f]{8}`, "BACKUP"},
		{`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`, "TIME"},
		{`\b[0-9a-f]{32}\b`, "HASH"},
		{`(/\S+|\$folder)/(store|key\.txt)`, "FOLDER/$2"},
		{`\b[\d.]+ [kMG]?B\b`, "SIZE"},
		{`\b(\d+[smh] ?)+( ago)?\b`, "SPAN"},
		{` +`, " "},
		{`(?m) $`, ""},
	} {
		text = regexp.MustCompile(rule[0]).ReplaceAllString(text, rule[1])
	}
	return text
}
