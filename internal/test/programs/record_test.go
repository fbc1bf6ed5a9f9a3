package programs

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/fastpath"
	"github.com/perdure/perdure/internal/testkit/recorded"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

var (
	recordTo   = flag.String("programs.record", "", "the file to which TestRecord records the turns of the drawn programs")
	recordSize = flag.Int("programs.size", 0, "about how many bytes that file may have, with streams that differ; 0: it has all")
)

// code is the source of a recorded stream: the code that its node had.
type code struct {
	Seed    uint64  `json:"seed"`
	Mode    string  `json:"mode"`
	Older   bool    `json:"older,omitempty"` // the release without the patches
	Program Program `json:"program"`
}

// TestRecord records the turns of programs: of nodes that rebuild each execution, of such nodes that are killed, and first turns. The file in
// testdata was recorded at 7cb3e6f4, the commit before the core of the engine became functions of data, with -programs.count=400 and
// -programs.size=340000. To compare a change with the commit before it, record all there, and play the file here:
//
//	go test ./internal/test/programs -run '^TestRecord$' -programs.count=400 -programs.record=FILE
//	go test ./internal/test/programs -run '^TestRecordedTurns$' -programs.play=FILE
//
// A change that is to change what turns store gets an entry in changes, or a new file.
func TestRecord(t *testing.T) {
	if *recordTo == "" {
		t.Skip("records only with -programs.record")
	}
	var streams []*recorded.Stream
	logSeeds(t, drawn())
	for i := range drawn() {
		seed := *firstSeed + uint64(i)
		for _, m := range recordedModes() {
			synctest.Test(t, func(t *testing.T) {
				r := &run{
					mode: m, store: memory.New(memory.Options{}), Rand: chances(m.name, seed), sum: &tally{},
					moment: time.Second, lease: 30 * time.Second, limit: time.Hour, record: true,
				}
				if m.name == "first" {
					r.beginOnly(t, generate(seed))
				} else if what := differs(t, r, generate(seed)); what != "" {
					t.Errorf("seed %d, %s: %s", seed, m.name, what)
				}
				for _, recorder := range r.recorders {
					if s := recorder.Stream(); len(s.Turns) > 0 {
						streams = append(streams, named(t, s, seed, m.name))
					}
				}
			})
		}
	}
	if *recordSize > 0 {
		streams = recorded.Diverse(streams, *recordSize)
	}
	if err := recorded.Write(*recordTo, streams); err != nil {
		t.Fatal(err)
	}
}

func recordedModes() []mode {
	uncached := []runtime.Options{recorded.Options()}
	return []mode{{name: "uncached", opts: uncached}, {name: "killed", opts: uncached, kills: 5}, {name: "first", opts: uncached}}
}

// recording returns a recorder of a node.
func (r *run) recording(store provider.Provider, release *runtime.Registry) provider.Provider {
	recorder := recorded.NewRecorder(store, code{Older: release == r.older, Program: *r.code[0]})
	r.recorders = append(r.recorders, recorder)
	return recorder
}

// named adds the seed and the mode to the source of a stream.
func named(t *testing.T, s *recorded.Stream, seed uint64, mode string) *recorded.Stream {
	t.Helper()
	var of code
	err := json.Unmarshal(s.Source, &of)
	of.Seed, of.Mode = seed, mode
	if err == nil {
		s.Source, err = json.Marshal(of)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// beginOnly starts a program through its node, and ends it at once.
func (r *run) beginOnly(t *testing.T, p Program) {
	t.Helper()
	ctx := t.Context()
	var err error
	if r.house, err = newHouse(r.store, &p, r.moment, nil); err != nil {
		t.Fatal(err)
	}
	r.steady = true
	rt, err := runtime.Start(fastpath.Without(ctx, recorded.Off(true)), r.recording(r.store, r.newer), r.newer, recorded.Options())
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait() // the node knows the time of the store then
	c, err := client.New(r.store, client.Options{Errors: r.newer.Errors(), Node: rt.Node(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	h, err := client.StartNamed[[]string](ctx, c, nameExecute, Input{}, client.WithID("main"))
	if err == nil {
		err = h.Terminate(ctx, "its first turn is recorded")
	}
	if err != nil && !errors.Is(err, client.ErrEnded) {
		t.Error(err)
	}
	pause(ctx, time.Minute) // a node that shuts down ends its turns in another way
	if err := rt.Shutdown(context.WithoutCancel(ctx)); err != nil {
		t.Error(err)
	}
	if err := r.store.Close(); err != nil {
		t.Error(err)
	}
}
