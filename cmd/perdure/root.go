package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/internal/dbname"
)

// dbVariable names the database when the flag --db does not.
const dbVariable = "PERDURE_DB"

// app holds what all commands share: the global flags and the logger.
type app struct {
	db       string
	output   string
	logLevel string
	decoder  *decoder // of decode; nil: no client was made
	decode   string   // a command of the shell that opens encrypted values; "": none
	readOnly bool
	logger   *slog.Logger
	terminal func(stream any) bool // replaces isTerminal in tests
	now      func() time.Time      // replaces time.Now in tests of progress, unless it is nil
	patience time.Duration         // replaces completionTime in tests, unless it is 0
	started  bool                  // the command line was valid and a command runs
}

// run executes one command line.
func run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) exitCode {
	return (&app{}).run(ctx, args, in, out, errs)
}

func (a *app) run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) exitCode {
	root := newRoot(a) //nolint:contextcheck // commands get ctx from ExecuteContext
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errs)
	err := a.usage(root.ExecuteContext(ctx))
	if err == nil {
		return exitOK
	}
	// Interrupted storage calls return context.Canceled; report its cause instead.
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, context.Canceled) {
		err = cause
	}
	code := exitUsage
	if a.started {
		code = codeOf(err)
	}
	if !a.started && a.output == outputTable { // the mistake may stand before the flag
		a.output = outputOf(args)
	}
	text := dbname.Mask(operatorText(err.Error()))
	if a.output == outputJSON || a.output == outputJSONL {
		_ = writeLine(errs, failed{text, errorCode(err, code), code}) // nobody could be told
		return code
	}
	fmt.Fprintf(errs, "perdure: %s\n", lines(text))
	if !a.started {
		fmt.Fprintln(errs, "run 'perdure help' for the commands and their flags")
	}
	return code
}

// outputOf returns the value of the last flag --output in a command line that was not parsed to its end. It is "" without one.
func outputOf(args []string) (output string) {
	for i, arg := range args {
		if arg == "--" {
			break
		}
		switch value, long := strings.CutPrefix(arg, "--output="); {
		case long:
			output = value
		case (arg == "-o" || arg == "--output") && i+1 < len(args):
			output = args[i+1]
		case strings.HasPrefix(arg, "-o") && len(arg) > len("-o"):
			output = strings.TrimPrefix(arg[len("-o"):], "=")
		}
	}
	return output
}

// failed is the error of a command as JSON. It is the last line on standard error.
type failed struct {
	Error    string   `json:"error"`
	Code     string   `json:"code"`
	ExitCode exitCode `json:"exitCode"`
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "perdure",
		Short: "Durable orchestrations that survive crashes: demo and operation",
		Long: "perdure inspects and operates durable orchestrations.\n\n" +
			"Start with 'perdure demo'. The other commands work on the SQLite file or Postgres database of any service that\n" +
			"embeds perdure, even while the service runs. Name the database with --db or " + dbVariable + ": a path, or a URL such as\n" +
			"postgres://user@host/database. Add ?schema=NAME to the URL if the schema is not called perdure. The password can\n" +
			"be in the URL, in PGPASSWORD or in a .pgpass file.",
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return a.begin(cmd) },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return flagError(err) })
	flags := root.PersistentFlags()
	flags.StringVar(&a.db, "db", "", "SQLite file or postgres:// URL of the service (default: $"+dbVariable+")")
	flags.StringVarP(&a.output, "output", "o", outputTable, "output format: table, json, or jsonl, which is one JSON object on each line")
	flags.StringVar(&a.logLevel, "log-level", "warn", "lowest level to log to standard error: debug, info, warn or error")
	flags.BoolVar(&a.readOnly, "read-only", false, "refuse to change the database, whatever the command")
	flags.StringVar(&a.decode, "decode", "", "command of the shell that decrypts values; implies --read-only")
	root.AddCommand(
		newDemo(a), newDev(a), newDashboard(a),
		newStart(a), newList(a), newCount(a), newFailures(a), newRetrying(a), newShow(a), newHistory(a), newTimelineOf(a), newTree(a), newResult(a),
		newQuery(a), newUpdate(a), newRaise(a), newCancel(a), newTerminate(a), newUnblock(a), newDropMessage(a), newDeadLetters(a),
		newSuspend(a), newResume(a), newRestart(a), newActivity(a), newQueue(a), newNode(a), newTop(a), newIncident(a), newAudit(a),
		newMove(a), newPatches(a), newVersions(a),
		newDelete(a), newPrune(a), newTrim(a), newCompact(a), newRetention(a), newBulk(a),
		newSchedule(a),
		newReset(a), newFork(a),
		newExport(a), newImport(a), newUnseal(a), newBackup(a), newRestore(a),
		newDoctor(a), newMigrate(a), newUpgrade(a), newVersion(a), newExitCodes(a), newBench(),
	)
	root.SetHelpCommand(newHelp())
	a.completeGroups(root)
	a.addCompletion(root)
	return root
}

// begin checks the global flags. Later errors are the command's own.
func (a *app) begin(cmd *cobra.Command) error {
	if cmd.Flags().Changed("db") && a.db == "" {
		return errors.New("flag --db is empty: give a path or a URL, or leave the flag out to use " + dbVariable)
	}
	if !slices.Contains(outputs, a.output) {
		return fmt.Errorf("flag --output is %q: it must be table, json or jsonl", a.output)
	}
	a.readOnly = a.readOnly || a.decode != ""
	if name := cmd.Name(); a.decode != "" && (name == "demo" || name == "dev") {
		return fmt.Errorf("flag --decode: with it a command changes nothing, and %s writes to databases of its own; leave the flag out", name)
	} else if a.readOnly && (name == "demo" || name == "dev") {
		return fmt.Errorf("flag --read-only: %s writes to databases of its own; leave the flag out", name)
	}
	logger, err := newLogger(cmd.ErrOrStderr(), a.logLevel)
	if err != nil {
		return err
	}
	a.logger = logger
	a.started = true
	return nil
}
