package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
)

// The values of the flag --output.
const (
	outputTable = "table"
	outputJSON  = "json"  // one indented JSON value
	outputJSONL = "jsonl" // a JSON value without line feeds for each run
)

// writeJSON writes values as JSON, one after the other.
func writeJSON[T any](w io.Writer, indent string, values ...T) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	for _, v := range values {
		if err := encoder.Encode(v); err != nil {
			return fmt.Errorf("writing output: %w", err)
		}
	}
	return nil
}

// writeTable aligns the columns that fill separates by tabs.
func writeTable(w io.Writer, fill func(io.Writer)) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fill(table)
	if err := table.Flush(); err != nil {
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
		fmt.Fprint(w, cell)
	}
	fmt.Fprintln(w)
}
