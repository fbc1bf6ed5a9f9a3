// Command perdure-bench measures perdure: it runs the workloads W1 to W10, each on a fresh store. It also proves what
// perdure demo shows.
package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"
)

func main() { os.Exit(int(process())) }

// process runs a command line, or a worker if another process of this program started this one as a worker.
func process() exitCode {
	configureLogs()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if name, ok := os.LookupEnv(workerVariable); ok {
		return finish(ctx, runWorker(ctx, name, os.Stdin, os.Stdout, os.Stderr), os.Stderr)
	}
	return run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}

// app holds the flags that all commands share, and the logger.
type app struct {
	db       string
	output   string
	logLevel string
	logger   *slog.Logger
}

// run executes one command line.
func run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) exitCode {
	root := newRoot(&app{}) //nolint:contextcheck // commands get ctx from ExecuteContext
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errs)
	return finish(ctx, root.ExecuteContext(ctx), errs)
}

// newRoot returns the command that measures.
func newRoot(a *app) *cobra.Command {
	root := newBench(a)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.AddCommand(newDemo(a))
	root.CompletionOptions.DisableDefaultCmd = true
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) (err error) {
		if cmd.Flags().Changed("db") && a.db == "" {
			return badUsage("flag --db is empty: give a path or a URL, or leave the flag out")
		}
		if !slices.Contains([]string{outputTable, outputJSON, outputJSONL}, a.output) {
			return badUsage("flag --output is %q: it must be table, json or jsonl", a.output)
		}
		a.logger, err = newLogger(cmd.ErrOrStderr(), a.logLevel)
		return err
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return badUsage("%w: see 'perdure-bench --help'", err) })
	flags := root.PersistentFlags()
	flags.StringVar(&a.db, "db", "", "SQLite file or postgres:// URL (default: a temporary file)")
	flags.StringVarP(&a.output, "output", "o", outputTable, "output format: table, json, or jsonl, which is one JSON object on each line")
	flags.StringVar(&a.logLevel, "log-level", "warn", "lowest level to log to standard error: debug, info, warn or error")
	return root
}
