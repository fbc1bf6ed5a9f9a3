package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// visited is a dashboard that runs until the test ends.
type visited struct {
	served

	t *testing.T
}

// visit runs a command that serves a dashboard.
func visit(t *testing.T, args ...string) *visited {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan exitCode, 1)
	var errs strings.Builder
	go func() {
		code := run(ctx, append(args, "--listen", "127.0.0.1:0", "-o", "json"), strings.NewReader(""), in, &errs)
		_ = in.Close()
		ended <- code
	}()
	v := &visited{t: t}
	err := json.NewDecoder(out).Decode(&v.served)
	go func() { _, _ = io.Copy(io.Discard, out) }()
	t.Cleanup(func() {
		stop()
		if code := <-ended; code != exitOK {
			t.Errorf("it ended with %d: %s", code, errs.String())
		}
	})
	if err != nil {
		t.Fatalf("%v: %s", err, errs.String())
	}
	return v
}

// A port in use is no riddle: the command names it, and says how to choose another one.
func TestPortInUse(t *testing.T) {
	t.Parallel()
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	address := taken.Addr().String()
	path := fixture(t)
	for _, args := range [][]string{{"dev"}, {"dashboard", "--db", path}} {
		code, stdout, stderr := perdure(t, "", append(args, "--listen", address)...)
		for _, says := range []string{"another process listens at " + address + " already", "choose another port with --listen", "--listen 127.0.0.1:0\n"} {
			if !strings.Contains(stderr, says) {
				t.Errorf("%q: no %q in %s", args, says, stderr)
			}
		}
		if code != exitUsage || stdout != "" {
			t.Errorf("%q: exit code %d: %s", args, code, stdout)
		}
		code, _, stderr = perdure(t, "", append(args, "--listen", "nowhere")...)
		if code != exitUsage || !strings.Contains(stderr, `--listen is "nowhere"`) || !strings.Contains(stderr, defaultListen) {
			t.Errorf("%q: exit code %d: %s", args, code, stderr)
		}
	}
}

// get returns a page, asked for with a token.
func (v *visited) get(path, token string) (status int, body string) {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), http.MethodGet, strings.TrimSuffix(v.URL, "/")+path, nil)
	if err != nil {
		v.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer res.Body.Close() //nolint:errcheck // it was read
	data, err := io.ReadAll(res.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return res.StatusCode, string(data)
}

// until waits until the metrics have a line that begins with each text.
func (v *visited) until(lines ...string) string {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.t.Context(), scriptTime)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		status, body := v.get("/metrics", v.Token)
		missing := ""
		for _, line := range lines {
			if !strings.Contains(body, "\n"+line) {
				missing = line
			}
		}
		if status == http.StatusOK && missing == "" {
			return body
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			v.t.Fatalf("status %d, and no line begins with %q:\n%s", status, missing, body)
		}
	}
}

// The dashboard of a store has the gauges of the store, also without a node, and counts nothing that it cannot know.
func TestDashboardMetrics(t *testing.T) {
	db := filepath.Join(t.TempDir(), "shop.db")
	o := startOperated(t, db)
	for _, flags := range [][]string{nil, {"--read-only"}} {
		v := visit(t, append([]string{"dashboard", "--db", o.db}, flags...)...)
		if status, body := v.get("/metrics", "wrong"); status != http.StatusUnauthorized || strings.Contains(body, "perdure_") {
			t.Errorf("with a wrong token: %d: %s", status, body)
		}
		body := v.until(`perdure_store_instances{status="running"} 5`, "perdure_store_blocked 0", "perdure_store_retrying 5", `perdure_store_unserved{kind="orchestration"} 0`)
		for _, unknown := range []string{"perdure_node_", "perdure_turn_", "perdure_orchestration_"} {
			if strings.Contains(body, unknown) {
				t.Errorf("there is no node in the process, and the metrics have %s:\n%s", unknown, body)
			}
		}
	}
}

// The sample shop has the metrics of its node and of its store.
func TestDevMetrics(t *testing.T) {
	v := visit(t, "dev")
	v.until(`perdure_orchestration_started_total{orchestration="Order"}`, `perdure_turn_blocked_total{orchestration="Bill"`,
		`perdure_store_instances{status="running"}`, `perdure_node_slots_limit{kind="turn"}`)
	status, body := v.get("/api/v1/instances", v.Token)
	if status != http.StatusOK || !strings.Contains(body, "order-1006") {
		t.Errorf("the shop: %d: %s", status, body)
	}
}
