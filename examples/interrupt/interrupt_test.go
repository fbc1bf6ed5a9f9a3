package interrupt_test

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/activity/activitytest"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/interrupt"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// A read without a context returns a second after the timeout, and nothing leaks.
func TestSilentDevice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(memory.Options{})
		here, there := net.Pipe()
		gauge := &interrupt.Gauge{Dial: func() (net.Conn, error) { return here, nil }}
		measure := orchestration.Define("Measure", func(ctx *orchestration.Context, _ orchestration.None) (string, error) {
			return interrupt.Measure(ctx, gauge)
		})
		reg := runtime.NewRegistry()
		if err := errors.Join(runtime.AddActivity(reg, gauge.Read), runtime.AddOrchestration(reg, measure)); err != nil {
			t.Fatal(err)
		}
		rt, err := runtime.Start(t.Context(), store, reg, runtime.Options{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		c, err := rt.Client(client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		h, err := client.Start(t.Context(), c, measure, orchestration.None{})
		if err != nil {
			t.Fatal(err)
		}
		if out, err := h.Wait(t.Context()); out != "silent" || err != nil {
			t.Errorf("%q, %v", out, err)
		}
		if took := time.Since(began); took < time.Second || took > 2*time.Second || rt.Stats().AttemptsLeaked != 0 {
			t.Errorf("took %v, %+v", took, rt.Stats())
		}
		if err := errors.Join(rt.Shutdown(t.Context()), there.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	})
}

// A program that ignores an interrupt is killed at the second one.
func TestChildProcess(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("needs a shell")
	}
	ctx, attempt := activitytest.New(t.Context(), activitytest.Options{})
	deaf := filepath.Join(t.TempDir(), "deaf")
	done := make(chan error)
	go func() {
		script := `trap '' INT; echo >"$0"; while :; do sleep 0.05; done`
		_, err := interrupt.Render(ctx, []string{"sh", "-c", script, deaf})
		done <- err
	}()
	for _, err := os.Stat(deaf); err != nil; _, err = os.Stat(deaf) {
		select {
		case err := <-done:
			t.Fatalf("ended with %v", err)
		case <-time.After(time.Millisecond):
		}
	}
	// The program may run before Render listens for interrupts. A missed interrupt is repeated, as a node does.
	for number := 1; ; number++ {
		attempt.Interrupt(number)
		select {
		case err := <-done:
			if err == nil || err.Error() != "sh: signal: killed" {
				t.Errorf("ended with %v", err)
			}
			return
		case <-time.After(time.Millisecond):
		}
	}
}
