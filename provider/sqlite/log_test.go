package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
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
