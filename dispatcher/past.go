package dispatcher

import (
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/history"
)

// maxReason bounds the text of each failure in a list of attempts, in bytes.
const maxReason = 200

// listed returns the attempts so far, this one included, as many as the call asks for. f is why it failed, nil if it did not.
func (j *judge) listed(a *attempt, f *history.Failure) []history.Attempt {
	if a.call.Retry == nil || a.call.Retry.Listed <= 0 {
		return nil
	}
	own := history.Attempt{Number: a.number, Node: j.cfg.Owner, Began: int64(a.began), Ended: int64(j.clock.Now())}
	if f != nil {
		own.Failure = reason(f.Message)
	}
	list := append(slices.Clone(a.past), own)
	return list[max(0, len(list)-int(min(a.call.Retry.Listed, 1_000))):]
}

// reason is the beginning of a message: a panic's goes on with the stack.
func reason(message string) string {
	line, _, _ := strings.Cut(message, "\n")
	if len(line) > maxReason {
		line = strings.ToValidUTF8(line[:maxReason-3], "") + "..."
	}
	return line
}

// completed returns the end of a call whose activity returned.
func (j *judge) completed(a *attempt, output []byte) *history.ActivityCompleted {
	b := &history.ActivityCompleted{Scheduled: a.Ref.EventID, Output: output, Attempt: a.number}
	if len(a.past) > 0 {
		b.Attempts = j.listed(a, nil)
	}
	return b
}

// gaveUp returns the end of a call whose activity failed for good.
func (j *judge) gaveUp(a *attempt, f history.Failure) *history.ActivityFailed {
	b := &history.ActivityFailed{Scheduled: a.Ref.EventID, Failure: f, Attempt: a.number}
	if len(a.past) > 0 {
		b.Attempts = j.listed(a, &f)
	}
	return b
}

// triedAgain returns what is stored with a task that gets another attempt.
func (j *judge) triedAgain(a *attempt, f history.Failure) []byte {
	return history.EncodeRetried(history.Retried{Failure: f, Attempts: j.listed(a, &f)})
}

// recall takes over what was stored with the task. What cannot be read is of no use, and no reason not to run.
func (a *attempt) recall(stored []byte) {
	if len(stored) == 0 {
		return
	}
	if r, err := history.DecodeRetried(stored); err == nil {
		a.last, a.past = r.Failure, r.Attempts
	}
}
