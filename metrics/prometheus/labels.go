package prometheus

import (
	"log/slog"
	"sync"
)

const (
	// other stands for all names that are not registered on a node of the process.
	other = "_other"
	// maxValues bounds the values of a label.
	maxValues = 200
)

// names are the values that a label may have.
type names struct {
	label  string
	logger *slog.Logger

	mu    sync.RWMutex
	known map[string]bool
	full  bool // a name was left out
}

func newNames(label string, logger *slog.Logger) *names {
	return &names{label: label, logger: logger, known: make(map[string]bool)}
}

// allow adds names, as long as there is room.
func (n *names) allow(all []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, name := range all {
		switch {
		case n.known[name]:
		case len(n.known) < maxValues-1: // other is a value, too
			n.known[name] = true
		case !n.full:
			n.full = true
			n.logger.Warn("a label has too many values: further ones are counted as "+other, "label", n.label, "limit", maxValues, "first", name)
		}
	}
}

// value returns a name as a value of the label.
func (n *names) value(name string) string {
	n.mu.RLock()
	defer n.mu.RUnlock()
	if n.known[name] {
		return name
	}
	return other
}
