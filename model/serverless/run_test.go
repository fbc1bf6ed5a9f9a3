package serverless_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/model/serverless"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
	"github.com/perdure/perdure/runtime"
)

// hangs is an activity that ends with its context.
func hangs(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// slow is an activity that returns its input after a time.
func slow(d time.Duration) activity {
	return func(ctx context.Context, in json.RawMessage) (json.RawMessage, error) {
		select {
		case <-time.After(d):
			return in, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]struct {
		tasks string
		run   played
	}{
		"data": {"do:\n- a: {input: {from: .x}, set: '{y: $input, z: $task.input.x, r: $task.reference}', output: {as: '. + {o: $task.output.y}'}, export: {as: '{c: $output.o}'}}\n" +
			"- b: {set: '$context'}\ninput: {from: '{x: .i}'}\noutput: {as: '[., $context, $workflow.input.i]'}\n", played{input: `{"i": 1}`, output: `[{"c": 1}, {"c": 1}, 1]`}},
		"names": {
			"do:\n- a: {set: '[$workflow.definition.document.name, $runtime.name, $task.name, $task.definition.metadata.m, $workflow.startedAt.epoch.seconds == (now | floor), $task.startedAt.iso8601]', metadata: {m: 1}}\n",
			played{output: `["doc", "perdure", "a", 1, true, "2000-01-01T00:00:00Z"]`},
		},
		"exit":            {"do:\n- a: {do: [{b: {set: {x: 1}, then: exit}}, {c: {set: {x: 2}}}]}\n- d: {set: '. + {y: 1}'}\n", played{output: `{"x": 1, "y": 1}`}},
		"end":             {"do:\n- a: {for: {in: '[1, 2]'}, do: [{b: {do: [{c: {set: {x: 1}, then: end}}]}}]}\n- d: {set: {y: 1}}\noutput: {as: '[.]'}\n", played{output: `[{"x": 1}]`}},
		"skipped":         {"do:\n- a: {if: 'false', set: {x: 1}, then: end}\n- b: {set: '{was: .}'}\n", played{input: `5`, output: `{"was": 5}`}},
		"while":           {"do:\n- a: {for: {each: n, at: i, in: '[5, 6, 7]'}, while: '$i < 2', do: [{b: {set: '(. // []) + [$n]'}}]}\n", played{output: `[5, 6]`}},
		"for nobody":      {"do:\n- a: {for: {in: '[]'}, do: [{b: {set: {}}}]}\n", played{input: `3`, output: `3`}},
		"for what":        {"do:\n- a: {for: {in: '5'}, do: [{b: {set: {}}}]}\n", played{fault: "/errors/expression, status 400) at /do/0/a: for.in is no list"}},
		"wait by data":    {"do:\n- a: {wait: '${ \"PT\\(.n)S\" }'}\n", played{input: `{"n": 7}`, output: `{"n": 7}`, took: 7 * time.Second}},
		"wait badly":      {"do:\n- a: {wait: '${ .n }'}\n", played{input: `{"n": 7}`, fault: "at /do/0/a: the result is no text with a duration"}},
		"input of a call": {"do:\n- a: {call: act}\n", played{input: `{"n": 7}`, activities: map[string]activity{"act": echo}, output: `{"n": 7}`}},
		"exact integers":  {"do:\n- a: {call: act}\n- b: {set: '. + 1'}\n", played{activities: map[string]activity{"act": returns("9007199254740993")}, output: `9007199254740994`}},
		"failed call": {"do:\n- a: {call: act}\n", played{
			activities: map[string]activity{"act": func(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, errors.New("no") }},
			fault:      "the activity act failed (https://serverlessworkflow.io/spec/1.0.0/errors/communication, status 500) at /do/0/a: no",
		}},
		"expression fails": {
			"do:\n- a: {try: [{b: {set: '.x.y.z'}}], catch: {errors: {with: {status: 400}}, as: e, do: [{c: {set: '$e.type + \" \" + $e.instance'}}]}}\n",
			played{input: `{"x": 1}`, output: `"https://serverlessworkflow.io/spec/1.0.0/errors/expression /do/0/a/try/0/b"`},
		},
		"not caught": {
			"do:\n- a: {try: [{b: {call: act}}], catch: {when: '$error.status == 500', do: [{c: {set: {}}}]}}\n",
			played{activities: map[string]activity{"act": fails(1, 503, "")}, fault: "no pet"},
		},
		"excepted": {
			"do:\n- a: {try: [{b: {call: act}}], catch: {exceptWhen: '$error.status == 503', do: [{c: {set: {}}}]}}\n",
			played{activities: map[string]activity{"act": fails(1, 503, "")}, fault: "no pet"},
		},
		"retries are over": {
			"do:\n- a: {try: [{b: {call: act}}], catch: {retry: {delay: PT2S, backoff: {linear: {}}, limit: {attempt: {count: 2}}}, do: [{c: {set: '[$error.status]'}}]}}\n",
			played{activities: map[string]activity{"act": fails(9, 503, "")}, output: `[503]`, took: 6 * time.Second},
		},
		"time for retries is over": {
			"do:\n- a: {try: [{b: {call: act}}], catch: {retry: {delay: PT2S, limit: {duration: PT5S}}}}\n",
			played{activities: map[string]activity{"act": fails(9, 503, "")}, fault: "no pet", took: 4 * time.Second},
		},
		"no retry of that": {
			"use: {retries: {r: {when: '$error.status == 1'}}}\ndo:\n- a: {try: [{b: {call: act}}], catch: {as: e, retry: r, do: [{c: {set: '$e.status'}}]}}\n",
			played{activities: map[string]activity{"act": fails(9, 503, "")}, output: `503`},
		},
		"errors inside of errors": {
			"do:\n- a: {try: [{b: {raise: {error: {type: x, status: 1}}}}], catch: {do: [{c: {try: [{d: {raise: {error: {type: x, status: 2}}}}], " +
				"catch: {as: e, when: '$error.status == 1', retry: {when: '$error.status == 2'}, do: [{f: {set: '[$error.status, $e.status]'}}]}}}]}}\n",
			played{output: `[1, 2]`},
		},
		"attempt": {
			"do:\n- a: {try: [{b: {call: act}}], catch: {retry: {delay: PT1S, limit: {attempt: {count: 1, duration: PT10S}}}, do: [{c: {set: '$error.status'}}]}}\n",
			played{activities: map[string]activity{"act": hangs}, output: `408`, took: 21 * time.Second},
		},
		"timeout": {
			"use: {timeouts: {soon: {after: PT10S}}}\ndo:\n- a: {try: [{b: {timeout: soon, try: [{c: {call: act}}], catch: {do: [{d: {set: never}}]}}}], catch: {do: [{e: {set: '[$error.status, $error.instance]'}}]}}\n",
			played{activities: map[string]activity{"act": hangs}, output: `[408, "/do/0/a/try/0/b"]`, took: 10 * time.Second},
		},
		"workflow timeout": {"timeout: {after: PT1M}\ndo:\n- a: {try: [{b: {wait: PT1H}}], catch: {}}\n", played{fault: "the workflow timed out (https://serverlessworkflow.io/spec/1.0.0/errors/timeout, status 408)", took: time.Minute}},
		"fork": {
			"do:\n- a: {fork: {branches: [{b: {call: act, with: 1}}, {c: {wait: PT2S}}, {d: {do: [{e: {set: {x: 1}, then: exit}}, {f: {set: {}}}]}}]}}\n",
			played{input: `0`, activities: map[string]activity{"act": slow(5 * time.Second)}, output: `[1, 0, {"x": 1}]`, took: 5 * time.Second},
		},
		"fork fails": {
			"do:\n- a: {fork: {branches: [{b: {call: act}}, {c: {do: [{d: {wait: PT2S}}, {e: {raise: {error: {type: x, status: 1, title: first}}}}]}}]}}\n",
			played{activities: map[string]activity{"act": hangs}, fault: "first (x, status 1) at /do/0/a/fork/branches/1/c/do/1/e", took: 2 * time.Second},
		},
		"race": {
			"do:\n- a: {fork: {compete: true, branches: [{b: {call: act}}, {c: {do: [{d: {wait: PT2S}}, {e: {set: won}}]}}, {f: {raise: {error: {type: x, status: 1}}}}]}}\n",
			played{activities: map[string]activity{"act": hangs}, output: `"won"`, took: 2 * time.Second},
		},
		"nobody wins": {
			"do:\n- a: {fork: {compete: true, branches: [{b: {raise: {error: {type: x, status: 1}}}}, {c: {raise: {error: {type: y, status: 1}}}}]}}\n",
			played{fault: "fault (x, status 1)"},
		},
		"listen in time": {"do:\n- a: {timeout: {after: PT1M}, listen: {to: {one: {with: {type: paid}}}}}\n", played{fault: "the task timed out", took: time.Minute}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p.run.document = parsed(t, head+strings.ReplaceAll(strings.ReplaceAll(p.tasks, "set: never", "set: '\"never\"'"), "set: won", "set: '\"won\"'"))
			play(t, p.run)
		})
	}
}

// Ship is an orchestration in Go.
func Ship(ctx *orchestration.Context, in map[string]any) (map[string]any, error) {
	if err := ctx.Sleep(time.Hour); err != nil {
		return nil, err
	}
	return map[string]any{"shipped": in["item"]}, nil
}

const (
	outer = head + "do:\n- charge: {call: charge, with: {n: '${ .n }'}}\n- wait: {wait: PT1H}\n" +
		"- both: {fork: {branches: [{inner: {run: {workflow: {namespace: test, name: inner, version: '1.0.0', input: {n: '${ .n }'}}}}}, " +
		"{ship: {run: {workflow: {namespace: go, name: Ship, version: 0.0.0, input: {item: '${ .n }'}}}}}]}}\n"
	inner = "document: {dsl: '1.0.3', namespace: test, name: inner, version: '1.0.0'}\ndo:\n" +
		"- a: {listen: {to: {one: {with: {type: go}}}}, timeout: {after: PT3H}, if: 'false'}\n- b: {for: {in: '[1, 2, 3]'}, do: [{c: {call: charge, with: {n: '${ $input.n + $item }'}}}]}\n"
)

// parent is an orchestration in Go that runs a document as a child.
func parent(ctx *orchestration.Context, n int) (json.RawMessage, error) {
	child, err := serverless.Parse([]byte(inner))
	if err != nil {
		return nil, err
	}
	d, err := serverless.Parse([]byte(outer), child)
	if err != nil {
		return nil, err
	}
	in, err := serverless.NewInput(d, map[string]any{"n": n})
	if err != nil {
		return nil, err
	}
	return orchestration.CallOrchestration(ctx, serverless.Orchestration(), in)
}

// A tree of code in Go, a document, a document below it and an orchestration in Go below it ends alike, wherever its nodes die.
func TestTreesOfGoAndDocumentsSurviveKills(t *testing.T) {
	t.Parallel()
	code := orchestration.Define("parent", parent)
	for name, kill := range map[string]orchestrationtest.KillOption{"none": nil, "before": orchestrationtest.BeforeCommit(), "after": orchestrationtest.AfterCommit()} {
		for at := range 8 {
			if kill == nil && at > 0 {
				continue
			}
			orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
				register(t, e.Registry())
				orchestrationtest.AddOrchestration(e, Ship)
				charges := 0
				orchestrationtest.ReplaceNamed(e, "charge", func(_ context.Context, in map[string]int) (map[string]int, error) {
					if charges++; kill != nil && charges == at%4+1 {
						e.Kill(kill)
					}
					return in, nil
				})
				if kill != nil && at >= 4 {
					e.After(time.Duration(at-4)*40*time.Minute+time.Second, func() error {
						e.Kill()
						return nil
					})
				}
				out, err := orchestrationtest.Start(e, code, 7).Wait(e.Context())
				if err != nil || !sameJSON(t, string(out), `[{"n": 13}, {"shipped": 7}]`) {
					t.Errorf("%s %d: %s, %v", name, at, out, err)
				}
			}, orchestrationtest.WithRuntime(func(o *runtime.Options) { o.Lease = 30 * time.Second }))
		}
	}
}

