package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/leaktest"
	"github.com/perdure/perdure/provider/sqlite"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// shop runs the tutorial's program in a separate process.
type shop struct {
	t     *testing.T
	exe   string
	dir   string
	cmd   *exec.Cmd
	lines *bufio.Scanner
	all   []string
}

func (s *shop) start() {
	s.t.Helper()
	s.cmd = exec.CommandContext(s.t.Context(), s.exe)
	s.cmd.Dir = s.dir
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.lines = bufio.NewScanner(out)
}

// see waits for a line that contains the text.
func (s *shop) see(text string) {
	s.t.Helper()
	for s.lines.Scan() {
		s.all = append(s.all, s.lines.Text())
		if strings.Contains(s.lines.Text(), text) {
			return
		}
	}
	s.t.Fatalf("the program ended before it printed %q:\n%s", text, strings.Join(s.all, "\n"))
}

// stored waits until the history holds so many events of a kind. A reader waits a second instead.
func (s *shop) stored(kind string, count int) {
	s.t.Helper()
	for {
		n := 0
		store, err := sqlite.Open(filepath.Join(s.dir, "shop.db"))
		if err != nil {
			s.t.Fatal(err)
		}
		c, err := client.New(store, client.Options{})
		if err != nil {
			s.t.Fatal(err)
		}
		for e, err := range c.History(s.t.Context(), "order-42", 0) {
			if err != nil {
				s.t.Fatal(err)
			}
			if e.Kind == kind {
				n++
			}
		}
		if err := store.Close(); err != nil {
			s.t.Fatal(err)
		}
		if n >= count {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// kill is kill -9.
func (s *shop) kill() {
	s.t.Helper()
	if err := s.cmd.Process.Kill(); err != nil {
		s.t.Fatal(err)
	}
	for s.lines.Scan() {
		s.all = append(s.all, s.lines.Text())
	}
	_ = s.cmd.Wait() // it was killed
}

// The test does the same steps as the tutorial, in the same order.
func TestTutorial(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for the carrier, 10 s")
	}
	dir := t.TempDir()
	s := &shop{t: t, dir: dir, exe: filepath.Join(dir, "shop")}
	if runtime.GOOS == "windows" {
		s.exe += ".exe"
	}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", s.exe, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s.start()
	s.see("reserve lamp")
	s.stored("ActivityCompleted", 1)
	s.kill()
	s.start()
	s.see("process")
	approve := exec.CommandContext(t.Context(), s.exe, "approve")
	approve.Dir = dir
	if out, err := approve.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s.see("charge 4200 cents")
	s.stored("ActivityCompleted", 2) // otherwise charge would rightly run again
	s.kill()
	s.start()
	s.see("{Shelf:shelf 7 Payment:payment 1 Parcel:parcel 99}")
	if err := s.cmd.Wait(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "shop.db")); err != nil {
		t.Error(err)
	}
	printed := strings.Join(s.all, "\n")
	t.Logf("all that was printed:\n%s", printed)
	for _, step := range []string{"reserve", "charge", "ship"} {
		if n := strings.Count(printed, step); n != 1 {
			t.Errorf("%s was printed %d times", step, n)
		}
	}
}
