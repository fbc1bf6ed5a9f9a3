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
				return badUsage("unknown command %q; run 'perdure help' for the commands", strings.Join(args, " "))
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
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
