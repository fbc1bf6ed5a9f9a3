package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/provider"
)

// A backup beside a writer is one state of the store: of instances that are created one after the other, it has the first n.
func TestBackupIsOneState(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, err := Open(filepath.Join(dir, "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	create := func(ctx context.Context, n int) error {
		id := fmt.Sprintf("i%05d", n)
		_, err := p.Create(ctx, provider.CreateRequest{
			ID: id, Key: provider.NewKey(id), Commit: newToken(), Name: "orc", Message: provider.NewMessage{Kind: 1, Payload: make([]byte, 2000)},
		})
		return err
	}
	const first = 500
	for n := range first {
		if err := create(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	begun, stop, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		for n := first; ; n++ {
			if n == first+1 {
				close(begun)
			}
			select {
			case <-stop:
				ended <- nil
				return
			default:
			}
			if err := create(context.WithoutCancel(t.Context()), n); err != nil {
				ended <- err
				return
			}
		}
	}()
	<-begun
	copied := filepath.Join(dir, "copy.db")
	if err := p.Backup(t.Context(), copied); err != nil {
		t.Errorf("Backup: %v", err)
	}
	close(stop)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := p.Backup(t.Context(), copied); !errors.Is(err, provider.ErrInvalid) {
		t.Errorf("a second backup to the same file returned %v, want ErrInvalid", err)
	}
	if _, err := os.Stat(copied + ".part"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the unfinished file is still there: %v", err)
	}
	q, err := Open(copied)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close() //nolint:errcheck // nothing was written
	count, err := q.Count(t.Context(), provider.CountRequest{})
	if err != nil || count.Count < first {
		t.Fatalf("the copy has %d instances and error %v, want at least %d", count.Count, err, first)
	}
	for n := range count.Count {
		if _, err := q.Get(t.Context(), provider.GetRequest{ID: fmt.Sprintf("i%05d", n)}); err != nil {
			t.Fatalf("instance %d of %d: %v", n, count.Count, err)
		}
	}
}

// A backup that is cut short leaves no file.
func TestBackupLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, err := Open(filepath.Join(dir, "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close() //nolint:errcheck // nothing was written
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Backup(ctx, filepath.Join(dir, "copy.db")); !errors.Is(err, context.Canceled) {
		t.Errorf("Backup returned %v, want context.Canceled", err)
	}
	if err := p.Backup(t.Context(), filepath.Join(dir, "none", "copy.db")); err == nil {
		t.Error("a backup into a missing directory succeeded")
	}
	if list, _ := filepath.Glob(filepath.Join(dir, "copy.db*")); len(list) > 0 {
		t.Errorf("there are %v, want nothing", list)
	}
}
