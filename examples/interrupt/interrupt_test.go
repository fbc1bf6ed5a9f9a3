package interrupt_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure/activity/activitytest"
	"github.com/perdure/perdure/examples/interrupt"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
)

// A read without a context returns a second after the timeout, and nothing leaks.
func TestSilentDevice(t *testing.T) {
	t.Parallel()
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		here, there := net.Pipe()
		defer there.Close() //nolint:errcheck // nothing was written
		gauge := &interrupt.Gauge{Dial: func() (net.Conn, error) { return here, nil }}
		orchestrationtest.AddActivity(e, gauge.Read)
		measure := orchestration.Define("Measure", func(ctx *orchestration.Context, _ orchestration.None) (string, error) {
			return interrupt.Measure(ctx, gauge)
		})
		began := time.Now()
		if out, err := orchestrationtest.Start(e, measure, orchestration.None{}).Wait(e.Context()); out != "silent" || err != nil {
			t.Errorf("%q, %v", out, err)
		}
		if took := time.Since(began); took < time.Second || took > 2*time.Second {
			t.Errorf("took %v", took)
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
