package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
)

// spy notes what top asks of a store.
type spy struct {
	*provider.Full

	mu    sync.Mutex
	wrong []string
	stats int
}

func (s *spy) notef(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrong = append(s.wrong, fmt.Sprintf(format, args...))
}

func (s *spy) Stats(ctx context.Context, req provider.StatsRequest) (provider.StatsResult, error) {
	s.mu.Lock()
	s.stats++
	s.mu.Unlock()
	if req != (provider.StatsRequest{Waiting: true}) {
		s.notef("stats %+v", req)
	}
	return s.Full.Stats(ctx, req)
}

func (s *spy) List(ctx context.Context, req provider.ListRequest) (provider.ListResult, error) {
	s.notef("list")
	return s.Full.List(ctx, req)
}

func (s *spy) Count(ctx context.Context, req provider.CountRequest) (provider.CountResult, error) {
	s.notef("count")
	return s.Full.Count(ctx, req)
}

func (s *spy) Get(ctx context.Context, req provider.GetRequest) (provider.GetResult, error) {
	s.notef("get")
	return s.Full.Get(ctx, req)
}

func (s *spy) Record(ctx context.Context, req provider.RecordRequest) (provider.RecordResult, error) {
	if req.Action != provider.RecordGet && req.Action != provider.RecordScan {
		s.notef("record action %d", req.Action)
	}
	return s.Full.Record(ctx, req)
}

// Top reads records and what waits, once each time, and changes nothing.
func TestHazard165_TopReadsRecordsAndWhatWaits(t *testing.T) {
	store := memory.New(memory.Options{})
	t.Cleanup(func() { _ = store.Close() })
	s := &spy{Full: provider.FullOf(store)}
	c, err := client.New(s, client.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	seen, err := readTop(t.Context(), c)
	if err != nil || seen.Figures == nil || seen.Queues == nil {
		t.Fatalf("%+v, %v", seen, err)
	}
	if len(s.wrong) > 0 || s.stats != 1 {
		t.Errorf("top asked for stats %d times, and for %q", s.stats, s.wrong)
	}
}

// A store that fails or is slow is asked less often, and never more than a tenth of the time. What was shown stays.
func TestHazard165_TopBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		began, n, slow := time.Now(), 0, time.Duration(0)
		var at []time.Duration
		var out strings.Builder
		err := followTop(ctx, &out, func(context.Context) (*topSeen, error) {
			at = append(at, time.Since(began))
			n++
			switch {
			case n >= 3 && n <= 6:
				return nil, errors.New("no answer")
			case n == 8:
				slow = 3 * time.Second
				time.Sleep(slow)
			}
			return &topSeen{Figures: &client.Figures{}, Queues: []operate.QueueInfo{{Queue: fmt.Sprintf("queue-%d", n)}}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		want := []int{0, 5, 10, 20, 40, 80, 140, 145, 175, 180}
		for i, seconds := range want {
			if w := time.Duration(seconds) * time.Second; at[i] != w {
				t.Fatalf("read %d came after %v, want %v (all: %v)", i+1, at[i], w, at[:len(want)])
			}
		}
		screens := strings.Split(out.String(), "\x1b[H\x1b[2J")
		if failed := screens[3]; !strings.Contains(failed, "Reading has failed, trying again in 10s: no answer") || !strings.Contains(failed, "queue-2") {
			t.Errorf("after a failure: %s", failed)
		}
		if again := screens[7]; strings.Contains(again, "failed, trying") || !strings.Contains(again, "queue-7") {
			t.Errorf("after the failures: %s", again)
		}
	})
}

// Ctrl-C ends top at once and without an error, also while it reads.
func TestHazard165_TopEndsCleanly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, read := range map[string]func(context.Context) (*topSeen, error){
			"waits": func(context.Context) (*topSeen, error) { return &topSeen{Figures: &client.Figures{}}, nil },
			"reads": func(ctx context.Context) (*topSeen, error) { <-ctx.Done(); return nil, ctx.Err() },
		} {
			ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
			began := time.Now()
			if err := followTop(ctx, io.Discard, read); err != nil || time.Since(began) != 7*time.Second {
				t.Errorf("%s: %v after %v", name, err, time.Since(began))
			}
			cancel()
		}
	})
}

// What is not known is not zero.
func TestTopSaysWhatItDoesNotKnow(t *testing.T) {
	one := &client.FiguresCounts{Started: 1}
	var w grid
	topTable(&w, &topSeen{Figures: &client.Figures{Points: []client.FiguresPoint{
		{Known: client.FiguresAll, Counts: one},
		{Known: client.FiguresPart, Counts: one},
		{Known: client.FiguresAll, Counts: one},
		{Known: client.FiguresAll, Counts: one},
		{Known: client.FiguresAll, Counts: one},
		{Known: client.FiguresNone},
	}}})
	var out strings.Builder
	if err := w.flush(&out); err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(text, "starts unknown 4 or more 5 or more") ||
		!strings.Contains(text, "What waits in queues is not known") || !strings.Contains(text, "No node is listed.") {
		t.Errorf("%s", out.String())
	}
}

// Long names and changes are cut, so that each line fits a terminal of 80 columns.
func TestTopFitsTheTerminal(t *testing.T) {
	long := strings.Repeat("a long name ", 20)
	at := time.Date(2026, 11, 29, 12, 34, 0, 0, time.UTC)
	f := &client.Figures{
		From: at, Until: at, LeftOut: at, Silent: []string{long}, Points: []client.FiguresPoint{{At: at}, {At: at.Add(time.Minute)}},
		Marks:      []client.FiguresMark{{At: at, Text: long}},
		Activities: []client.ActivityFigure{{Activity: long, Completed: 1e6, Failed: 1e6, Retried: 1e6, Measured: 1, P50: 12345678 * time.Microsecond, P99: time.Hour}},
	}
	load := &operate.NodeLoad{Turns: 1000, TurnSlots: 1000, Activities: 1000, ActivitySlots: 1000}
	var w grid
	topTable(&w, &topSeen{
		Figures: f, Nodes: []operate.NodeInfo{{Owner: long, Load: load}}, Queues: []operate.QueueInfo{{Queue: long, Waiting: 1e6, Oldest: at}},
	})
	var out strings.Builder
	if err := w.flush(&out); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if n := columnsOf(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if !strings.Contains(out.String(), "12:35") {
		t.Errorf("no time of the last minute: %s", out.String())
	}
}
