package main

import (
	"fmt"
	"strings"
	"testing"
	"text/tabwriter"

	"pgregory.net/rapid"
)

func aligned(t interface{ Fatal(...any) }, text string) string {
	var out strings.Builder
	if err := writeTable(&out, func(g *grid) { fmt.Fprint(g, text) }); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// One long ID does not push the columns of all other rows beyond the width of a terminal.
func TestLongCellMovesItsOwnRowOnly(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 255)
	got := aligned(t, "ID\tSTATUS\tEVENTS\norder-1\tRunning\t3\n"+long+"\tRunning\t4\norder-17\tFailed\t5\n")
	want := "ID        STATUS   EVENTS\norder-1   Running  3\n" + long + "  Running  4\norder-17  Failed   5\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// Without long cells a table looks as package text/tabwriter makes it.
func TestTablesAreAligned(t *testing.T) {
	t.Parallel()
	cell := rapid.StringOfN(rapid.SampledFrom([]rune("abü\u65e5 ")), 0, 12, -1)
	rows := rapid.SliceOfN(rapid.SliceOfN(cell, 1, 5), 0, 9)
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		for _, cells := range rows.Draw(t, "rows") {
			text.WriteString(strings.Join(cells, "\t") + "\n")
		}
		var other strings.Builder
		tabs := tabwriter.NewWriter(&other, 0, 0, columnGap, ' ', 0)
		fmt.Fprint(tabs, text.String())
		if err := tabs.Flush(); err != nil {
			t.Fatal(err)
		}
		var want strings.Builder
		for line := range strings.Lines(other.String()) {
			want.WriteString(strings.TrimRight(line, " \n") + "\n")
		}
		if got := aligned(t, text.String()); got != want.String() {
			t.Fatalf("got\n%qwant\n%q", got, want.String())
		}
	})
}
