package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// errDeclined is the error of a command whose user did not confirm it.
var errDeclined = errors.New("not confirmed: nothing was changed")

// yesFlag adds the flag --yes to a command that calls confirm.
func yesFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("yes", false, "do it without asking; needed where there is no terminal to ask on")
}

// confirm returns nil if the user wants what the command does, such as "delete order-42 and its history for good".
// Without --yes it asks on a terminal. Where there is none it refuses, so that a script never waits for an answer.
func (a *app) confirm(cmd *cobra.Command, yes bool, what string) error {
	if yes {
		return nil
	}
	in := cmd.InOrStdin()
	if !a.onTerminal(in) {
		return badUsage("%s needs a confirmation: add --yes to %s", cmd.CommandPath(), plain(what))
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "This will %s. Go on? [y/N] ", plain(what))
	answer := make(chan string, 1)
	failed := make(chan error, 1)
	go func() { // it ends with the line, or with the process
		line, err := readLine(in)
		if err != nil {
			failed <- err
			return
		}
		answer <- line
	}()
	select {
	case line := <-answer:
		if line = strings.ToLower(strings.TrimSpace(line)); line == "y" || line == "yes" {
			return nil
		}
		return errDeclined
	case err := <-failed:
		return fmt.Errorf("reading the confirmation: %w", err)
	case <-cmd.Context().Done():
		fmt.Fprintln(cmd.ErrOrStderr())
		return context.Cause(cmd.Context())
	}
}
