package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure/examples/order"
	"github.com/perdure/perdure/internal/testkit/longtest"
)

// runDemo runs the real binary, which starts and kills real workers.
func runDemo(t *testing.T, temp string, args ...string) (stdout string) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), binary(t), append([]string{"demo"}, args...)...)
	cmd.Env = append(os.Environ(), "TMPDIR="+temp)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, &out, &errs)
	}
	for line := range strings.Lines(errs.String()) {
		// On a busy machine a worker may warn about a slow store.
		if !strings.Contains(line, " WRN ") {
			t.Errorf("standard error must be empty: %s", line)
		}
	}
	return out.String()
}

func mustSay(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("the output must say %q:\n%s", part, text)
		}
	}
}

// Without flags the demo leaves nothing behind.
func TestDemo(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	temp := t.TempDir()
	out := runDemo(t, temp)
	mustSay(t, out, "The lease is 2s", "killed with SIGKILL", "raised approval", "perdure-demo.Pack resumes after step",
		"perdure-demo.Reserve attempt 1 fails", "ActivityCompleted  of 2 perdure-demo.Reserve on attempt 2", "ExecutionCompleted",
		"The order was shipped")
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

// Refused orders are undone. Demos can run one after another on a kept database, even one with an unfinished order
// of an interrupted demo.
func TestDemoOfRefusedOrders(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	temp := t.TempDir()
	path := filepath.Join(temp, "demo.db")
	store, err := (&app{}).openForDemo(t.Context(), file(path))
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := perdure(t, "", "start", order.ProcessName, "--id", "o 1-left", "--input", defaultOrder, "--db", path); code != exitOK {
		t.Fatal(stderr)
	}
	for _, c := range []struct {
		order string
		says  []string
	}{
		{`{"id":"o 1","customer":"Bob","decline":true,"items":[{"sku":"tv","quantity":1,"unit_cents":59900}]}`, []string{
			"perdure-demo.Charge attempt 1 fails", "payment: charging Bob: card declined", "undone: unpack, then release stock", "perdure-demo.Unpack", "perdure-demo.Release",
		}},
		{`{"id":"o 1","customer":"Eve","items":[{"sku":"tv","quantity":100,"unit_cents":59900}]}`, []string{
			"approval: the total of 59900.00 is not below 10000.00", "undone: unpack, then release stock",
		}},
	} {
		out := runDemo(t, temp, "--db", path, "--lease", "500ms", "--order", c.order)
		mustSay(t, out, append(c.says, "The order was refused", "perdure list --db "+path)...)
	}
	code, stdout, stderr := perdure(t, "", "list", "--name", order.ProcessName, "--status", "completed", "--db", path)
	if code != exitOK || strings.Count(stdout, "o 1-") != 2 {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}
