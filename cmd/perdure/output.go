package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// The values of the flag --output.
const (
	outputTable = "table"
	outputJSON  = "json"
)

// show writes v as JSON, or what table makes of it, to the command's standard output.
func (a *app) show(cmd *cobra.Command, v any, table func(*tabwriter.Writer)) error {
	if a.output == outputJSON {
		return writeJSON(cmd.OutOrStdout(), v)
	}
	return writeTable(cmd.OutOrStdout(), table)
}

func writeJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("writing output: %w", err)
	}
	return nil
}

// writeTable aligns the columns that fill separates by tabs.
func writeTable(w io.Writer, fill func(*tabwriter.Writer)) error {
	var text strings.Builder
	tabs := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fill(tabs)
	if err := tabs.Flush(); err != nil {
		return fmt.Errorf("writing output: %w", err)
	}
	// An empty last cell leaves its padding behind.
	for line := range strings.Lines(text.String()) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " \n")); err != nil {
			return fmt.Errorf("writing output: %w", err)
		}
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

// plain keeps stored text from breaking the table or steering the terminal.
func plain(s string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return s
	}
	quoted := strconv.Quote(s)
	return quoted[1 : len(quoted)-1]
}

// shellWord quotes a word of a command line that is printed to be copied.
func shellWord(s string) string {
	const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@"
	if s != "" && strings.Trim(s, safe) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// short cuts a text for a table.
func short(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "..."
}

// instant is a time in a table; "-" for none.
func instant(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}
