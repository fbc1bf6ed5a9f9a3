package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// newHelp returns cobra's help command, but treats an unknown command as an error.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Print how to use a command",
		Long:  "Help prints the same as 'perdure COMMAND --help'. For a subcommand, run 'perdure help migrate up'.",
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return badUsage("unknown command %q%s; run 'perdure help' for the commands", strings.Join(args, " "), meantBelow(cmd.Root(), args))
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, begun string) (found []string, _ cobra.ShellCompDirective) {
			above, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			for _, c := range above.Commands() {
				if c.IsAvailableCommand() && strings.HasPrefix(c.Name(), begun) {
					found = append(found, c.Name()+"\t"+c.Short)
				}
			}
			return found, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// meantBelow returns text that names the command that is near to the first word which is none.
func meantBelow(root *cobra.Command, words []string) string {
	for i := range words {
		if above, rest, err := root.Find(words[:i]); err == nil && len(rest) == 0 {
			if _, rest, err := root.Find(words[:i+1]); err != nil || len(rest) > 0 {
				return meant(above, words[i])
			}
		}
	}
	return ""
}

func newExitCodes(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "exit-codes", Short: "Print the exit codes and their meanings", Long: exitCodesText(), Args: arguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.output != outputTable {
				return a.showLines(cmd, struct {
					ExitCodes []exitMeaning `json:"exitCodes"`
				}{exitMeanings}, each(exitMeanings), nil)
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), exitCodesText())
			return err
		},
	}
}
