// Service is a web service that embeds perdure. It starts orders, shows their state and shuts down in phases.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

// Greet is an activity.
func Greet(_ context.Context, name string) (string, error) { return "hello, " + name, nil }

// Welcome is an orchestration.
func Welcome(ctx *orchestration.Context, name string) (string, error) {
	return orchestration.CallActivity(ctx, Greet, name, orchestration.WithRetry(orchestration.RetryPolicy{}))
}

func main() {
	path := flag.String("db", "service.db", "the database's file")
	address := flag.String("listen", "localhost:8080", "where to listen")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", *address)
	if err == nil {
		err = serve(ctx, listener, *path)
	}
	if err != nil {
		slog.Error("service failed", "err", err)
		os.Exit(1) //nolint:gocritic // stop would only unregister the signals
	}
}

// serve runs until ctx is done.
func serve(ctx context.Context, listener net.Listener, path string) (err error) {
	store, err := sqlite.Open(path) //nolint:contextcheck // opening has its own timeout
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }() // last, since everything below uses it

	reg := runtime.NewRegistry()
	if err := errors.Join(
		runtime.AddOrchestration(reg, Welcome),
		runtime.AddActivity(reg, Greet),
	); err != nil {
		return err
	}
	rt, err := runtime.Start(ctx, store, reg, runtime.Options{Name: "greeter"})
	if err != nil {
		return err
	}
	c, err := rt.Client(client.Options{})
	if err != nil {
		return errors.Join(err, rt.Shutdown(ctx))
	}
	api := &api{rt: rt, c: c}
	server := &http.Server{Handler: api.routes(), ReadHeaderTimeout: 5 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()

	select {
	case err = <-failed: // the listener failed
	case <-ctx.Done(): // a signal
	}
	// Shutdown needs a new context: ctx is done, so it would skip the waits.
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 25*time.Second)
	defer cancel()
	return errors.Join(err, server.Shutdown(ending), rt.Shutdown(ending))
}

type api struct {
	rt *runtime.Runtime
	c  *client.Client
}

func (a *api) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /welcome/{name}", a.welcome)
	mux.HandleFunc("GET /health", a.health)
	return mux
}

// welcome starts an orchestration and returns at once. The caller chooses the ID, so a repeated request starts
// nothing twice.
func (a *api) welcome(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	_, err := client.Start(r.Context(), a.c, Welcome, name,
		client.WithID("welcome/"+name), client.WithIDPolicy(client.UseExisting))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// health returns 503 while the store does not respond. The body is for people.
func (a *api) health(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
	defer cancel()
	h, err := a.rt.Health(ctx)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintf(w, "%d blocked, %d dead letters\n", h.Blocked, h.DeadLetters)
	for _, u := range h.Unserved {
		fmt.Fprintf(w, "%d of %s %q wait for a node that has it, the oldest for %v\n", u.Count, u.Kind, u.Name, u.Oldest)
	}
}
