package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/order"
	"github.com/perdure/perdure/internal/dbname"
)

// ledgerVariable names the folder in which the demo's activities record their effects.
const ledgerVariable = "PERDURE_DEMO_LEDGER"

// demoFlags are the flags of demo.
type demoFlags struct {
	program string
	order   string
	lease   time.Duration
}

func newDemo(a *app) *cobra.Command {
	var f demoFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run 'perdure demo' and prove that nothing was lost or done twice",
		Long: "Demo runs 'perdure demo', which kills a worker in the middle of an order, and passes on what it prints. Then it reads the history of\n" +
			"the order and what its activities recorded, and prints a table of both. If something was lost or done twice, the exit code is 1.",
		Example: "  perdure-bench demo --perdure ./perdure\n  perdure-bench demo --perdure ./perdure --db postgres://user@host/database",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return badUsage("unexpected argument %q: the command is 'perdure-bench demo'", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.output != outputTable {
				return badUsage("flag --output is %s: demo prints text only", a.output)
			}
			return a.proveDemo(cmd, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.program, "perdure", "perdure", "program to run, found in the path")
	flags.StringVar(&f.order, "order", "", "order as JSON or @file (default: the demo's own)")
	flags.DurationVar(&f.lease, "lease", 2*time.Second, "how long a worker keeps its work without renewing the lease")
	return cmd
}

// proveDemo runs the demo on the database of the flag --db, or on a temporary file, and judges it.
func (a *app) proveDemo(cmd *cobra.Command, f demoFlags) (err error) {
	ctx := cmd.Context()
	dir, err := os.MkdirTemp("", "perdure-bench-")
	if err != nil {
		return fmt.Errorf("making a directory for the demo: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	db := cmp.Or(a.db, filepath.Join(dir, "demo.db"))
	_, isServer, err := dbname.Parse(db)
	if err != nil {
		return &usageError{err}
	}
	ledger := db + "-ledger" // where the demo keeps it itself
	if isServer {
		ledger = filepath.Join(dir, "ledger")
	}
	args := []string{"demo", "--db", db, "--lease", f.lease.String(), "--log-level", a.logLevel}
	if f.order != "" {
		args = append(args, "--order", f.order)
	}
	demo := exec.CommandContext(ctx, f.program, args...) //nolint:gosec // the user names the program
	demo.Env = append(os.Environ(), ledgerVariable+"="+ledger)
	demo.Stderr = cmd.ErrOrStderr()
	seen, err := watchDemo(demo, cmd.OutOrStdout(), a.db != "")
	if err != nil {
		return err
	}
	p := &proof{out: cmd.OutOrStdout(), lease: f.lease, restart: seen}
	if err := a.readDemo(ctx, db, ledger, p); err != nil {
		return err
	}
	return p.conclude()
}

// watchDemo runs the demo, passes on what it prints, and returns what that tells. Advice on a database that is not kept is left out.
func watchDemo(demo *exec.Cmd, out io.Writer, kept bool) (seen restart, err error) {
	stdout, err := demo.StdoutPipe()
	if err == nil {
		err = demo.Start()
	}
	if err != nil {
		return seen, badUsage("starting the demo: %w; name the program with --perdure", err)
	}
	advice, above := false, "" // empty lines above the next one
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		line := lines.Text()
		if line == "" {
			above += "\n"
			continue
		}
		seen.read(line)
		advice = advice || strings.HasPrefix(line, "The database is kept.")
		if kept || !advice {
			fmt.Fprintf(out, "%s%s\n", above, line)
		}
		above = ""
	}
	_, _ = io.Copy(io.Discard, stdout) // of a line that is too long
	if err := errors.Join(lines.Err(), demo.Wait()); err != nil {
		return seen, &demoError{fmt.Errorf("running %s: %w", demo.Path, err), max(exitFailure, exitCode(demo.ProcessState.ExitCode()))}
	}
	return seen, nil
}

// readDemo reads the order, its history and its effects.
func (a *app) readDemo(ctx context.Context, db, ledger string, p *proof) (err error) {
	store, err := openStore(ctx, db, a.logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	c, err := client.New(store, client.Options{Logger: a.logger})
	if err != nil {
		return err
	}
	h, err := client.Lookup[order.Receipt](ctx, c, p.restart.id)
	if err == nil {
		p.receipt, err = h.Wait(ctx, client.OrBlocked())
	}
	if err != nil {
		return fmt.Errorf("reading the order: %w", err)
	}
	for e, err := range h.History(ctx, 0) {
		if err != nil {
			return fmt.Errorf("reading the history: %w", err)
		}
		p.events = append(p.events, e)
	}
	recorded, err := order.OpenLedger(ledger)
	if err == nil {
		p.entries, err = recorded.Read(p.restart.id)
	}
	if err != nil {
		return fmt.Errorf("reading the effects: %w", err)
	}
	return nil
}
