package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/provider"
)

// endedOnes makes a store with n ended instances of 8 KiB each.
func endedOnes(t *testing.T, p *Provider, n int) {
	t.Helper()
	for k := range n {
		id := fmt.Sprint("i", k)
		key := provider.NewKey(id)
		_, err := p.Create(t.Context(), provider.CreateRequest{
			ID: id, Key: key, Name: "n", Commit: provider.NewKey("c" + id), Message: provider.NewMessage{Payload: make([]byte, 8<<10)},
		})
		if err != nil {
			t.Fatal(err)
		}
		req := provider.SteerRequest{Key: key, Action: provider.SteerTerminate, Commit: provider.NewKey("t" + id), Event: make([]byte, 8<<10)}
		if _, err := p.Steer(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
}

func bytesOf(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// A new file gives back the space of what was pruned, a part at a time.
func TestCompactGivesSpaceBack(t *testing.T) {
	longtest.Skip(t)
	path := filepath.Join(t.TempDir(), "a.db")
	p := openTest(t, path, Options{})
	endedOnes(t, p, 300)
	if _, err := p.Prune(t.Context(), provider.PruneRequest{}); err != nil {
		t.Fatal(err)
	}
	before, err := p.Compact(t.Context(), provider.CompactRequest{})
	if err != nil || before.Fixed || before.Freed != 0 || before.Free < 2<<20 {
		t.Fatalf("before: %+v %v, want more than 2 MiB free", before, err)
	}
	part, err := p.Compact(t.Context(), provider.CompactRequest{Bytes: 1 << 20})
	if err != nil || part.Freed < 1<<20 || part.Freed > 2<<20 {
		t.Fatalf("a part: %+v %v, want 1 MiB freed", part, err)
	}
	all, err := p.Compact(t.Context(), provider.CompactRequest{Bytes: 1 << 40})
	if err != nil || all.Free != 0 || all.Size+all.Freed+part.Freed != before.Size {
		t.Fatalf("all: %+v %v, want nothing free", all, err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if size := bytesOf(t, path); size != all.Size {
		t.Errorf("the file has %d bytes, want %d", size, all.Size)
	}
}

// A file of an older release has to be rebuilt once. Then it gives back space like a new one.
func TestCompactRebuilds(t *testing.T) {
	longtest.Skip(t)
	path := filepath.Join(t.TempDir(), "a.db")
	execSQL(t, path, "PRAGMA auto_vacuum = NONE", "CREATE TABLE own (a)")
	p := openTest(t, path, Options{})
	endedOnes(t, p, 300)
	if _, err := p.Prune(t.Context(), provider.PruneRequest{}); err != nil {
		t.Fatal(err)
	}
	old, err := p.Compact(t.Context(), provider.CompactRequest{Bytes: 1 << 40})
	if err != nil || !old.Fixed || old.Freed != 0 || old.Free < 2<<20 {
		t.Fatalf("before: %+v %v, want a file that gives nothing back", old, err)
	}
	built, err := p.Compact(t.Context(), provider.CompactRequest{Rebuild: true})
	if err != nil || built.Fixed || built.Free > 1<<16 || built.Freed < 2<<20 {
		t.Fatalf("rebuilt: %+v %v, want at least 2 MiB freed", built, err)
	}
	endedOnes(t, p, 10)
	if got, err := p.Count(t.Context(), provider.CountRequest{}); err != nil || got.Count != 10 {
		t.Errorf("%+v %v after the rebuild, want 10 instances", got, err)
	}
}
