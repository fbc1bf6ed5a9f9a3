package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/sample"
	"github.com/perdure/perdure/metrics/prometheus"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

func newDev(a *app) *cobra.Command {
	var f siteFlags
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run a sample shop and the dashboard in one process, to play with",
		Long: "Dev runs a worker with the orchestrations of a small shop and the dashboard in one process. It starts some instances of\n" +
			"each kind: one waits for an event, one is blocked, one is tried again. It prints a URL that logs in. Prometheus scrapes /metrics.\n\n" +
			"The SQLite file of the flag --db is kept, and must be new or made by this command. Without the flag the file is temporary.",
		Example: "  perdure dev\n  perdure dev --db shop.db --listen 127.0.0.1:0",
		Args:    arguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.develop(cmd, &f) },
	}
	f.add(cmd)
	return cmd
}

// develop runs the shop on the file of the flag --db, or on a temporary one.
func (a *app) develop(cmd *cobra.Command, f *siteFlags) (err error) {
	// First, since the shop is of no use without a port.
	listener, err := f.bind(cmd.Context())
	if err != nil {
		return err
	}
	defer func() {
		if closed := listener.Close(); !errors.Is(closed, net.ErrClosed) {
			err = errors.Join(err, closed)
		}
	}()
	name := a.db
	if name == "" {
		dir, err := os.MkdirTemp("", "perdure-dev-")
		if err != nil {
			return fmt.Errorf("making a directory for the shop: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		name = filepath.Join(dir, "shop.db")
	}
	db, err := databaseOf(name)
	if err != nil {
		return err
	}
	if _, isFile := db.(file); !isFile {
		return badUsage("flag --db names a server: dev works on a SQLite file of its own")
	}
	ctx := cmd.Context()
	store, err := db.create(ctx, a.logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return a.shop(ctx, cmd, store, f, listener)
}

// shop runs a worker and the dashboard until the context ends.
func (a *app) shop(ctx context.Context, cmd *cobra.Command, store provider.Provider, f *siteFlags, listener net.Listener) (err error) {
	c, err := client.New(store, client.Options{Logger: a.logger})
	if err != nil {
		return err
	}
	if err := sample.Own(ctx, c); err != nil {
		return badUsage("flag --db: %w", err)
	}
	reg := runtime.NewRegistry()
	if err := sample.Register(reg); err != nil { //nolint:contextcheck // registering calls nothing
		return err
	}
	observer := prometheus.New(prometheus.Options{Logger: a.shopLogger()})
	rt, err := runtime.Start(ctx, store, reg, runtime.Options{Logger: a.shopLogger(), Observer: observer})
	if err != nil {
		return err
	}
	defer func() {
		defer forceExit(exitAfter, cmd.ErrOrStderr())()
		err = errors.Join(err, rt.Shutdown(context.WithoutCancel(ctx)))
	}()
	if c, err = rt.Client(client.Options{Logger: a.logger}); err != nil {
		return err
	}
	if err := sample.Seed(ctx, c); err != nil {
		return err
	}
	return a.serve(ctx, cmd, c, scraped(observer), f, listener)
}

// shopLogger returns the logger of the shop's worker. The bill that cannot count fills it with errors, so it is silent unless somebody asks.
func (a *app) shopLogger() *slog.Logger {
	if a.logLevel == "warn" || a.logLevel == "error" {
		return slog.New(slog.DiscardHandler)
	}
	return a.logger
}
