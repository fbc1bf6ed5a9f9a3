package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/provider"
)

func sizeOf(tb testing.TB, path string) int64 {
	tb.Helper()
	info, err := os.Stat(path)
	if err != nil {
		tb.Fatal(err)
	}
	return info.Size()
}

func TestLogGetsRoomInAdvance(t *testing.T) {
	path := filepath.Join(t.TempDir(), "room.db")
	p := openTest(t, path, Options{})
	for i := range logAfter {
		create(t, p, fmt.Sprint("instance-", i), "nobody")
	}
	await(t, "a longer log", func() bool { return sizeOf(t, path+"-wal") >= logRoom })
	for i := range logAfter {
		create(t, p, fmt.Sprint("later-", i), "nobody")
	}
	if size := sizeOf(t, path+"-wal"); size > logRoom+logStep {
		t.Errorf("the log has %d bytes: commits did not use its room", size)
	}
}

// The log is copied into the file when there are no calls, before a commit would have to.
func TestLogIsCopiedWhenNobodyCalls(t *testing.T) {
	path := filepath.Join(t.TempDir(), "copied.db")
	p := openTest(t, path, Options{})
	const size, count = 1 << 20, 5
	if pages := size * count / 4096; pages < checkpointAfter || pages > checkpointAt*3/4 {
		t.Fatalf("%d pages prove nothing", pages)
	}
	for i := range count {
		_, err := p.Create(t.Context(), provider.CreateRequest{
			ID: fmt.Sprint("large-", i), Key: newKey(), Commit: newToken(), Name: "nobody", Message: provider.NewMessage{Payload: make([]byte, size)},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	// On a slow machine there is also a lull before the last of them, which is not copied then.
	await(t, "the copy", func() bool { return sizeOf(t, path) >= checkpointAfter*4096 })
}