// A document is found by its attributes, and its instance keeps the text that it was started with.
func TestHazard075_InstancesKeepTheirDocument(t *testing.T) {
	t.Parallel()
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		register(t, e.Registry())
		d := parsed(t, head+"do:\n- a: {wait: PT1H}\n- b: {set: {old: true}}\n")
		h, err := serverless.Start(e.Context(), e.Client(), d, nil, client.WithID("doc-1"))
		if err != nil {
			t.Fatal(err)
		}
		out, err := h.Wait(e.Context())
		if err != nil || !sameJSON(t, string(out), `{"old": true}`) {
			t.Errorf("%s, %v", out, err)
		}
		found, err := e.Client().Describe(e.Context(), h.ID())
		want := map[string]any{serverless.AttributeDocument: "test/doc:1.0.0", serverless.AttributeHash: d.Hash()}
		if err != nil || !maps.Equal(found.Attributes, want) {
			t.Errorf("the attributes are %v, %v, want %v", found.Attributes, err, want)
		}
		in, err := serverless.NewInput(d, 1)
		if err != nil {
			t.Fatal(err)
		}
		in.Documents[0] = strings.Replace(in.Documents[0], "old", "new", 1)
		if _, err := orchestrationtest.Start(e, serverless.Orchestration(), in).Wait(e.Context()); err == nil || !strings.Contains(err.Error(), "the input names "+d.Hash()) {
			t.Errorf("another text: %v", err)
		}
		if _, err := orchestrationtest.Start(e, serverless.Orchestration(), serverless.Input{}).Wait(e.Context()); err == nil || !strings.Contains(err.Error(), "the input has no document") {
			t.Errorf("no text: %v", err)
		}
	})
}

