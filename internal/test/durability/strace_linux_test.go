package durability

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/perdure/perdure/provider/sqlite"
)

// Nothing is acknowledged before the system has synced its commit to disk. The test sees that by strace, in the system
// calls of a process that reports over a pipe.
//
// The test is skipped where strace is not installed or cannot trace, also in CI. TestNobodyIsToldBeforeTheSync checks
// the same inside of the process everywhere. This test adds that a sync of SQLite is one of the system. It covers the
// written file and the directory of the log.
func TestNobodyIsToldBeforeTheSystemHasSynced(t *testing.T) {
	t.Parallel()
	strace := tracer(t)
	t.Run("full", func(t *testing.T) {
		t.Parallel()
		trace := traced(t, strace, sqlite.Full, enough)
		careful(t, audit(trace))
		linked(t, trace)
	})
	// The test finds early acknowledgements.
	t.Run("normal", func(t *testing.T) {
		t.Parallel()
		careless(t, audit(traced(t, strace, sqlite.Normal, 20)), ackedEarly)
	})
	t.Run("off", func(t *testing.T) {
		t.Parallel()
		careless(t, audit(traced(t, strace, sqlite.Off, enough)), ackedEarly, movedEarly, anewEarly)
	})
}

// tracer finds strace and tries it.
func tracer(t *testing.T) string {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("no strace: the system calls are not looked at; install it (Debian: apt-get install strace)")
	}
	if out, err := exec.CommandContext(t.Context(), strace, "-f", "--seccomp-bpf", "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		t.Skipf("strace cannot trace here: the system calls are not looked at: %v\n%s", err, out)
	}
	return strace
}

// longest is more than a process writes in one call.
const longest = 256 << 10

// traced runs a shop under strace until its orders are done.
func traced(t *testing.T, strace string, level sqlite.Synchronous, orders int) []step {
	t.Helper()
	dir := t.TempDir()
	calls := filepath.Join(dir, "calls")
	s := newStreet(t)
	s.build(shopAt(filepath.Join(dir, "store.db"), level, large, orders), strace, "-f", "--seccomp-bpf", "-qq", "-y", "-xx", "-s", strconv.Itoa(longest),
		"-e", "trace=write,pwrite64,fsync,fdatasync", "-e", "signal=none", "-o", calls, os.Args[0])
	s.wait()
	file, err := os.Open(calls)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // it is only read
	trace, err := readCalls(file)
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

// linked fails the test if the directory was not synced between the first write to the log and the first
// acknowledgement. A file without a directory entry is lost.
func linked(t *testing.T, trace []step) {
	t.Helper()
	dir := ""
	for _, s := range trace {
		switch {
		case s.deed == wrote && strings.HasSuffix(s.file, "-wal") && dir == "":
			dir = filepath.Dir(s.file)
		case s.deed == synced && s.file == dir:
			return
		case s.deed == acking:
			t.Error("acknowledged before the directory of the log was synced")
			return
		}
	}
}

// These match the end of a line, after the written data.
var (
	// It matches, for example, ", 4096, 32) = 4096" or ", 4096, 32 <unfinished ...>". The result is ? if the process
	// ended meanwhile.
	wholeCall = regexp.MustCompile(`^(?:, \d+(?:, (\d+))?)?(?:\) += (-?\d+|\?).*| <unfinished \.\.\.>)$`)
	// It matches, for example, "<... fsync resumed>) = 0".
	restOfCall = regexp.MustCompile(`^<\.\.\. \w+ resumed>.*\) += (-?\d+|\?)`)
)

// readCalls reads the output of strace in its order. strace sees a call before the system executes it, and its end
// before the thread continues.
func readCalls(r io.Reader) (trace []step, err error) {
	open := make(map[string]step) // calls in progress, by thread
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 8*longest)
	for n := 1; lines.Scan(); n++ {
		thread, call, _ := strings.Cut(lines.Text(), " ")
		call = strings.TrimLeft(call, " ")
		var result string
		if m := restOfCall.FindStringSubmatch(call); m != nil {
			result = m[1]
		} else {
			var s step
			if s, result, err = begun(call); err != nil {
				return nil, fmt.Errorf("line %d of strace: %w: %.200s", n, err, call)
			}
			if s.sync = n; s.deed == syncing || s.deed == acking {
				trace = append(trace, s)
			}
			open[thread] = s
		}
		if result != "" {
			trace = returned(trace, open[thread], result)
			delete(open, thread)
		}
	}
	return trace, lines.Err()
}

