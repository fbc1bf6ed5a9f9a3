package otel_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/otel"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

// workerVariable makes the test binary a worker. Its value is a worker in JSON.
const workerVariable = "PERDURE_TEST_OTEL_WORKER"

// worker says what a worker process does.
type worker struct {
	Store string `json:"store"` // its file
	Spans string `json:"spans"` // the file that it exports to
	Hang  string `json:"hang"`  // the activity that does not return; "": none
	Cache int    `json:"cache"` // see runtime.CacheOptions.Executions
	Bytes int    `json:"bytes"`
}

// file exports spans to a file, each as a line that one call writes. So what was exported stays when the process is killed.
type file struct{ name string }

// ExportSpans implements trace.SpanExporter.
func (f file) ExportSpans(_ context.Context, spans []trace.ReadOnlySpan) error {
	to, err := os.OpenFile(f.name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer to.Close() //nolint:errcheck // Write reports it
	for _, s := range spans {
		line, err := json.Marshal(exportedOf(s))
		if err != nil {
			return err
		}
		if _, err := to.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// Shutdown implements trace.SpanExporter.
func (file) Shutdown(context.Context) error { return nil }

// observer returns an observer that exports to the file.
func (f file) observer() (*otel.Observer, *trace.TracerProvider, error) {
	provider := trace.NewTracerProvider(trace.WithSyncer(f))
	o, err := otel.New(otel.Options{TracerProvider: provider})
	return o, provider, err
}

// runWorker is the main function of a worker process.
func runWorker(of string) error {
	var w worker
	if err := json.Unmarshal([]byte(of), &w); err != nil {
		return err
	}
	return w.run()
}

// run runs orders until standard input ends. It says on standard output when it takes work, and when an activity hangs.
func (w *worker) run() error {
	ctx := context.Background()
	store, err := sqlite.Open(w.Store)
	if err != nil {
		return err
	}
	o, _, err := file{w.Spans}.observer()
	if err != nil {
		return err
	}
	reg := runtime.NewRegistry()
	err = errors.Join(
		runtime.AddOrchestration(reg, orchestration.Define("order", order)),
		runtime.AddOrchestration(reg, orchestration.Define("ship", func(ctx *octx, n int) (int, error) {
			return orchestration.CallActivityNamed[int](ctx, "send", n)
		})),
		runtime.AddActivity(reg, activity.Define("charge", func(ctx context.Context, n int) (int, error) {
			w.hang(ctx, "charge")
			if activity.GetInfo(ctx).Attempt == 1 {
				return 0, errNo
			}
			return n, nil
		})),
		runtime.AddActivity(reg, activity.Define("send", func(ctx context.Context, n int) (int, error) {
			w.hang(ctx, "send")
			return n, nil
		})),
	)
	if err != nil {
		return err
	}
	opts := runtime.Options{Observer: o, Logger: slog.New(slog.DiscardHandler), Cache: runtime.CacheOptions{Executions: w.Cache, Bytes: w.Bytes}}
	rt, err := runtime.Start(ctx, store, reg, opts)
	if err != nil {
		return err
	}
	say("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return errors.Join(rt.Shutdown(ctx), store.Close())
}

// say tells the process of the test something.
func say(what string) { _, _ = io.WriteString(os.Stdout, what+"\n") }

// hang says that an activity hangs, and does, if it is to.
func (w *worker) hang(ctx context.Context, name string) {
	if w.Hang == name {
		say("hangs")
		<-ctx.Done()
	}
}

// process is a worker process.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.Closer
	lines chan string // of its standard output; closed when that ends
}

// launch starts a worker process and waits until it takes work.
func (w *worker) launch(t *testing.T) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, cmd: exec.Command(self), lines: make(chan string, 100)}
	p.cmd.Env, p.cmd.Stderr = append(os.Environ(), workerVariable+"="+string(data)), os.Stderr
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	})
	go func() {
		defer close(p.lines)
		for in := bufio.NewScanner(out); in.Scan(); {
			p.lines <- in.Text()
		}
	}()
	p.says("ready")
	return p
}

// says waits until the process has said something.
func (p *process) says(what string) {
	p.t.Helper()
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				p.t.Fatalf("the worker has ended, and did not say %q", what)
			}
			if line == what {
				return
			}
		case <-limit.C:
			p.t.Fatalf("the worker did not say %q", what)
		}
	}
}

// kill ends the process by SIGKILL, so that none of its code runs any more.
func (p *process) kill() {
	p.t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	p.exits()
}

// exits waits until the process has exited.
func (p *process) exits() {
	for range p.lines {
		continue
	}
	_ = p.cmd.Wait()
}

// stop lets the process shut down.
func (p *process) stop() {
	p.t.Helper()
	_ = p.stdin.Close()
	for range p.lines {
		continue
	}
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("the worker: %v", err)
	}
}

// spans returns what has been exported so far.
func (w *worker) spans(t *testing.T) []exported {
	t.Helper()
	text, err := os.ReadFile(w.Spans)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	end := bytes.LastIndexByte(text, '\n') + 1
	lines := strings.Split(string(text[:end]), "\n")
	spans, err := parse(lines[:len(lines)-1])
	if err != nil {
		t.Fatal(err)
	}
	return spans
}
