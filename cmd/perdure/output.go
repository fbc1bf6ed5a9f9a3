package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/internal/payload"
)

// The values of the flag --output.
const (
	outputTable = "table"
	outputJSON  = "json"  // one indented JSON value
	outputJSONL = "jsonl" // JSON values without line feeds, one on each line
)

// outputs has the values of the flag --output.
//
//nolint:gochecknoglobals // constant table
var outputs = []string{outputTable, outputJSON, outputJSONL}

// show writes v as JSON, or the table, to the command's standard output.
func (a *app) show(cmd *cobra.Command, v any, table func(*grid)) error {
	switch a.output {
	case outputJSON:
		return writeJSON(cmd.OutOrStdout(), v)
	case outputJSONL:
		return writeLine(cmd.OutOrStdout(), v)
	default:
		return writeTable(cmd.OutOrStdout(), table)
	}
}

// showLines is show for a list: as jsonl it writes each item, which each returns, on a line of its own.
func (a *app) showLines(cmd *cobra.Command, v any, items iter.Seq[any], table func(*grid)) error {
	if a.output != outputJSONL {
		return a.show(cmd, v, table)
	}
	for item := range items {
		if err := writeLine(cmd.OutOrStdout(), item); err != nil {
			return err
		}
	}
	return nil
}

// each returns the items of a list for showLines.
func each[T any](items []T) iter.Seq[any] {
	return func(yield func(any) bool) {
		for i := range items {
			if !yield(&items[i]) {
				return
			}
		}
	}
}

// writeJSON writes indented JSON.
func writeJSON(w io.Writer, v any) error { return encode(w, v, true) }

// writeLine writes JSON on one line.
func writeLine(w io.Writer, v any) error { return encode(w, v, false) }

// encode does not indent by encoding/json, which writes 180 MB for 18 KB that is nested deep. What would grow to more than four times
// its size by indentation stays on one line.
func encode(w io.Writer, v any, indented bool) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	if err == nil {
		out := text.Bytes()
		if indented {
			if lines, cut := payload.Pretty(out, 4*len(out)+64<<10); !cut {
				lines = append(lines, '\n')
				out = lines
			}
		}
		_, err = w.Write(escapeJSON(out))
	}
	if err != nil {
		return fmt.Errorf("writing output: %w", err)
	}
	return nil
}

// escapeJSON escapes characters that could control a terminal. All of them are inside strings, except line feeds.
func escapeJSON(text []byte) []byte {
	steers := func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }
	if bytes.IndexFunc(text, steers) < 0 {
		return text
	}
	var escaped bytes.Buffer
	for _, r := range string(text) {
		switch {
		case !steers(r):
			escaped.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&escaped, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&escaped, `\u%04x`, r)
		}
	}
	return escaped.Bytes()
}

// writeTable aligns the columns that fill separates by tabs.
func writeTable(w io.Writer, fill func(*grid)) error {
	var table grid
	fill(&table)
	if err := table.flush(w); err != nil {
		return fmt.Errorf("writing output: %w", err)
	}
	return nil
}

// row writes one line of a table.
func row(w io.Writer, cells ...any) {
	for i, cell := range cells {
		if i > 0 {
			fmt.Fprint(w, "\t")
		}
		fmt.Fprint(w, plain(fmt.Sprint(cell)))
	}
	fmt.Fprintln(w)
}

// plain quotes stored text that would break the table or control the terminal.
func plain(s string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return s
	}
	quoted := strconv.Quote(s)
	return quoted[1 : len(quoted)-1]
}

// lines returns text of several lines with each line made plain and all but the first indented.
func lines(s string) string {
	parts := strings.Split(s, "\n")
	for i := range parts {
		parts[i] = plain(parts[i])
	}
	return strings.Join(parts, "\n  ")
}

// short cuts a text to the limit.
func short(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "..."
}

// instant returns a time as text, or "-" for the zero time.
func instant(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}