// begun reads the beginning of a call, for example pwrite64(5</store.db>, "\x41", 1, 4096) = 1. The result is empty if
// it comes in a later line.
func begun(text string) (s step, result string, err error) {
	call, rest, _ := strings.Cut(text, "(")
	fd, rest, _ := strings.Cut(rest, "<")
	file, rest, _ := strings.Cut(rest, ">")
	data := ""
	if quoted, ok := strings.CutPrefix(rest, `, "`); ok {
		data, rest, _ = strings.Cut(quoted, `"`)
	}
	m := wholeCall.FindStringSubmatch(rest)
	if m == nil {
		return s, "", errors.New("no call that is known here")
	}
	path, err := unhex(file)
	if err != nil {
		return s, "", err
	}
	s.file = string(path)
	if s.data, err = unhex(data); err != nil {
		return s, "", err
	}
	switch {
	case call == "pwrite64":
		s.deed = wrote
		s.at, err = strconv.ParseInt(m[1], 10, 64)
	case call == "fsync", call == "fdatasync":
		s.deed = syncing
	case fd == "1": // one line in one call
		s.deed = acking
		s.ack, err = parse(strings.TrimSuffix(string(s.data), "\n"))
	}
	return s, m[2], err
}

// returned adds the effect of a call. A failed call has none.
func returned(trace []step, s step, result string) []step {
	switch {
	case s.deed == wrote && result == strconv.Itoa(len(s.data)):
		return append(trace, s)
	case s.deed == syncing && result == "0":
		s.deed = synced
		return append(trace, s)
	}
	return trace
}

// unhex decodes \x41\x42.
func unhex(text string) ([]byte, error) {
	return hex.DecodeString(strings.ReplaceAll(text, `\x`, ""))
}

// Overlapping calls are joined, and failed calls have no effect.
func TestCallsAreRead(t *testing.T) {
	const file = `\x2f\x78\x2d\x77\x61\x6c`
	trace, err := readCalls(strings.NewReader(strings.Join([]string{
		`11 pwrite64(5<` + file + `>, "\x41\x42", 2, 32 <unfinished ...>`,
		`12 fdatasync(5<` + file + `> <unfinished ...>`,
		`11 <... pwrite64 resumed>) = 2`,
		`13 write(7<\x78>, "\x01", 1) = 1`,
		`12 <... fdatasync resumed>) = 0`,
		`13 write(1<\x78>, "\x70\x61\x69\x64\x2d\x61\x30\x30\x30\x30\x31\x0a", 12) = 12`,
		`13 fsync(5<` + file + `>) = -1 EIO (Input/output error)`,
		`12 write(7<\x78>, "\x01", 1) = ?`,
	}, "\n")))
	got := ""
	for _, s := range trace {
		got += fmt.Sprintf("%d %s %d %s%s;", s.deed, s.file, s.at, s.data, s.ack.mark())
	}
	want := fmt.Sprintf("%d /x-wal 0 -;%d /x-wal 32 AB-;%d /x-wal 0 -;%d x 0 paid-a00001\npaid-a00001;%d /x-wal 0 -;", syncing, wrote, synced, acking, syncing)
	if err != nil || got != want {
		t.Errorf("got  %q, %v\nwant %q", got, err, want)
	}
}
