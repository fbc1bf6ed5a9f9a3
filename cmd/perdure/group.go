package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// completeGroups completes the commands that have commands below them. Such a command answers a mistyped word with what is near to it.
// Alone it shows what there is, as its list, show or status does: somebody who types "dead-letters" wants to see them.
func (a *app) completeGroups(cmd *cobra.Command) {
	for _, below := range cmd.Commands() {
		a.completeGroups(below)
	}
	if !cmd.HasSubCommands() {
		return
	}
	cmd.Args = oneOfThoseBelow
	shows := shower(cmd)
	if shows == nil {
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		return
	}
	cmd.Long = strings.TrimSpace(cmd.Long + "\n\nWithout a command it does the same as 'perdure " + cmd.Name() + " " + shows.Name() + "'.")
	if cmd.RunE != nil {
		return // it has flags of its own
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if a.named() == "" {
			return cmd.Help()
		}
		shows.SetContext(cmd.Context())
		return shows.RunE(shows, args)
	}
}

// shower returns the command below that shows what there is, nil if there is none.
func shower(cmd *cobra.Command) *cobra.Command {
	if !cmd.HasParent() {
		return nil
	}
	for _, name := range []string{"list", "show", "status"} {
		for _, below := range cmd.Commands() {
			if below.Name() == name && !strings.Contains(below.Use, " ") {
				return below
			}
		}
	}
	return nil
}

// oneOfThoseBelow refuses a word that is no command below, and names the command that is meant.
func oneOfThoseBelow(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("unknown command %q for '%s'%s", args[0], cmd.CommandPath(), meant(cmd, args[0]))
}

// meant returns text that names the commands below that are near to a mistyped word, or "".
func meant(cmd *cobra.Command, word string) string {
	var near []string
	least := mostMistyped
	for _, below := range cmd.Commands() {
		if !below.IsAvailableCommand() {
			continue
		}
		n := mostMistyped + 1
		for _, name := range append([]string{below.Name()}, below.Aliases...) {
			n = min(n, mistyped(strings.ToLower(word), name))
		}
		if n < least {
			near = nil
		}
		if n <= least {
			least, near = n, append(near, "'"+below.CommandPath()+"'")
		}
	}
	if len(near) == 0 {
		return ""
	}
	return ": did you mean " + strings.Join(near, " or ") + "?"
}

// mostMistyped is by how many letters a word may differ from the name that is meant.
const mostMistyped = 2

// mistyped returns by how many letters a word differs from a name of which it is not the beginning. It returns more than mostMistyped if they
// have too little in common.
func mistyped(word, name string) int {
	n := distance(word, name)
	switch {
	case len(word) < 2:
		return mostMistyped + 1
	case strings.HasPrefix(name, word):
		return 0
	case n >= len(name)-1 || n >= len(word) && word[0] != name[0]: // as ls is near to list, and ps is not near to dev
		return mostMistyped + 1
	}
	return n
}

// distance returns how many letters must be added, removed, replaced or swapped with the next one to make b of a.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replaced := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			rows[i][j] = min(replaced, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
