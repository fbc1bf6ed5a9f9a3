package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// newHelp is cobra's command help, but an unknown command is an error.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about any command",
		Long:  "Help prints what 'perdure COMMAND --help' prints, such as 'perdure help migrate up'.",
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
