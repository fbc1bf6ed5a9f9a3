package sealing

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/history"
)

// faultAge is how long a fault shows after it was last seen.
const faultAge = 5 * time.Minute

// maxFaultKeys bounds the keys that a fault names.
const maxFaultKeys = 20

// Faults remembers what a process could not seal or open lately. Many goroutines may use it at once. A nil one remembers nothing.
type Faults struct {
	codec   bool // the process has one, which tells of keys that are missing
	mu      sync.Mutex
	outage  error              // of the last call of the codec, or why it was not called; nil: it answered
	outAt   time.Time          // when outage was seen
	keys    map[string]missing // keys that are missing
	damaged time.Time          // when damaged bytes were seen last
	damage  string
}

// answered notes that the codec has answered.
func (f *Faults) answered() {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.outage = nil
}

// failed notes that the codec did not answer, or that the store does not allow what it seals.
func (f *Faults) failed(err error) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.outage, f.outAt = err, time.Now()
}

// Note notes the error of what could not be read, if it is a history.SealedError.
func (f *Faults) Note(err error) {
	sealed, ok := errors.AsType[*history.SealedError](err)
	if f == nil || !ok {
		return
	}
	if sealed.Damage == "" {
		if !f.codec { // else it may be an outage of that
			f.missing(sealed.Key, "")
		}
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.damaged, f.damage = time.Now(), sealed.Error()
}

// missing is what is known of a key that is missing.
type missing struct {
	seen time.Time // last
	why  string    // what the codec says; "": there is none
}

// missing notes that there is no key of an ID, or another one.
func (f *Faults) missing(key, why string) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.keys == nil {
		f.keys = make(map[string]missing)
	}
	if _, known := f.keys[key]; known || len(f.keys) < maxFaultKeys {
		f.keys[key] = missing{time.Now(), why}
	}
}

// ErrCodec means that a process cannot encrypt or decrypt payloads.
var ErrCodec = errors.New("payloads cannot be encrypted or decrypted")

// Err returns what is wrong now or was within the last minutes; nil: nothing. It is an ErrCodec.
func (f *Faults) Err() error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []error
	if f.outage != nil && time.Since(f.outAt) < faultAge {
		found = append(found, f.outage)
	}
	maps.DeleteFunc(f.keys, func(_ string, m missing) bool { return time.Since(m.seen) >= faultAge })
	found = append(found, f.missed()...)
	if f.damage != "" && time.Since(f.damaged) < faultAge {
		found = append(found, errors.New(f.damage)) //nolint:err113 // it is part of an ErrCodec
	}
	if len(found) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrCodec, errors.Join(found...))
}

// missed tells of the keys that are missing.
func (f *Faults) missed() (found []error) {
	var none []string
	for _, key := range slices.Sorted(maps.Keys(f.keys)) {
		if why := f.keys[key].why; why != "" {
			found = append(found, fmt.Errorf("this node cannot decrypt what key %q has encrypted: %s", key, why)) //nolint:err113 // part of an ErrCodec
		} else {
			none = append(none, key)
		}
	}
	if len(none) > 0 {
		found = append(found, fmt.Errorf("this node has no codec for key %s", strings.Join(none, ", "))) //nolint:err113 // part of an ErrCodec
	}
	return found
}
