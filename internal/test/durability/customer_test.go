//go:build unix

package durability

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/invariant"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/sqlite"
)

// buying is the environment variable that makes a process a customer, which has a client and no node. Its value holds the
// file and the number of its first order.
const buying = "PERDURE_TEST_CUSTOMER"

// customer is the main function of that process. It orders until it is killed, and prints each acknowledgement as a line.
func customer(where string) int {
	err := func() error {
		path, number, _ := strings.Cut(where, "|")
		first, err := strconv.Atoi(number)
		if err != nil {
			return err
		}
		store, err := sqlite.OpenWith(path, sqlite.Options{Synchronous: sqlite.Off, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			return err
		}
		s := newShop(store, func(a ack) { fmt.Println(a.line()) }) //nolint:forbidigo // to the test that started the process
		s.repeats = true
		if s.client, err = client.New(store, client.Options{}); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // it is killed long before
		defer cancel()
		for i := first; err == nil; i++ {
			err = s.order(ctx, orderID("p", i))
		}
		return err
	}()
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// A client is killed at random moments, often before its call returns. The next one makes the same calls with the same
// IDs. No order exists twice, and no payment is received twice.
func TestKilledClientsCallAgain(t *testing.T) {
	t.Parallel()
	random := dice(t)
	path := filepath.Join(t.TempDir(), "store.db")
	store, err := sqlite.OpenWith(path, sqlite.Options{Synchronous: sqlite.Off, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close() //nolint:errcheck // nothing depends on its end
	var s *shop
	g := &gate{asked: make(map[string]ack), paid: make(map[string]bool), open: func(a ack) { s.asked <- a }}
	s = newShop(store, g.hear)
	node, err := s.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	clerk, closed := context.WithCancel(t.Context())
	defer closed()
	var clerks errgroup.Group
	clerks.Go(func() error { return s.approveAll(clerk) })
	complete, between := 0, 0
	for range longtest.Pick(10, 60) {
		acks := killedCustomer(t, g, path, complete, 1+random.IntN(10), time.Duration(random.IntN(2000))*time.Microsecond)
		for _, a := range acks {
			if a.what == ended {
				complete++
			}
		}
		if len(acks) > 0 && acks[len(acks)-1].what != ended {
			between++
		}
	}
	t.Logf("%d orders; %d customers were killed in the middle of one", complete, between)
	if complete == 0 || between == 0 {
		t.Error("the kills hit nothing")
	}
	s.repeats = true
	last := complete // the order of the last customer may be there or not
	if _, err := s.client.Describe(t.Context(), orderID("p", last)); err == nil {
		if err := s.order(t.Context(), orderID("p", last)); err != nil {
			t.Error(err)
		}
		last++
	} else if !errors.Is(err, client.ErrNotFound) {
		t.Fatal(err)
	}
	closed()
	if err := errors.Join(clerks.Wait(), shut(t.Context(), node)); err != nil {
		t.Error(err)
	}
	bought(t, store, last)
	sound(t, store, invariant.Options{Idle: true, Expect: done})
}

// gate holds an order back until a customer knows that it is paid. So an order whose customer was killed before still runs when
// the next one pays again.
type gate struct {
	open func(ack)

	mu    sync.Mutex
	asked map[string]ack
	paid  map[string]bool
}

func (g *gate) hear(a ack) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch a.what {
	case asking:
		g.asked[a.id] = a
	case paid:
		g.paid[a.id] = true
	}
	if of, ok := g.asked[a.id]; ok && g.paid[a.id] {
		delete(g.asked, a.id)
		g.open(of)
	}
}

// killedCustomer runs a customer, kills it some time after it has said enough, and returns all that it has said.
func killedCustomer(t *testing.T, g *gate, path string, first, enough int, more time.Duration) (heard []ack) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s|%d", buying, path, first))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	scan := func() bool {
		if !lines.Scan() {
			return false
		}
		a, err := parse(lines.Text())
		if err != nil {
			t.Error(err)
		}
		heard = append(heard, a)
		g.hear(a)
		return true
	}
	for speaks := true; speaks && len(heard) < enough; speaks = scan() {
		continue
	}
	pass(more)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for speaks := true; speaks; speaks = scan() { // what it has said before
		continue
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.Exited() {
		t.Fatalf("a customer ended before it was killed: %v", err)
	}
	return heard
}

// bought fails the test unless there are so many orders, each started once and paid once.
func bought(t *testing.T, store provider.Provider, orders int) {
	t.Helper()
	c, err := client.New(store, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	n := eachInstance(t, c, func(id string, events map[string]int) {
		for _, kind := range []history.Kind{history.KindExecutionStarted, history.KindEventReceived, history.KindExecutionCompleted} {
			if events[kind.String()] != 1 {
				t.Errorf("order %s has %d events %v, must be one", id, events[kind.String()], kind)
			}
		}
	})
	if n != orders {
		t.Errorf("%d orders, must be %d", n, orders)
	}
}
