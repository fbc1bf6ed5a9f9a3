package replay

import "github.com/perdure/perdure/internal/failure"

// A history of this length still works and costs memory and time: its reader is told so.
const (
	warnEvents = 4_096
	warnBytes  = 4 << 20
)

// long tells whether the history is worth a warning.
func (x *Execution) long() bool { return x.length >= warnEvents || x.size >= warnBytes }

// warn suggests to continue as new, once in the life of the execution: not on replay, and
// only when what makes the history long is stored.
func (x *Execution) warn() {
	if x.warned || x.end != nil || !x.long() {
		return
	}
	x.warned = true
	told(func() {
		x.log().Warn("history gets long: continue as new now and then",
			"events", x.length, "bytes", x.size, "max_events", x.settings.MaxEvents, "max_bytes", x.settings.MaxBytes)
	})
}

// admitLength refuses what would make the history too long, with an input or value of
// size bytes. What is reserved for the end is open to detached scopes, in which code cleans up.
func (s *Scope) admitLength(size int) error {
	x := s.x
	maxEvents, maxBytes := x.settings.MaxEvents, x.settings.MaxBytes
	if !s.detached || x.settings.Flags&flagScopes == 0 {
		maxEvents, maxBytes = maxEvents-reservedEvents, maxBytes-reservedBytes
	}
	if x.length >= maxEvents {
		return x.env.Errors.New(failure.ErrHistoryFull,
			"history has %d events of at most %d: continue as new before it gets so long", x.length, x.settings.MaxEvents)
	}
	if x.settings.MaxBytes > 0 && x.size+int64(size) > maxBytes {
		return x.env.Errors.New(failure.ErrHistoryFull,
			"history has %d bytes of at most %d: continue as new before it gets so long", x.size, x.settings.MaxBytes)
	}
	return nil
}
