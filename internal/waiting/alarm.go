package waiting

import (
	"log/slog"
	"time"

	"github.com/perdure/perdure/provider"
)

// Patience is how long work waits before an Alarm tells of it.
const Patience = 10 * time.Second

// Alarm says once that activities wait for something that does not come by itself: for a node that serves them, or for a place of their session.
// It says so again only after they were served in between. The zero value is ready for use. It is for one goroutine.
type Alarm struct {
	warned map[subject]bool
	full   map[subject]bool // at the last check, sessions waited for a place
}

// subject is what an Alarm tells of.
type subject struct {
	queue, name string
	reason      Reason
}

// Check compares what waits with the facts of the same moment.
func (a *Alarm) Check(f *Facts, tasks []provider.WaitingTasks, logger *slog.Logger) {
	if a.warned == nil {
		a.warned = make(map[subject]bool)
	}
	full := make(map[subject]bool)
	for i := range tasks {
		w := &tasks[i]
		if f.Now.Sub(w.Oldest) < Patience {
			continue
		}
		why := f.Why(Task{Queue: w.Queue, Name: w.Name})
		if why.Reason == NoNode {
			a.warn(subject{w.Queue, w.Name, NoNode}, "activities wait, and no node serves them", why, w, w.Count, f.Now, logger)
			continue
		}
		if w.InSession == 0 {
			continue
		}
		of := subject{w.Queue, w.Name, Session}
		if why = f.Why(Task{Queue: w.Queue, Name: w.Name, Session: "any"}); why.Reason != Session {
			continue
		}
		full[of] = true
		if a.full[of] { // at two checks in a row
			a.warn(of, "activities wait for a place of their session", why, w, w.InSession, f.Now, logger)
		}
	}
	a.full = full
	for of := range a.warned {
		if of.reason == NoNode && f.Served(of.queue, of.name) || of.reason == Session && !full[of] {
			delete(a.warned, of)
		}
	}
}

// warn logs what was not said yet.
func (a *Alarm) warn(of subject, message string, why Why, w *provider.WaitingTasks, count int64, now provider.Time, logger *slog.Logger) {
	if a.warned[of] {
		return
	}
	a.warned[of] = true
	logger.Warn(message, "queue", w.Queue, "activity", w.Name, "waiting", count, "oldest", now.Sub(w.Oldest).Round(time.Second), "why", why.Text)
}
