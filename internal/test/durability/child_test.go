//go:build unix

package durability

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"

	"github.com/perdure/perdure/provider/sqlite"
)

// playing is the environment variable that makes a process a shop. Its value holds the file, the sync level, the name
// of the shop and its orders.
const playing = "PERDURE_TEST_DURABILITY"

// child is the main function of that process. It prints each acknowledgement as a line, in one write after the
// acknowledgement came. It reads which of the asking activities to approve. It ends with its orders, or when its input
// ends.
func child(where string) int {
	if err := play(context.Background(), where); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func play(ctx context.Context, where string) (err error) {
	path, sync, name, orders, err := split(where)
	if err != nil {
		return err
	}
	store, err := sqlite.OpenWith(path, sqlite.Options{Synchronous: sync, Logger: slog.New(slog.DiscardHandler)}) //nolint:contextcheck // opening takes none
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	s := newShop(store, func(t ack) {
		if _, err := io.WriteString(os.Stdout, t.line()+"\n"); err != nil {
			panic(err) // nobody listens, so there is nothing left to prove
		}
	})
	node, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shut(ctx, node)) }()
	work, end := context.WithCancel(ctx)
	defer end()
	go func() {
		defer end()
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			if t, err := parse(lines.Text()); err == nil {
				s.asked <- t
			}
		}
	}()
	if orders > 0 {
		return s.perform(work, name, orders)
	}
	return s.serve(work, name, customers, 0)
}

// shopAt returns the value of playing.
func shopAt(path string, sync sqlite.Synchronous, name string, orders int) string {
	return fmt.Sprintf("%s=%d|%s|%d|%s", playing, sync, name, orders, path)
}

func split(where string) (path string, sync sqlite.Synchronous, name string, orders int, err error) {
	fields := strings.SplitN(where, "|", 4)
	if len(fields) != 4 {
		return "", 0, "", 0, fmt.Errorf("%s: %q", playing, where)
	}
	level, err := strconv.Atoi(fields[0])
	if err == nil {
		orders, err = strconv.Atoi(fields[2])
	}
	return fields[3], sqlite.Synchronous(level), fields[1], orders, err
}
