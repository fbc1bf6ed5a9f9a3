package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/longtest"
)

// movedCount is how many instances move. Each has a long input, so that the file is larger than a pipe.
const movedCount = 300

// An export and an import are killed in the middle and repeated. Everything arrives once, and the source runs nothing on.
func TestKilledExportAndImport(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	source, target := newJobbing(t), newJobbing(t)
	program, name := binary(t), filepath.Join(t.TempDir(), "all.export")
	noise := make([]byte, 2000)
	random := rand.New(rand.NewPCG(1, 1))
	for i := range noise {
		noise[i] = byte('!' + random.IntN(90))
	}
	for _, h := range source.begin(Counting, "m-", string(noise), movedCount) {
		source.must(h.Raise(t.Context(), "tick", 1))
	}
	before := source.events(t.Context())
	export := []string{"export", "-", "--seal", "--yes", "--again", "--db", source.path}
	for _, part := range []int64{1, 100_000, 250_000} { // a pipe holds 64 KiB, so that the process is in the middle of the file
		cmd := exec.Command(program, export...)
		out, err := cmd.StdoutPipe()
		source.must(err)
		source.must(cmd.Start())
		_, err = io.CopyN(io.Discard, out, part)
		source.must(err)
		killed(t, cmd)
	}
	export[1] = name
	if out, err := exec.CommandContext(t.Context(), program, export...).CombinedOutput(); err != nil {
		t.Fatalf("export: %v\n%s", err, out)
	}
	data, err := os.ReadFile(name)
	source.must(err)
	if len(data) < 400_000 {
		t.Fatalf("the file has only %d bytes, so that no kill hits the middle", len(data))
	}
	for _, part := range []int{len(data) / 3, len(data) / 2, len(data) - 1} {
		cmd := exec.Command(program, "import", "-", "--db", target.path)
		in, err := cmd.StdinPipe()
		target.must(err)
		target.must(cmd.Start())
		_, err = io.Copy(in, bytes.NewReader(data[:part]))
		target.must(err)
		killed(t, cmd)
	}
	if out, err := exec.CommandContext(t.Context(), program, "import", name, "--db", target.path).CombinedOutput(); err != nil {
		t.Fatalf("import: %v\n%s", err, out)
	}
	source.man(1) // it has nothing to run
	source.ready(0)
	target.man(1)
	for d, err := range target.client.All(t.Context(), client.Filter{IDPrefix: "m-"}) {
		target.must(err)
		h := client.HandleOf[int](target.client, d.ID, d.Key)
		target.must(h.Raise(t.Context(), "tick", 0))
		if n, err := h.Wait(t.Context()); err != nil || n != 1 {
			t.Errorf("%s counted %d events, must be one: %v", d.ID, n, err)
		}
	}
	for _, j := range []*jobbing{source, target} {
		if n := j.count(t.Context(), client.Filter{IDPrefix: "m-"}); n != movedCount {
			t.Errorf("%d instances in %s, must be %d", n, j.path, movedCount)
		}
		j.dismiss()
		j.sound(t.Context())
	}
	if n := source.events(t.Context()); n != before {
		t.Errorf("the histories at the source have %d events, must have %d as before the export", n, before)
	}
	if err := source.client.Raise(t.Context(), "m-0", "tick", 0); !errors.Is(err, client.ErrMoved) {
		t.Errorf("an event to a moved instance: %v, must be %v", err, client.ErrMoved)
	}
}

// events counts the events in the histories of the instances that move.
func (j *jobbing) events(ctx context.Context) (n int) {
	j.t.Helper()
	for i := range movedCount {
		for _, err := range j.client.History(ctx, fmt.Sprint("m-", i), 1) {
			j.must(err)
			n++
		}
	}
	return n
}

// killed kills a process that must still run.
func killed(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.Exited() {
		t.Fatalf("the process ended before it was killed: %v", err)
	}
}
