//go:build unix

package durability

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// street is several shops on one file, each in its own process, and the only listener. All shops write to one pipe,
// which keeps their acknowledgements in order.
type street struct {
	t     *testing.T
	pipe  *os.File // the end that the shops write to
	shops []*exec.Cmd
	doors []io.WriteCloser
	spoke chan struct{} // a line came; filled if nobody waits for it
	ended chan struct{}

	mu    sync.Mutex
	heard []ack
	waits map[string]chan struct{} // for a line of the test itself
}

func newStreet(t *testing.T) *street {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s := &street{t: t, pipe: w, spoke: make(chan struct{}, 1), ended: make(chan struct{}), waits: make(map[string]chan struct{})}
	go s.listen(r)
	t.Cleanup(s.leave)
	return s
}

// build adds a shop. command starts its process.
func (s *street) build(where string, command ...string) *exec.Cmd {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), command[0], command[1:]...)
	cmd.Env = append(os.Environ(), where)
	cmd.Stdout, cmd.Stderr = s.pipe, os.Stderr
	door, err := cmd.StdinPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	s.mu.Lock()
	s.doors = append(s.doors, door)
	s.mu.Unlock()
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.shops = append(s.shops, cmd)
	return cmd
}

// listen records the lines and lets another shop than the asking one approve, if there is one.
func (s *street) listen(r *os.File) {
	defer close(s.ended)
	defer r.Close() //nolint:errcheck // it was read to its end
	for lines := bufio.NewScanner(r); lines.Scan(); {
		line := lines.Text()
		t, err := parse(line)
		s.mu.Lock()
		switch {
		case err == nil:
			s.heard = append(s.heard, t)
		case s.waits[line] != nil:
			close(s.waits[line])
		default:
			s.t.Errorf("a shop says %q", line)
		}
		doors := s.doors
		s.mu.Unlock()
		if t.what == asking {
			_, _ = fmt.Fprintln(doors[len(s.heard)%len(doors)], line) // a shop that has ended does not reply
		}
		select {
		case s.spoke <- struct{}{}:
		default:
		}
	}
}

// hearMore waits for n more acknowledgements.
func (s *street) hearMore(n int) {
	s.t.Helper()
	for until := s.count() + n; s.count() < until; {
		select {
		case <-s.spoke:
		case <-s.t.Context().Done():
			s.t.Fatal("the shops have fallen silent")
		}
	}
}

func (s *street) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.heard)
}

// freeze stops all shops and returns their acknowledgements. On return none of their threads runs, and a line of the
// test has come through the pipe behind all of theirs.
func (s *street) freeze() []ack {
	s.t.Helper()
	for _, shop := range s.shops {
		if err := shop.Process.Signal(syscall.SIGSTOP); err != nil {
			s.t.Fatal(err)
		}
	}
	for _, shop := range s.shops {
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(shop.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
			s.t.Fatalf("a shop did not stop: status %v, %v", status, err)
		}
	}
	return s.all()
}

// all returns all acknowledgements so far.
func (s *street) all() []ack {
	s.t.Helper()
	through, line := make(chan struct{}), fmt.Sprintf("silence after %d", s.count())
	s.mu.Lock()
	s.waits[line] = through
	s.mu.Unlock()
	if _, err := fmt.Fprintln(s.pipe, line); err != nil {
		s.t.Fatal(err)
	}
	<-through
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waits, line)
	return slices.Clone(s.heard)
}

// thaw continues all shops.
func (s *street) thaw() {
	s.t.Helper()
	for _, shop := range s.shops {
		if err := shop.Process.Signal(syscall.SIGCONT); err != nil {
			s.t.Fatal(err)
		}
	}
}

// close lets all shops end.
func (s *street) close() {
	s.t.Helper()
	for _, door := range s.doors {
		_ = door.Close() // a shop that has ended has closed it
	}
	s.wait()
}

// wait waits for the end of all shops.
func (s *street) wait() {
	s.t.Helper()
	for _, shop := range s.shops {
		if err := shop.Wait(); err != nil {
			s.t.Errorf("%s: %v", strings.Join(shop.Args, " "), err)
		}
	}
	s.shops = nil
}

// leave ends what a failed test has left, and reads the pipe to its end.
func (s *street) leave() {
	for _, shop := range s.shops {
		_ = shop.Process.Kill()
		_ = shop.Wait()
	}
	_ = s.pipe.Close()
	<-s.ended
}
