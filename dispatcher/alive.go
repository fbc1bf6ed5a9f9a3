package dispatcher

import (
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/upgrade"
)

// Why a node is not alive, or takes no work.
var (
	errStopped      = errors.New("the node has stopped")
	errShuttingDown = errors.New("the node shuts down")
	errLoopsEnded   = errors.New("a loop that fetches work has ended: the store was closed")
)

// Alive returns why the process of the node should be restarted: it has stopped, there is too much leaked code, or a loop that fetches
// work has ended by itself. It returns nil for all other nodes. It reads memory only.
func (d *Dispatcher) Alive() error {
	select {
	case <-d.stopped:
		return errStopped
	default:
	}
	if err := d.Fatal(); err != nil {
		return err
	}
	if d.fetching.ended.Load() && !d.node.Stopping.Load() {
		return errLoopsEnded
	}
	return nil
}

// Accepting returns why the node takes no new work: it shuts down, drains or is drained. It returns nil for a node that does.
func (d *Dispatcher) Accepting() error {
	if d.node.Stopping.Load() {
		return errShuttingDown
	}
	if state := d.State(); state != upgrade.Running {
		return fmt.Errorf("an operator takes work off the node: it is %s", state)
	}
	return nil
}
