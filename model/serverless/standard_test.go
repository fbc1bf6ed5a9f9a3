package serverless_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/model/serverless"
	"github.com/perdure/perdure/orchestrationtest"
	"github.com/perdure/perdure/runtime"
)

// activity is an activity of a test: it gets and returns JSON.
type activity = func(context.Context, json.RawMessage) (json.RawMessage, error)

// played is one run of a document.
type played struct {
	document   *serverless.Document
	input      string
	activities map[string]activity
	events     map[string]string // name to payload, an hour apart, in the order of their names
	prepare    func(e *orchestrationtest.Env)

	output string // JSON
	fault  string // a part of the error
	took   time.Duration
}

// play runs a document by orchestrationtest, which replays each turn. Then it replays the history at each prefix.
func play(t *testing.T, p played, opts ...orchestrationtest.Option) {
	t.Helper()
	files, reg := fstest.MapFS{}, runtime.NewRegistry()
	register(t, reg)
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		register(t, e.Registry())
		for name, fn := range p.activities {
			orchestrationtest.ReplaceNamed(e, name, fn)
		}
		if p.prepare != nil {
			p.prepare(e)
		}
		in, err := serverless.NewInput(p.document, json.RawMessage(cmp.Or(p.input, "null")))
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		h := orchestrationtest.Start(e, serverless.Orchestration(), in)
		after := time.Hour
		for _, name := range slices.Sorted(maps.Keys(p.events)) {
			e.After(after, func() error { return h.Raise(e.Context(), name, json.RawMessage(p.events[name])) })
			after += time.Hour
		}
		out, err := h.Wait(e.Context())
		if took := time.Since(began); took < p.took || took > p.took+time.Second {
			t.Errorf("%s took %v, want %v", p.document.Name(), took, p.took)
		}
		checkEnd(t, p, out, err)
		f, err := h.ExportHistory(e.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if err := client.WriteHistory(&text, f); err != nil {
			t.Fatal(err)
		}
		files["one.history"] = &fstest.MapFile{Data: text.Bytes()}
	}, opts...)
	if !t.Failed() {
		orchestrationtest.Replay(t, files, reg, orchestrationtest.EveryPrefix())
	}
}

// checkEnd compares the end of an instance with what the test wants.
func checkEnd(t *testing.T, p played, out json.RawMessage, err error) {
	t.Helper()
	if p.fault != "" {
		var fault *serverless.Fault
		if !errors.As(err, &fault) || !strings.Contains(fault.Error(), p.fault) {
			t.Errorf("%s ended with %s, %v, want the fault %q", p.document.Name(), out, err, p.fault)
		}
		return
	}
	if err != nil || !sameJSON(t, string(out), p.output) {
		t.Errorf("%s ended with %s, %v, want %s", p.document.Name(), out, err, p.output)
	}
}

