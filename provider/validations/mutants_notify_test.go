package validations

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/perdure/perdure/provider"
)

// Notify implements provider.Notifier.
func (m *mutant) Notify(fn func(provider.Notice)) (stop func()) { return m.notify(fn) }

func brokenNotify() []brokenRule {
	return []brokenRule{
		{name: "the end of an execution concerns one task", caught: "notify/ended", breaks: notifies(namesEvent)},
		{name: "cancelled tasks cause no notice", caught: "notify/cancelled", breaks: notifies(tellsOfEndsOnly)},
		{name: "a suspension causes a notice", caught: "notify/nothing-else", breaks: tellsOfSuspensions},
		{name: "stop does not wait for a running function", caught: "notify/stop", breaks: stopsAtOnce},
	}
}

// notifies passes on notices as change returns them.
func notifies(change func(*provider.Notice) bool) func(*mutant) {
	return func(m *mutant) {
		notify := m.notify
		m.notify = func(fn func(provider.Notice)) func() {
			return notify(func(n provider.Notice) {
				if change(&n) {
					fn(n)
				}
			})
		}
	}
}

func namesEvent(n *provider.Notice) bool {
	n.EventID = max(n.EventID, 1)
	return true
}

func tellsOfEndsOnly(n *provider.Notice) bool { return n.EventID == 0 }

func tellsOfSuspensions(m *mutant) {
	var mu sync.Mutex
	var fns []func(provider.Notice)
	notify := m.notify
	m.notify = func(fn func(provider.Notice)) func() {
		mu.Lock()
		defer mu.Unlock()
		fns = append(fns, fn)
		return notify(fn)
	}
	m.steer.after(func(req provider.SteerRequest, res *provider.SteerResult, err *error) {
		mu.Lock()
		defer mu.Unlock()
		for _, fn := range fns {
			if req.Action == provider.SteerSuspend && *err == nil {
				fn(provider.Notice{Key: res.Instance.Key, Execution: res.Instance.Execution})
			}
		}
	})
}

func stopsAtOnce(m *mutant) {
	notify := m.notify
	m.notify = func(fn func(provider.Notice)) func() {
		stop := notify(fn)
		return func() { go stop() }
	}
}

// steps are the steps of a schema that is up to date.
func steps() []provider.Migration {
	return []provider.Migration{{Version: 1, Name: "first", SQL: "one", Applied: true}, {Version: 2, Name: "second", SQL: "two", Applied: true}}
}

// Migrations implements provider.Migrator, although memory has no schema.
func (m *mutant) Migrations(context.Context) ([]provider.Migration, error) {
	return m.migrations(), nil
}

// Migrate implements provider.Migrator.
func (m *mutant) Migrate(context.Context) error { return m.migrate() }

func brokenMigrate() []brokenRule {
	return []brokenRule{
		{name: "steps are listed in no order", caught: "migrate/listed", breaks: func(m *mutant) {
			m.migrations = func() []provider.Migration {
				list := steps()
				slices.Reverse(list)
				return list
			}
		}},
		{name: "the last step is never applied", caught: "migrate/again", breaks: func(m *mutant) {
			m.migrations = func() []provider.Migration {
				list := steps()
				list[1].Applied = false
				return list
			}
		}},
		{name: "migrations at the same time fail", caught: "migrate/at-once", racing: true, breaks: migratesAlone},
	}
}

func migratesAlone(m *mutant) {
	var running atomic.Int64
	m.migrate = func() error {
		running.Add(1)
		window()
		alone := running.Load() == 1
		window()
		running.Add(-1)
		if !alone {
			return errors.New("table exists already")
		}
		return nil
	}
}
