// Package storage makes a node's calls to its provider: with a timeout, repeated with a backoff, counted and logged when they fail.
package storage

import (
	"context"
	crand "crypto/rand"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/dispatcher/internal/storetime"
	"github.com/perdure/perdure/internal/bubble"
	"github.com/perdure/perdure/internal/observing"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/provider"
)

// CallTimeout is the timeout of a call that does not wait for work.
const CallTimeout = 30 * time.Second

// FetchWait is how long a fetch may block in the provider until there is work.
const FetchWait = 30 * time.Second

// Waiting returns a context for a call that may block in the provider for wait.
func Waiting(ctx context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
	return bubble.Timeout(ctx, wait+CallTimeout)
}

// MaxFetch bounds the instances and tasks of one fetch, so that one node does not take all of a burst from the others.
const MaxFetch = 64

// Store is the provider of a node, and what the node knows of it. The methods may be called from several goroutines at once.
type Store struct {
	*provider.Full

	Clock      storetime.Clock
	Errors     atomic.Int64 // failed calls
	LeasesLost atomic.Int64 // as the provider or the node found

	lease  time.Duration
	logger *slog.Logger
	watch  *observing.Hub
}

// New returns the store of a node whose leases have the given length.
func New(p provider.Provider, lease time.Duration, logger *slog.Logger, watch *observing.Hub) *Store {
	return &Store{Full: provider.FullOf(observing.Timed(p, watch)), lease: lease, logger: logger, watch: watch}
}

// NewToken draws a token or commit ID that nobody can guess: 128 random bits, where a UUID of version 4 has 122.
func NewToken() (token provider.UUID) {
	_, _ = crand.Read(token[:]) // never fails
	return token
}

// Backoff returns the delay before a call is repeated: 50 ms doubling to 5 s, with jitter.
func Backoff(failures int) time.Duration {
	delay := min(50*time.Millisecond<<min(failures, 10), 5*time.Second)
	return delay/2 + rand.N(delay/2)
}

// Pause waits for d or until ctx is finished. It reports whether d has passed.
func Pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Refused reports whether a call failed without an effect and will fail again.
func Refused(err error) bool {
	return err != nil && provider.OutcomeOf(err) == provider.OutcomeNothing && !provider.Retryable(err)
}

// Failed counts and logs a call that failed for a reason outside of the contract.
func (s *Store) Failed(what string, failures int, err error) {
	s.Errors.Add(1)
	if failures == 1 || failures%20 == 0 {
		s.logger.Warn("storage does not answer: trying again", "call", what, "failures", failures, "err", err)
	}
}

// FetchAgain deals with a failed fetch. If the provider may have leased something, undo releases it: nobody on this node runs it.
// FetchAgain then waits for the backoff, and reports whether the loop is to fetch again.
func (s *Store) FetchAgain(fetching context.Context, what string, failures int, err error, undo func()) bool {
	if fetching.Err() != nil || errors.Is(err, provider.ErrClosed) {
		return false
	}
	s.Failed(what, failures, err)
	if provider.OutcomeOf(err) == provider.OutcomeUnknown {
		undo()
	}
	return Pause(fetching, Backoff(failures))
}

// Release ends the leases of turns in the given way. It repeats the call until the leases would have expired. It reports whether the store
// has taken it.
func (s *Store) Release(ctx context.Context, items ...provider.TurnRelease) (taken bool) {
	deadline := time.Now().Add(s.lease)
	for failures := 1; ; failures++ {
		call, cancel := context.WithTimeout(ctx, CallTimeout)
		_, err := s.ReleaseTurns(call, provider.ReleaseTurnsRequest{Items: items})
		cancel()
		if err == nil || Refused(err) { // an item whose lease is lost belongs to another node
			return err == nil
		}
		s.Failed("release turns", failures, err)
		if time.Now().After(deadline) || !Pause(ctx, Backoff(failures)) {
			return false
		}
	}
}

// Report reports the ends of attempts. It repeats the call until it succeeds: a storage outage must not lose a finished result. The
// token decides whether a report counts, and makes its repetition harmless. It reports whether the store has taken all of them. A lease
// that is gone at a repeat was most likely ended by the try before, whose outcome is not known.
func (s *Store) Report(ctx context.Context, items ...provider.TaskReport) (taken bool) {
	doubtful := false
	for failures := 1; ; failures++ {
		call, cancel := context.WithTimeout(ctx, CallTimeout)
		res, err := s.ReportTasks(call, provider.ReportTasksRequest{Items: items})
		cancel()
		switch {
		case err == nil:
			s.Clock.Set(res.Now)
			taken = true
			for i := range items {
				err := res.Items[i].Err // the contract has one result for each
				if doubtful && errors.Is(err, provider.ErrLeaseLost) {
					continue
				}
				s.Reported(&items[i], err)
				taken = taken && err == nil
			}
			return taken
		case Refused(err):
			for i := range items {
				s.Reported(&items[i], err)
			}
			return false
		}
		s.Failed("report task", failures, err)
		doubtful = doubtful || provider.OutcomeOf(err) != provider.OutcomeNothing
		if !Pause(ctx, Backoff(failures)) {
			return false
		}
	}
}

// LeaseLost counts a lease that was lost while an attempt ran, or before its report.
func (s *Store) LeaseLost(when string) {
	s.LeasesLost.Add(1)
	s.watch.Report(observe.Event{Kind: observe.LeaseLost, Reason: when})
}

// Reported counts and logs a report that the provider refused. err is nil if it took the report.
func (s *Store) Reported(item *provider.TaskReport, err error) {
	switch {
	case err == nil:
	case errors.Is(err, provider.ErrLeaseLost):
		s.LeaseLost("report")
	default:
		s.logger.Error("report of an activity refused", "task", item.EventID, "key", item.Key, "err", err)
	}
}