func register(t *testing.T, reg *runtime.Registry) {
	t.Helper()
	if err := serverless.Register(reg); err != nil {
		t.Fatal(err)
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var values [2]any
	for i, text := range []string{a, b} {
		if err := json.Unmarshal([]byte(text), &values[i]); err != nil {
			t.Fatal(err, text)
		}
	}
	x, err := json.Marshal(values[0])
	if err != nil {
		t.Fatal(err)
	}
	y, err := json.Marshal(values[1])
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Equal(x, y)
}

func parsed(t *testing.T, text string, uses ...*serverless.Document) *serverless.Document {
	t.Helper()
	d, err := serverless.Parse([]byte(text), uses...)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func standard(t *testing.T, name string, uses ...*serverless.Document) *serverless.Document {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "standard", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return parsed(t, string(text), uses...)
}

// returns is an activity that returns always the same.
func returns(out string) activity {
	return func(context.Context, json.RawMessage) (json.RawMessage, error) { return json.RawMessage(out), nil }
}

// echo is an activity that returns its input.
func echo(_ context.Context, in json.RawMessage) (json.RawMessage, error) { return in, nil }

// fails is an activity that fails n times with a status, and then returns.
func fails(n, status int, out string) activity {
	return func(context.Context, json.RawMessage) (json.RawMessage, error) {
		if n--; n >= 0 {
			return nil, &serverless.Fault{Type: serverless.TypeCommunication, Status: status, Title: "no pet"}
		}
		return json.RawMessage(cmp.Or(out, "null")), nil
	}
}

func TestStandardExamples(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{"register-customer": true}
	run := func(name string, p played) {
		seen[name] = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if p.document == nil {
				p.document = standard(t, name)
			}
			play(t, p)
		})
	}
	run("ctk-do", played{output: `{"colors": ["red", "green", "blue"]}`})
	run("ctk-flow-implicit", played{output: `{"colors": ["red", "green", "blue"]}`})
	run("ctk-flow-explicit", played{output: `{"colors": ["red", "green", "blue"]}`})
	run("ctk-for", played{
		input: `{"colors": ["red", "green", "blue"]}`, output: `{"processed": {"colors": ["red", "green", "blue"], "indexes": [0, 1, 2]}}`,
	})
	run("ctk-fork-compete", played{output: `{"colors": ["red"]}`})
	run("ctk-input-filtering", played{input: `{"user": {"claims": {"subject": "6Asn"}}}`, output: `{"playerId": "6Asn"}`})
	run("ctk-raise", played{fault: "Compliance Error (https://serverlessworkflow.io/errors/types/compliance, status 400) at /do/0/raiseError"})
	run("ctk-set", played{
		input: `{"configuration": {"size": {"width": 6}, "fill": {"red": 69}}}`, output: `{"shape": "circle", "size": {"width": 6}, "fill": {"red": 69}}`,
	})
	run("ctk-switch-match", played{input: `{"color": "red"}`, output: `{"colors": ["red"]}`})
	run("ctk-switch-default-implicit", played{input: `{"color": "yellow"}`, output: `{"color": "yellow"}`})
	run("ctk-switch-default-explicit", played{input: `{"color": "yellow"}`, output: `{"colors": ["yellow"]}`})
	notImplemented := "Not Implemented (https://serverlessworkflow.io/errors/not-implemented, status 500) at /do/0/notImplemented: " +
		"The workflow 'raise-not-implemented:0.1.0' is a work in progress and cannot be run yet"
	run("raise-inline", played{fault: notImplemented})
	run("raise-reusable", played{fault: notImplemented})
	run("switch-then-string", played{input: `{"orderType": "physical"}`, output: `{"inventory": "clear", "items": 1, "address": "Elmer St"}`})
	run("wait-duration-inline", played{input: `1`, output: `1`, took: 30 * time.Second})
	run("wait-duration-iso8601", played{input: `1`, output: `1`, took: 30 * time.Second})
	run("conditional-task", played{input: `{"customer": {"age": 17}}`, fault: "Access Forbidden"})
	t.Run("of age", func(t *testing.T) {
		t.Parallel()
		play(t, played{
			document: standard(t, "conditional-task"), input: `{"customer": {"age": 18}, "bet": 5}`, activities: map[string]activity{"placeBet": echo},
			output: `{"customer": {"age": 18}, "bet": 5}`,
		})
	})
	run("listen-to-one", played{
		events:     map[string]string{"com.virtual-wf-powered-race.events.race.started.v1": `{"race": 7}`},
		activities: map[string]activity{"startCar": echo}, output: `[{"race": 7}]`, took: time.Hour,
	})
	vitals := map[string]string{"com.fake-hospital.vitals.measurements.temperature": `39`, "com.fake-hospital.vitals.measurements.bpm": `120`}
	run("listen-to-all", played{events: vitals, output: `[120, 39]`, took: 2 * time.Hour})
	run("listen-to-any", played{events: vitals, output: `[120]`, took: time.Hour})
	run("run-subflow", played{
		document: standard(t, "run-subflow", standard(t, "register-customer")), input: `{"user": "ann"}`,
		activities: map[string]activity{"register": echo}, output: `{"customer": "ann"}`,
	})
	run("try-catch", played{input: `"in"`, activities: map[string]activity{"getPet": fails(1, 404, "")}, output: `"in"`})
	run("try-catch-then", played{
		activities: map[string]activity{"getPet": fails(1, 404, ""), "buyPet": echo},
		output: `{"error": {"type": "https://serverlessworkflow.io/spec/1.0.0/errors/communication", "status": 404, "title": "no pet",
			"instance": "/do/0/tryGetPet/try/0/getPet"}}`,
	})
	run("try-catch-retry-inline", played{
		activities: map[string]activity{"getPet": fails(5, 503, `"pet"`)}, output: `"pet"`, took: (3 + 6 + 12 + 24 + 48) * time.Second,
	})
	run("try-catch-retry-reusable", played{
		activities: map[string]activity{"getPet": fails(6, 503, `"pet"`)}, fault: "no pet", took: (3 + 6 + 12 + 24 + 48) * time.Second,
	})
	files, err := filepath.Glob("testdata/standard/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if name := strings.TrimSuffix(filepath.Base(f), ".yaml"); !seen[name] {
			t.Errorf("the example %s runs nowhere", name)
		}
	}
}
