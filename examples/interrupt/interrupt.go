// Package interrupt shows activities that wait on calls without a context, and still return when they are
// cancelled.
package interrupt

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/orchestration"
)

// Gauge is a device whose protocol has no deadlines.
type Gauge struct {
	Dial func() (net.Conn, error)
}

// Read waits as long as the device is silent.
func (g *Gauge) Read(ctx context.Context, _ activity.None) (string, error) {
	conn, err := g.Dial()
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	stop := activity.OnInterrupt(ctx, func(int) { _ = conn.Close() })
	defer stop()
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return "", errors.Join(err, context.Cause(ctx))
	}
	return line, nil
}

// Render runs a program. An interrupt first asks the program to exit, so that it can remove its files. The next one
// kills it.
func Render(ctx context.Context, command []string) (activity.None, error) {
	cmd := exec.Command(command[0], command[1:]...) //nolint:noctx,gosec // a context would kill it at once
	if err := cmd.Start(); err != nil {
		return activity.None{}, err
	}
	stop := activity.OnInterrupt(ctx, func(attempt int) {
		if attempt == 1 {
			_ = cmd.Process.Signal(os.Interrupt)
			return
		}
		_ = cmd.Process.Kill()
	})
	defer stop()
	if err := cmd.Wait(); err != nil {
		return activity.None{}, fmt.Errorf("%s: %w", command[0], err)
	}
	return activity.None{}, nil
}

// timeout is short to show what follows it.
const timeout = 50 * time.Millisecond

// Measure returns "silent" if the device does not respond in time.
func Measure(ctx *orchestration.Context, g *Gauge) (string, error) {
	line, err := orchestration.CallActivity(ctx, g.Read, activity.None{}, orchestration.WithStartToCloseTimeout(timeout))
	if errors.Is(err, orchestration.ErrTimeout) {
		return "silent", nil
	}
	return line, err
}
