package runtime_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/runtime"
)

// probe asks for a path, and compares the status and a part of the body.
func probe(t testing.TB, p *runtime.Probes, method, path string, status int, says string) {
	t.Helper()
	w := httptest.NewRecorder()
	p.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody))
	if w.Code != status || !strings.Contains(w.Body.String(), says) {
		t.Errorf("%s %s: %d %q, want %d %q", method, path, w.Code, w.Body.String(), status, says)
	}
}

// probes asks for both: "" says that the answer is ok, and all else is a part of the reason.
func probes(t testing.TB, p *runtime.Probes, live, ready string) {
	t.Helper()
	for path, says := range map[string]string{"/livez": live, "/readyz": ready} {
		if says == "" {
			probe(t, p, http.MethodGet, path, http.StatusOK, "ok\n")
		} else {
			probe(t, p, http.MethodGet, path, http.StatusServiceUnavailable, says)
		}
	}
}

// blocking adds an activity that runs until release is closed, whatever its context says.
func blocking(t testing.TB, reg *runtime.Registry) (began, release chan struct{}) {
	t.Helper()
	began, release = make(chan struct{}), make(chan struct{})
	enginetest.Activity(t, reg, "blocks", func(context.Context, none) (none, error) {
		close(began)
		<-release
		return none{}, nil
	})
	enginetest.Orchestration(t, reg, "calls", func(ctx *octx, _ none) (none, error) {
		return orchestration.CallActivityNamed[none](ctx, "blocks", none{})
	})
	return began, release
}

// A node is ready from Start until it drains or shuts down, and alive until it has stopped.
func TestProbesOverTheLifeOfANode(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		var p runtime.Probes
		probes(e.T, &p, "", "has not started")
		reg := registry(e.T)
		began, release := blocking(e.T, reg)
		rt := e.Start(reg)
		p.Use(rt)
		probes(e.T, &p, "", "")
		e.Create("a", "calls", none{})
		<-began
		rt.Drain()
		probes(e.T, &p, "", "it is draining")
		rt.Undrain()
		synctest.Wait()
		probes(e.T, &p, "", "")
		over := make(chan struct{})
		go func() {
			defer close(over)
			e.Stop(rt)
		}()
		synctest.Wait()
		probes(e.T, &p, "", "shuts down")
		close(release)
		<-over
		probes(e.T, &p, "has stopped", "has stopped")
		p.Use(nil)
		probes(e.T, &p, "", "has not started")
	})
}

// A drained node is alive and not ready.
func TestProbesOfADrainedNode(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		var p runtime.Probes
		rt := e.Start(registry(e.T))
		p.Use(rt)
		rt.Drain()
		synctest.Wait()
		probes(e.T, &p, "", "it is drained")
	})
}

// A store that fails or hangs makes a node unready, and no reason to restart it.
func TestProbesWhileTheStoreIsDown(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		var p runtime.Probes
		plan := faulty.NewPlan(1)
		p.Use(e.StartOn(faulty.Wrap(e.Store, plan), registry(e.T), e.Options))
		plan.StartOutage()
		probes(e.T, &p, "", "the store does not answer: ")
		plan.EndOutage()
		probes(e.T, &p, "", "")
		answers := make(chan struct{})
		plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.Get}, Kind: faulty.Delay, Every: 1, Until: answers})
		asked := time.Now()
		probes(e.T, &p, "", "the store does not answer: ")
		if took := time.Since(asked); took != 2*time.Second {
			e.T.Errorf("the answer took %v", took)
		}
		close(answers)
		plan.Clear()
		probes(e.T, &p, "", "")
	})
}

// A node that could not read the engine level when it started is not ready until it has.
func TestProbesWithoutTheLevel(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		var p runtime.Probes
		plan := faulty.NewPlan(1)
		plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.Record}, Kind: faulty.Before, Every: 1})
		p.Use(e.StartOn(faulty.Wrap(e.Store, plan), registry(e.T), e.Options))
		probes(e.T, &p, "", "the engine level of the store is not known: ")
		plan.Clear()
		probes(e.T, &p, "", "")
	})
}

// A node whose store was closed never fetches again.
func TestProbesOfAClosedStore(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		var p runtime.Probes
		plan := faulty.NewPlan(1)
		p.Use(e.StartOn(faulty.Wrap(e.Store, plan), registry(e.T), e.Options))
		plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.FetchTurns, faulty.FetchTasks}, Kind: faulty.Before, Every: 1, Err: provider.ErrClosed})
		e.Create("a", "Twice", 7) // ends the fetch that waits
		time.Sleep(time.Minute)   //nolint:forbidigo // in a bubble: fetches wait for 30 s
		probes(e.T, &p, "the store was closed", "the store was closed")
		plan.Clear()
	})
}

// A probe is a GET of one of two paths.
func TestProbesRefuse(t *testing.T) {
	t.Parallel()
	var p runtime.Probes
	probe(t, &p, http.MethodPost, "/livez", http.StatusMethodNotAllowed, "GET")
	probe(t, &p, http.MethodGet, "/", http.StatusNotFound, "/readyz")
	probe(t, &p, http.MethodHead, "/livez", http.StatusOK, "")
}
