package main

import (
	"io"
	"strings"
	"unicode/utf8"
)

const (
	// columnGap is the least number of spaces between two columns.
	columnGap = 2
	// columnMost is the length of a cell that widens its column. A longer one moves the rest of its own row only, so that one long ID does not
	// push all rows beyond the width of a terminal.
	columnMost = 64
)

// A grid aligns the cells of tables. Tabs end cells, and line feeds rows. A cell that no tab ends belongs to no column. A column is as wide as
// the widest of its cells in rows that follow each other. The zero value is empty.
type grid struct{ text strings.Builder }

// Write adds text.
func (g *grid) Write(text []byte) (int, error) { return g.text.Write(text) }

// flush writes the aligned rows.
func (g *grid) flush(w io.Writer) error {
	var rows [][]string
	for line := range strings.Lines(g.text.String()) {
		rows = append(rows, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
	widths := columnWidths(rows)
	for i, cells := range rows {
		var line strings.Builder
		for j, cell := range cells[:len(cells)-1] {
			line.WriteString(cell)
			line.WriteString(strings.Repeat(" ", max(columnGap, widths[i][j]+columnGap-utf8.RuneCountInString(cell))))
		}
		line.WriteString(cells[len(cells)-1])
		// An empty last cell leaves its padding behind.
		if _, err := io.WriteString(w, strings.TrimRight(line.String(), " ")+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// columnWidths returns the width of the column of each cell, by row.
func columnWidths(rows [][]string) [][]int {
	widths := make([][]int, len(rows))
	for i, cells := range rows {
		widths[i] = make([]int, len(cells)-1)
	}
	for i, cells := range rows {
		for j := range cells[:len(cells)-1] {
			if i > 0 && j < len(widths[i-1]) {
				widths[i][j] = widths[i-1][j] // the row above has the width of the whole column
				continue
			}
			end := i
			for width := 0; ; end++ {
				if end == len(rows) || j >= len(rows[end])-1 {
					widths[i][j] = width
					break
				}
				if n := utf8.RuneCountInString(rows[end][j]); n <= columnMost {
					width = max(width, n)
				}
			}
		}
	}
	return widths
}
