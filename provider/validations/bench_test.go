package validations

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/perdure/perdure/provider"
)

// measured runs a load a few times, in virtual time, against a memory store broken by mutate.
func measured(t *testing.T, l load, callers int, mutate func(*mutant)) (err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := newMutant()
		mutate(m)
		r := &round{p: m, callers: callers}
		if err = r.begin(t.Context(), l); err == nil {
			err = r.run(t.Context(), 3*tasksOfTurn+7)
		}
		if err == nil {
			err = r.verify(t.Context())
		}
		if err == nil && len(r.took) != 3*tasksOfTurn+7 {
			err = fmt.Errorf("%d operations were measured", len(r.took))
		}
		if failed := m.Provider.Close(); failed != nil {
			t.Error(failed)
		}
	})
	return err
}

func TestBenchMeasuresMemory(t *testing.T) {
	t.Parallel()
	for _, l := range loads() {
		for _, callers := range l.callers {
			t.Run(fmt.Sprint(l.name, "/", callers), func(t *testing.T) {
				t.Parallel()
				if err := measured(t, l, callers, func(*mutant) {}); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// A provider that returns success and stores nothing would have the best figures.
func TestBenchGivesNoFigureForWorkThatIsNotStored(t *testing.T) {
	t.Parallel()
	forgets := map[string]func(m *mutant, nth int){
		"create": func(m *mutant, nth int) {
			m.create = func(ctx context.Context, req provider.CreateRequest) (provider.CreateResult, error) {
				if nth--; nth == 0 {
					return provider.CreateResult{Created: true}, nil
				}
				return m.Provider.Create(ctx, req)
			}
		},
		"send": func(m *mutant, nth int) {
			m.send = func(ctx context.Context, req provider.SendRequest) (provider.SendResult, error) {
				if nth--; nth == 0 {
					return provider.SendResult{}, nil
				}
				return m.Provider.Send(ctx, req)
			}
		},
		"step": forgetCommits,
		"life": forgetCommits,
		"task": func(m *mutant, nth int) {
			m.report = func(ctx context.Context, req provider.ReportTasksRequest) (provider.ReportTasksResult, error) {
				if nth--; nth <= 0 {
					return provider.ReportTasksResult{Items: make([]provider.TaskReportResult, 1)}, nil
				}
				return m.Provider.ReportTasks(ctx, req)
			}
		},
	}
	for _, l := range loads() {
		forget, ok := forgets[l.name]
		if !ok {
			continue
		}
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			if err := measured(t, l, 1, func(m *mutant) { forget(m, 290) }); err == nil {
				t.Error("Bench reported a figure for data that was not stored")
			}
		})
	}
}

func forgetCommits(m *mutant, nth int) {
	m.commit = func(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
		if nth--; nth <= 0 {
			return provider.CommitTurnResult{}, nil
		}
		return m.Provider.CommitTurn(ctx, req)
	}
}