// A document that does too much between two waits fails its turn: the instance is blocked, and no catch of the document sees it.
func TestHazard074_OverLimitsTheTurnFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ tasks, want string }{
		"expression": {"do:\n- a: {try: [{b: {set: '[range(100000000)]'}}], catch: {}}\n", "serverless: /do/0/a/try/0/b/set: expression \"[range(100000000)]\": over 2000000 units"},
		"circle":     {"do:\n- a: {try: [{b: {set: {}, then: b}}], catch: {}}\n", "serverless: /do/0/a/try/0/b: over 2000000 units of work between two waits"},
		"no wait":    {"do:\n- a: {wait: PT0S, then: a}\n", "serverless: /do/0/a: over 2000000 units of work between two waits"},
		"refused calls": {
			"do:\n- a: {try: [{b: {call: act, with: {x: '${ \"\\u0001\" * 360000 }'}}}], catch: {retry: {}}}\n", "serverless: /do/0/a/try/0/b: over 2000000 units",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
				e.AllowBlocked()
				register(t, e.Registry())
				in, err := serverless.NewInput(parsed(t, head+c.tasks), nil)
				if err != nil {
					t.Fatal(err)
				}
				_, err = orchestrationtest.Start(e, serverless.Orchestration(), in).Wait(e.Context())
				var blocked *client.BlockedError
				if !errors.As(err, &blocked) || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want a blocked instance with %q", err, c.want)
				}
			})
		})
	}
}

