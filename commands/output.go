package commands

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// printJSON writes v as one line.
func (env *Env) printJSON(v any) error {
	encoder := json.NewEncoder(env.Out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

// say writes one line for people.
func (env *Env) say(format string, args ...any) error {
	if _, err := fmt.Fprintln(env.Out, oneLine(fmt.Sprintf(format, args...))); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

// printTable writes aligned columns without borders. Cells may come from outside:
// what moves a cursor or breaks a line is taken out.
func (env *Env) printTable(header []string, rows [][]string) error {
	var text bytes.Buffer
	cells := tw.CellConfig{
		Formatting: tw.CellFormatting{AutoFormat: tw.Off, AutoWrap: tw.WrapNone},
		Alignment:  tw.CellAlignment{Global: tw.AlignLeft},
		Padding:    tw.CellPadding{Global: tw.Padding{Right: "  ", Overwrite: true}},
	}
	table := tablewriter.NewTable(&text,
		tablewriter.WithConfig(tablewriter.Config{Header: cells, Row: cells}),
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders:  tw.BorderNone,
			Symbols:  tw.NewSymbols(tw.StyleNone),
			Settings: tw.Settings{Lines: tw.LinesNone, Separators: tw.SeparatorsNone},
		})),
	)
	table.Header(header)
	for _, row := range rows {
		clean := make([]string, len(row))
		for i, cell := range row {
			clean[i] = oneLine(cell)
		}
		if err := table.Append(clean); err != nil {
			return fmt.Errorf("write table: %w", err)
		}
	}
	if err := table.Render(); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	// Every cell is padded, so every line ends in blanks.
	for line := range strings.Lines(text.String()) {
		if _, err := io.WriteString(env.Out, strings.TrimRight(line, " \n")+"\n"); err != nil {
			return fmt.Errorf("write output: %w", err)
		}
	}
	return nil
}

// clock is a time as a JSON document has it; null for none.
func clock(at time.Time) *string {
	if at.IsZero() {
		return nil
	}
	text := at.UTC().Format("2006-01-02T15:04:05.000000Z")
	return &text
}

// moment is a time as a person reads it: UTC, to the minute where it is of today.
func moment(at, now time.Time) string {
	at, now = at.UTC(), now.UTC()
	if at.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return at.Format("15:04") + "Z"
	}
	return at.Format("2006-01-02 15:04") + "Z"
}

// size is a number of bytes as a person reads it.
func size(bytes int64) string {
	const unit = 1000
	if bytes < unit {
		return fmt.Sprintf("%d B", bytes)
	}
	value, suffixes := float64(bytes)/unit, "kMGTPE"
	for value >= unit && len(suffixes) > 1 {
		value, suffixes = value/unit, suffixes[1:]
	}
	return fmt.Sprintf("%.1f %cB", value, suffixes[0])
}

// span is a duration as a person reads it: its two largest units.
func span(d time.Duration) string {
	switch d = d.Round(time.Second); {
	case d >= 24*time.Hour:
		return fmt.Sprintf("%dd %dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
	case d >= time.Hour:
		return fmt.Sprintf("%dh %dm", d/time.Hour, d%time.Hour/time.Minute)
	case d >= time.Minute:
		return fmt.Sprintf("%dm %ds", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%ds", d/time.Second)
}
