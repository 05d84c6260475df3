package commands

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/heyaira/heyaira-loop/internal/loop"
)

// readmeRows are the rows under a header of the README that begins with these cells.
func readmeRows(t *testing.T, header string) [][]string {
	t.Helper()
	_, below, found := strings.Cut(readText(t, "README.md"), "\n| "+header+" |")
	if !found {
		t.Fatalf("README.md has no table | %s |", header)
	}
	var rows [][]string
	for _, line := range strings.Split(below, "\n")[2:] {
		if !strings.HasPrefix(line, "| ") {
			break
		}
		// A \| is a character of its cell.
		cells := strings.Split(strings.Trim(strings.ReplaceAll(line, `\|`, "\x00"), "|"), "|")
		for i := range cells {
			cells[i] = strings.ReplaceAll(strings.TrimSpace(cells[i]), "\x00", "|")
		}
		rows = append(rows, cells)
	}
	return rows
}

func TestReadmeTellsTheExitStatuses(t *testing.T) {
	t.Parallel()
	plain := strings.NewReplacer(",", "", "`", "", "\n", " ")
	var rows []string
	for _, cells := range readmeRows(t, "status | meaning") {
		// What follows a colon or a semicolon explains.
		meaning := strings.FieldsFunc(cells[1], func(r rune) bool { return r == ':' || r == ';' })[0]
		rows = append(rows, strings.ReplaceAll(cells[0], ", ", " and ")+" "+meaning)
	}
	want := plain.Replace(statusHelp)
	if got := plain.Replace("Exit statuses: " + strings.Join(rows, ", ") + "."); got != want {
		t.Errorf("README.md says\n%s, the program\n%s", got, want)
	}

	var order []int
	for _, word := range strings.Split(readmeMatch(t, `the first of ([\d, ]+) counts`), ", ") {
		status, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		order = append(order, status)
	}
	for i := range order {
		rest := slices.Clone(order[i:])
		slices.Reverse(rest)
		if got := loop.Worst(rest...); got != order[i] {
			t.Errorf("the worst of %v is %d, README.md says %d", rest, got, order[i])
		}
	}
}

// shownFlag is how the README has to show a flag: with a value where it takes one, and
// with the words that its help lists where it takes one of several.
func checkShownFlag(t *testing.T, where, shown string, flags []cli.Flag) (name string) {
	t.Helper()
	name, value, valued := strings.Cut(strings.TrimPrefix(shown, "--"), " ")
	at := slices.IndexFunc(flags, func(f cli.Flag) bool { return f.Names()[0] == name })
	if at < 0 {
		t.Errorf("README.md: %s has no flag %s", where, shown)
		return name
	}
	flag := flags[at].(cli.DocGenerationFlag)
	if flag.TakesValue() != valued {
		t.Errorf("README.md: %s: %s: that the flag takes a value is %v", where, shown, flag.TakesValue())
	}
	if words := strings.ReplaceAll(value, "|", ", "); words != value && !strings.Contains(flag.GetUsage(), ": "+words) {
		t.Errorf("README.md: %s: %s: its help says %q", where, shown, flag.GetUsage())
	}
	return name
}

func flagNamesOf(flags []cli.Flag) []string {
	var names []string
	for _, flag := range flags {
		names = append(names, flag.Names()[0])
	}
	return names
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("README.md: %s: %v, the program has %v", what, got, want)
	}
}

func TestReadmeTellsEveryCommandAndFlag(t *testing.T) {
	t.Parallel()
	env := newEnv(nil, nil, nil)
	common := flagNamesOf(env.flags())
	code := regexp.MustCompile("`([^`]+)`")
	commands := newApp(env).Commands
	rows := readmeRows(t, "command | one step")
	if len(rows) != len(commands) {
		t.Fatalf("README.md has %d commands, the program %d", len(rows), len(commands))
	}
	for i, command := range commands {
		own := slices.DeleteFunc(slices.Clone(command.Flags), func(f cli.Flag) bool { return slices.Contains(common, f.Names()[0]) })
		var words, shown []string
		for _, word := range code.FindAllStringSubmatch(rows[i][0], -1) {
			words = append(words, word[1])
		}
		if words[0] != command.Name {
			t.Errorf("README.md: command %s stands where the program has %s", words[0], command.Name)
			continue
		}
		for _, flag := range words[1:] {
			shown = append(shown, checkShownFlag(t, command.Name, flag, own))
		}
		same(t, command.Name, shown, flagNamesOf(own))
	}
}

func TestReadmeTellsTheCommonFlagsAndTheirVariables(t *testing.T) {
	t.Parallel()
	flags := append(newEnv(nil, nil, nil).flags(), cli.HelpFlag)
	var shown, variables []string
	for _, flag := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(readmeMatch(t, `Every command takes (.*?)\. `), -1) {
		shown = append(shown, checkShownFlag(t, "common", flag[1], flags))
	}
	same(t, "common flags", shown, flagNamesOf(flags))

	for _, flag := range flags {
		for _, variable := range regexp.MustCompile(`\$(\w+)`).FindAllStringSubmatch(flag.String(), -1) {
			variables = append(variables, "`"+variable[1]+"`")
		}
	}
	same(t, "variables", strings.Split(readmeMatch(t, `before its environment variable \((.*?)\)`), ", "), variables)
}

func TestReadmeTellsTheStates(t *testing.T) {
	t.Parallel()
	var states []string
	for _, cells := range readmeRows(t, "state | means | do") {
		states = append(states, cells[0])
	}
	told := strings.Join(states, ", ")
	if help := statusCommand(newEnv(nil, nil, nil)).Description; !strings.Contains(help, "worst first: "+told+".\n") {
		t.Errorf("README.md has the states %s, the help\n%s", told, help)
	}
	// The statement that says the words.
	sql := regexp.MustCompile(`(?s)CASE\s+(WHEN unobservable THEN.*?)END AS state`).FindStringSubmatch(readText(t, "ledger/queries/status.sql"))
	var said []string
	for _, word := range regexp.MustCompile(`(?:THEN|ELSE) '(\w+)'`).FindAllStringSubmatch(sql[1], -1) {
		said = append(said, word[1])
	}
	if got := strings.Join(said, ", "); got != told {
		t.Errorf("README.md has the states %s, the ledger %s", told, got)
	}
}

// What the README quotes for a reader who looks for it has to be what the program says.
func TestReadmeQuotesTheProgram(t *testing.T) {
	t.Parallel()
	var source strings.Builder
	for _, room := range []string{"backup", "ledger"} {
		err := filepath.WalkDir(filepath.Join("..", room), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
				source.WriteString(readText(t, strings.TrimPrefix(path, "../")))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	quotes := 0
	for _, cells := range readmeRows(t, "when | do") {
		for _, quote := range regexp.MustCompile(`"([^"]+)"`).FindAllStringSubmatch(cells[0], -1) {
			quotes++
			if !strings.Contains(source.String(), quote[1]) {
				t.Errorf("README.md quotes %q, the program never says it", quote[1])
			}
		}
	}
	if quotes == 0 {
		t.Error("README.md quotes nothing")
	}
}

func TestReadmeLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	links := regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(readText(t, "README.md"), -1)
	if len(links) == 0 {
		t.Error("README.md has no links")
	}
	for _, link := range links {
		if _, err := os.Stat(filepath.Join("..", link[1])); err != nil {
			t.Error(fmt.Errorf("README.md: follow link: %w", err))
		}
	}
}