// A wait gives the document new work to do: each round does half of what is allowed.
func TestWaitsRenewTheWork(t *testing.T) {
	t.Parallel()
	play(t, played{
		document: parsed(t, head+"do:\n- a: {for: {in: '[range(6)]'}, do: [{b: {set: '[range(100000)] | length'}}, {c: {wait: PT1S}}]}\n"),
		output:   "100000", took: 6 * time.Second,
	})
}

// All documents are one name and version, whatever they are called: a node that has the interpreter runs each of them, and as a child, too.
func TestHazard117_DocumentsAreOneCapability(t *testing.T) {
	t.Parallel()
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		register(t, e.Registry())
		below := parsed(t, "document: {dsl: '1.0.3', namespace: other, name: below, version: '7.0.0'}\ndo:\n- a: {set: {x: 1}}\n")
		d, err := serverless.Parse([]byte(head+"do:\n- a: {run: {workflow: {namespace: other, name: below, version: '7.0.0'}}}\n"), below)
		if err != nil {
			t.Fatal(err)
		}
		h, err := serverless.Start(e.Context(), e.Client(), d, nil)
		if err != nil {
			t.Fatal(err)
		}
		if out, err := h.Wait(e.Context()); err != nil || !sameJSON(t, string(out), `{"x": 1}`) {
			t.Errorf("got %s, %v", out, err)
		}
		all, err := e.Client().List(e.Context(), client.Filter{}, client.Page{Size: 10})
		if err != nil {
			t.Fatal(err)
		}
		for _, of := range all.Items {
			if of.Orchestration != serverless.Name || of.CodeVersion != serverless.Version {
				t.Errorf("%s ran as %s of version %q", of.ID, of.Orchestration, of.CodeVersion)
			}
		}
		ran := len(all.Items)
		if ran != 2 || strings.HasPrefix(serverless.Name, "perdure.") || serverless.Version == "" {
			t.Errorf("%d instances ran, by the interpreter %s of version %q", ran, serverless.Name, serverless.Version)
		}
	})
}
