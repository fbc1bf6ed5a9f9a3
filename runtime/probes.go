package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/internal/dbname"
	"github.com/perdure/perdure/provider"
)

// probeTime bounds what a probe asks the store. It is less than the usual timeouts of probes and proxies.
const probeTime = 2 * time.Second

// errStarting is why a Probes without a node is not ready.
var errStarting = errors.New("the node has not started")

// Probes answers the probes of an orchestrator such as Kubernetes over HTTP, by the status and a line of text:
//
//   - /livez: 200 while the process needs no restart. 503 if a loop of the node that fetches work has ended, if Health.Fatal says why it should be
//     restarted, or after Shutdown. A store that does not answer is no reason: the node recovers by itself.
//   - /readyz: 200 while the node takes work and the store answers. 503 before the node has started, while it drains or shuts down, while
//     the store does not answer within 2 s, while the engine level of the store is not known, and whenever /livez returns 503.
//
// What is not known counts as not ready. The body has the reason. Other paths return 404, other methods than GET and HEAD 405.
// A request for /readyz reads one key of the store.
//
// The zero value is a node that has not started: serve it before Start, and give it the node by Use. Many goroutines may use it at once.
type Probes struct{ rt atomic.Pointer[Runtime] }

// Use makes the probes answer for a node from now on. A later call replaces the node; nil makes it one that has not started.
func (p *Probes) Use(rt *Runtime) { p.rt.Store(rt) }

// ServeHTTP implements [http.Handler].
func (p *Probes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var err error
	switch rt := p.rt.Load(); {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "a probe is a GET", http.StatusMethodNotAllowed)
		return
	case r.URL.Path == "/livez" && rt == nil:
	case r.URL.Path == "/livez":
		err = rt.dispatcher.Alive()
	case r.URL.Path == "/readyz" && rt == nil:
		err = errStarting
	case r.URL.Path == "/readyz":
		err = rt.ready(r.Context())
	default:
		http.Error(w, "there are /livez and /readyz", http.StatusNotFound)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	if err != nil {
		http.Error(w, dbname.Mask(err.Error()), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, "ok\n")
}

// ready returns why the node cannot take work now, nil if it can.
func (rt *Runtime) ready(ctx context.Context) error {
	if err := rt.dispatcher.Alive(); err != nil {
		return err
	}
	if err := rt.dispatcher.Accepting(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	if err := rt.dispatcher.Level().Learn(ctx); err != nil {
		return fmt.Errorf("the engine level of the store is not known: %w", err)
	}
	if _, err := rt.store.Get(ctx, provider.GetRequest{ID: "perdure"}); err != nil && !errors.Is(err, provider.ErrNotFound) {
		return fmt.Errorf("the store does not answer: %w", err)
	}
	// It may have changed while the store was asked.
	return rt.dispatcher.Accepting()
}
