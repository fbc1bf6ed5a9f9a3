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

// Nobody is told of anything before the system was asked to push its commit to the disk, and has answered: seen in the system calls of a
// process that works, and tells over a pipe.
//
// It needs strace, and is skipped where that is not installed or cannot trace, also in CI: TestNobodyIsToldBeforeTheSync sees the
// same from inside of the process everywhere. What this one adds is that a sync of SQLite is one of the system, of the very file
// that was written, and of the directory in which the log was made.
func TestNobodyIsToldBeforeTheSystemHasSynced(t *testing.T) {
	t.Parallel()
	strace := tracer(t)
	t.Run("full", func(t *testing.T) {
		t.Parallel()
		trace := traced(t, strace, sqlite.Full, enough)
		careful(t, audit(trace))
		linked(t, trace)
	})
	// What is told too early is seen.
	t.Run("normal", func(t *testing.T) {
		t.Parallel()
		careless(t, audit(traced(t, strace, sqlite.Normal, 20)), toldEarly)
	})
	t.Run("off", func(t *testing.T) {
		t.Parallel()
		careless(t, audit(traced(t, strace, sqlite.Off, enough)), toldEarly, movedEarly, anewEarly)
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

// longest is more than a process writes by one call.
const longest = 256 << 10

// traced runs a shop under strace until it has done its orders.
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

// linked fails the test if the directory was not synced between the first write to the log and the first that was told: a file that no
// directory names is lost.
func linked(t *testing.T, trace []step) {
	t.Helper()
	dir := ""
	for _, s := range trace {
		switch {
		case s.deed == wrote && strings.HasSuffix(s.file, "-wal") && dir == "":
			dir = filepath.Dir(s.file)
		case s.deed == synced && s.file == dir:
			return
		case s.deed == tells:
			t.Error("told before the log was in its directory for good")
			return
		}
	}
}

// The end of a line, behind what was written.
var (
	// Such as: , 4096, 32) = 4096
	// or:      , 4096, 32 <unfinished ...>
	// The result is ? if the process ended meanwhile.
	wholeCall = regexp.MustCompile(`^(?:, \d+(?:, (\d+))?)?(?:\) += (-?\d+|\?).*| <unfinished \.\.\.>)$`)
	// Such as: <... fsync resumed>) = 0.
	restOfCall = regexp.MustCompile(`^<\.\.\. \w+ resumed>.*\) += (-?\d+|\?)`)
)

// readCalls reads what strace has seen, in that order: it sees a call before the system does it, and its end before the thread goes on.
func readCalls(r io.Reader) (trace []step, err error) {
	open := make(map[string]step) // calls that go on, by thread
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
			if s.sync = n; s.deed == syncing || s.deed == tells {
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

// begun reads what a call is about to do, such as: pwrite64(5</store.db>, "\x41", 1, 4096) = 1. The result is empty if that is told later.
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
	case fd == "1": // one line, by one call
		s.deed = tells
		s.told, err = parse(strings.TrimSuffix(string(s.data), "\n"))
	}
	return s, m[2], err
}

// returned adds what a call did. One that failed did nothing.
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

// unhex reads \x41\x42.
func unhex(text string) ([]byte, error) {
	return hex.DecodeString(strings.ReplaceAll(text, `\x`, ""))
}

// Calls that overlap are put together, and what failed did not happen.
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
		got += fmt.Sprintf("%d %s %d %s%s;", s.deed, s.file, s.at, s.data, s.told.mark())
	}
	want := fmt.Sprintf("%d /x-wal 0 -;%d /x-wal 32 AB-;%d /x-wal 0 -;%d x 0 paid-a00001\npaid-a00001;%d /x-wal 0 -;", syncing, wrote, synced, tells, syncing)
	if err != nil || got != want {
		t.Errorf("got  %q, %v\nwant %q", got, err, want)
	}
}
