package order

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/perdure/perdure/activity"
)

// Ledger stands for external services. It applies each effect once and keeps a list of all attempts. Several
// processes may use one directory.
//
// An effect is a file named by its idempotency key, which only one call can create. The list is a file of JSON
// lines.
type Ledger struct {
	dir string
	mu  sync.Mutex // keeps lines of this process apart
}

// Entry is one line of the list.
type Entry struct {
	At       time.Time `json:"at"`
	PID      int       `json:"pid"`
	Instance string    `json:"instance"`
	Activity string    `json:"activity"`
	Event    int64     `json:"event"` // event that scheduled the activity
	Attempt  int       `json:"attempt"`
	Delivery int       `json:"delivery"`
	What     string    `json:"what"` // one of the constants below
	Key      string    `json:"key,omitempty"`
}

// The values of Entry.What.
const (
	EntryAttempt = "attempt" // user code began
	EntryEffect  = "effect"  // the effect was applied
	EntryRepeat  = "repeat"  // it had been applied before
)

const listName = "ledger.jsonl"

// OpenLedger opens or creates the ledger in a directory.
func OpenLedger(dir string) (*Ledger, error) {
	if err := os.MkdirAll(filepath.Join(dir, "effects"), 0o750); err != nil {
		return nil, fmt.Errorf("opening ledger: %w", err)
	}
	return &Ledger{dir: dir}, nil
}

// Attempt records the start of an attempt of an activity.
func (l *Ledger) Attempt(ctx context.Context) error { return l.note(ctx, EntryAttempt, "") }

// Once applies the named effect of an activity call at most once over all attempts. A repeat returns nil, since the
// effect is applied.
func (l *Ledger) Once(ctx context.Context, name string) error {
	key := activity.IdempotencyKey(ctx) + "/" + name
	path := filepath.Join(l.dir, "effects", strings.ReplaceAll(key, "/", "."))
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return l.note(ctx, EntryRepeat, key)
	}
	if err != nil {
		return fmt.Errorf("applying effect %s: %w", key, err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("applying effect %s: %w", key, err)
	}
	return l.note(ctx, EntryEffect, key)
}

// note appends a line with a single write, so that lines of several processes do not mix.
func (l *Ledger) note(ctx context.Context, what, key string) error {
	info := activity.GetInfo(ctx)
	line, err := json.Marshal(Entry{
		At: time.Now().UTC(), PID: os.Getpid(), Instance: info.InstanceID, Activity: info.Activity, Event: info.EventID,
		Attempt: info.Attempt, Delivery: info.Deliveries, What: what, Key: key,
	})
	if err != nil {
		return fmt.Errorf("writing ledger: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	f, err := os.OpenFile(filepath.Join(l.dir, listName), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("writing ledger: %w", err)
	}
	_, err = f.Write(append(line, '\n'))
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("writing ledger: %w", err)
	}
	return nil
}

// Read returns the entries of an instance, oldest first.
func (l *Ledger) Read(instance string) ([]Entry, error) {
	data, err := os.ReadFile(filepath.Join(l.dir, listName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading ledger: %w", err)
	}
	var entries []Entry
	for line := range bytes.Lines(data) {
		var e Entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("reading ledger: line %q: %w", line, err)
		}
		if e.Instance == instance {
			entries = append(entries, e)
		}
	}
	return entries, nil
}
