package serverless_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/perdure/perdure/model/serverless"
)

const head = "document:\n  dsl: '1.0.3'\n  namespace: test\n  name: doc\n  version: '1.0.0'\n"

// All findings come at once, each with line and column.
func TestMistakes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"empty":        {"", []string{"1:1: /: the document is empty"}},
		"no yaml":      {"a: b\n c: [", []string{"2:0: /: the document is neither YAML nor JSON: yaml: line 2"}},
		"two":          {head + "do:\n- a: {set: {}}\n---\nb: 1\n", []string{"8:1: /: a second document follows"}},
		"list":         {"- a\n", []string{"1:1: /: a list stands here: an object is needed"}},
		"nothing else": {"a: 1\n", []string{`1:1: /: "do" is missing`, `1:1: /: "document" is missing`, `1:1: /a: "a" is not known here: there are do, document,`}},
		"head": {
			"document: {dsl: '0.9', namespace: A, name: 7, version: one, title: [], x: 1}\ndo:\n- a: {set: {}}\n",
			[]string{
				`1:17: /document/dsl: "0.9" stands here: 1.0.x is needed`, `1:35: /document/namespace: "A" stands here`,
				"1:44: /document/name: a number stands here: a text is needed; put it in quotation marks", `1:56: /document/version: "one" stands here`,
				"1:68: /document/title: a list stands here", `1:72: /document/x: "x" is not known here: there are dsl, metadata, name,`,
			},
		},
		"namespace of Go": {
			strings.Replace(head, "namespace: test", "namespace: go", 1) + "do:\n- a: {set: {}}\n",
			[]string{`3:14: /document/namespace: "go" is the namespace of orchestrations in Go`},
		},
		"too many expressions": {
			head + "do:\n- a:\n    set:\n      x: [" + strings.Repeat("'${ . }', ", 2000) + "\n        '${ . }', '${ . }']\n",
			[]string{"10:9: /do/0/a/set/x/2000: this expression is one too many: a document has at most 2000"},
		},
		"yaml": {
			head + "do:\n- a: &x {set: {a: 0x10, b: .nan, c: 2001-01-01, d: !!binary aa}}\n- b: *x\n- c: {set: {1: 2, e: 1, e: 2}}\n",
			[]string{
				"7:6: /do/0/a: the anchor &x is refused", "7:19: /do/0/a/set/a: 0x10 is no number of JSON", "7:28: /do/0/a/set/b: .nan is no number of JSON",
				"7:37: /do/0/a/set/c: a value of type !!timestamp stands here: put it in quotation marks", "7:52: /do/0/a/set/d: the tag !!binary is refused: leave it out",
				"8:6: /do/1/b: an alias stands here", "9:13: /do/2/c/set: a number is the key: put it in quotation marks", "9:25: /do/2/c/set/e: the key \"e\" comes twice",
			},
		},
		"tags": {
			head + "do:\n- a: {set: {a: !!str 5, b: !!map {c: 1}, !!str d: 1}}\n",
			[]string{"7:16: /do/0/a/set/a: the tag !!str is refused", "7:28: /do/0/a/set/b: the tag !!map is refused", "7:42: /do/0/a/set: the tag !!str is refused"},
		},
		"characters": {head + "do:\n- a: {set: {ö: 'ö', b: .nan}}\n", []string{"7:24: /do/0/a/set/b: .nan is no number of JSON"}},
		"branches of switches": {
			head + "do:\n- a: {fork: {branches: [{b: {switch: [{x: {when: 'true', then: exit}}, {y: {then: c}}]}}, {c: {switch: [{z: {then: exit}}]}}]}}\n",
			[]string{"7:13: /do/0/a/fork/branches/0: a switch names another branch: branches run at the same time"},
		},
		"use": {
			head + "use:\n  secrets: [a]\n  functions: {}\n  catalogs: {}\n  extensions: []\n  authentications: {}\nschedule: {cron: '* * * * *'}\nevaluate: {mode: loose, language: js}\n" +
				"input: {schema: {}}\ndo:\n- a: {set: {}, output: {schema: {}}}\n",
			[]string{
				`7:3: /use/secrets: "secrets" is outside of the subset: secrets would be stored`, `8:3: /use/functions: "functions" is outside of the subset`,
				`9:3: /use/catalogs: "catalogs" is outside`, `10:3: /use/extensions: "extensions" is outside`, `11:3: /use/authentications: "authentications" is outside`,
				`12:1: /schedule: "schedule" is outside of the subset`, `13:18: /evaluate/mode: "loose" is outside of the subset: only strict is there`,
				`13:35: /evaluate/language: "js" is outside`, `14:9: /input/schema: "schema" is outside of the subset`, `16:25: /do/0/a/output/schema: "schema" is outside`,
			},
		},
		"tasks": {
			head + "do:\n- a: {}\n- b: {set: {}, wait: PT1S}\n- c: {emit: {}}\n- a: {set: {}, then: nowhere, x: 1}\n- {d: 1, e: 2}\n- end: {set: {}}\n- f: {set: {}, catch: {}}\n- g: {do: []}\n",
			[]string{
				"7:6: /do/0/a: a task has exactly one of call, do, emit, for,", "8:6: /do/1/b: a task has exactly one of", `9:13: /do/2/c/emit: "emit" is outside of the subset: there is no broker`,
				`10:3: /do/3/a: the list has two of the name "a"`, `10:22: /do/3/a/then: there is no task "nowhere" in this list`, `10:31: /do/3/a/x: "x" is not known here`,
				"11:3: /do/4: an object with the name of one task is needed", `12:3: /do/5/end: "end" is a word of then`,
				`13:16: /do/6/f/catch: "catch" is outside of the subset: it belongs to try`, "14:11: /do/7/g/do: the list is empty",
			},
		},
		"calls": {
			head + "do:\n- a: {call: http, with: {x: '${ env }'}}\n- b: {call: 'log:1.0.0@global'}\n- c: {call: perdure.schedule}\n- d: {run: {shell: {command: ls}}}\n- e: {run: {workflow: {namespace: x, name: y, version: '1.0.0'}, await: false}}\n" +
				"- f: {run: {workflow: {namespace: go, name: serverless.document, version: '1'}}}\n",
			[]string{
				"7:13: /do/0/a/call: call http is outside of the subset: who writes a document would reach the network", `8:13: /do/1/b/call: "log:1.0.0@global" is of a catalog`,
				`9:13: /do/2/c/call: "perdure.schedule" cannot be the name of an activity`, `10:13: /do/3/d/run/shell: "shell" is outside of the subset: who writes a document would run code`,
				"11:23: /do/4/e/run/workflow: there is no document x/y:1.0.0: parse it before", `11:66: /do/4/e/run/await: "await" is outside of the subset`,
				`12:23: /do/5/f/run/workflow: "serverless.document" cannot be the name of an orchestration in Go`,
			},
		},
		"events": {
			head + "do:\n- a: {listen: {to: {any: []}, read: raw}}\n- b: {listen: {to: {one: {with: {type: x, data: '${ .a }'}, correlate: {}}, until: 'true'}}, foreach: {}}\n- c: {listen: {to: {}}}\n" +
				"- d: {listen: {to: {all: [{with: {type: x}}, {with: {type: x}}, {with: {source: y}}]}}}\n",
			[]string{
				"7:26: /do/0/a/listen/to/any: a list of at least one event is needed", `7:31: /do/0/a/listen/read: "read" is outside of the subset`,
				`8:43: /do/1/b/listen/to/one/with/data: "data" is outside of the subset: an event is known by its type alone`, `8:61: /do/1/b/listen/to/one/correlate: "correlate" is outside`,
				`8:77: /do/1/b/listen/to/until: "until" is outside of the subset`, `8:94: /do/1/b/foreach: "foreach" is outside of the subset: give the list of events to a task for`,
				"9:20: /do/2/c/listen/to: exactly one of one, any and all is needed", `10:60: /do/3/d/listen/to/all/1/with/type: the event "x" stands here twice`,
				`10:72: /do/3/d/listen/to/all/2/with: "type" is missing`, `10:73: /do/3/d/listen/to/all/2/with/source: "source" is outside of the subset`,
			},
		},
		"flow": {
			head + "do:\n- a: {switch: [{x: {when: .a}}, {y: {then: b}}, {z: {then: exit}}]}\n- b: {for: {in: .a, each: input, at: '1'}, do: [{c: {set: '${ $item }'}}]}\n" +
				"- d: {fork: {branches: [{e: {do: [{f: {set: {}, then: end}}]}}, {g: {set: {}, then: e}}]}}\n- h: {for: {each: i}, do: [{k: {set: '$i'}}, {l: {set: '$x'}}]}\n",
			[]string{
				`7:20: /do/0/a/switch/0/x: "then" is missing`, "7:53: /do/0/a/switch/2/z: a second case has no when", `8:27: /do/1/b/for/each: "input" cannot be the name of a variable`,
				`8:38: /do/1/b/for/at: "1" cannot be the name of a variable`, "9:13: /do/2/d/fork/branches/1: a branch has then", "9:55: /do/2/d/fork/branches/0/e/do/0/f/then: end stands in a branch of fork",
				`10:12: /do/3/h/for: "in" is missing`, "10:56: /do/3/h/do/1/l/set: there is no variable $x here: there are $context, $input, $task, $workflow, $runtime, $i, $index",
			},
		},
		"time": {
			head + "timeout: never\ndo:\n- a: {wait: PT}\n- b: {wait: P1M}\n- c: {wait: {}}\n- d: {wait: {seconds: -1, years: 1}}\n- e: {wait: 5, timeout: {after: {seconds: 0}}}\n- f: {wait: PT1S, timeout: {after: '${ .x }'}}\n- g: {wait: P99999D}\n",
			[]string{
				`6:10: /timeout: use.timeouts has no "never"`, `8:13: /do/0/a/wait: "PT" is no duration`, `9:13: /do/1/b/wait: "P1M" is no duration`, "10:13: /do/2/c/wait: the duration is empty",
				"11:23: /do/3/d/wait/seconds: an integer from 0 on is needed", `11:27: /do/3/d/wait/years: "years" is not known here`, "12:13: /do/4/e/wait: a number stands here: an object is needed",
				"12:33: /do/4/e/timeout/after: the timeout is zero", "13:36: /do/5/f/timeout/after: an expression stands here: a fixed duration is needed", `14:13: /do/6/g/wait: the duration "P99999D" is longer than 100 years`,
			},
		},
		"errors": {
			head + "do:\n- a: {raise: {error: none}}\n- b: {raise: {error: {type: x, status: big, instance: y}}}\n- c: {try: [{d: {set: {}}}]}\n- e: {try: [{d: {set: {}}}], catch: {errors: {with: {code: 1}}, retry: none, as: context}}\n" +
				"- f: {try: [{d: {set: {}}}], catch: {retry: {backoff: {}, jitter: {from: PT2S, to: PT1S}, limit: {attempt: {count: -1}}}}}\n",
			[]string{
				`7:22: /do/0/a/raise/error: use.errors has no "none"`, "8:40: /do/1/b/raise/error/status: an integer is needed", `8:45: /do/1/b/raise/error/instance: "instance" is outside`,
				`9:6: /do/2/c: "catch" is missing`, `10:54: /do/3/e/catch/errors/with/code: "code" is not known here`, `10:72: /do/3/e/catch/retry: use.retries has no "none"`,
				`10:82: /do/3/e/catch/as: "context" cannot be the name of a variable`, "11:55: /do/4/f/catch/retry/backoff: one of constant, linear and exponential is needed",
				"11:67: /do/4/f/catch/retry/jitter: to is shorter than from", "11:116: /do/4/f/catch/retry/limit/attempt/count: an integer from 0 on is needed",
			},
		},
		"expressions": {
			head + "do:\n- a:\n    set:\n      x: ${ .a + }\n      y: 'Hello ${ .b }'\n      z: ${ $secrets.key }\n    if: env.HOME\n    export: {as: 5}\n",
			[]string{
				"9:10: /do/0/a/set/x: the expression is no jq", `10:10: /do/0/a/set/y: an expression is part of a text: make all of it one expression`,
				"11:10: /do/0/a/set/z: $secrets is not allowed: secrets would be stored in histories", "12:9: /do/0/a/if: env is not allowed", "13:18: /do/0/a/export/as: a number stands here: an expression is needed",
			},
		},
		"json": {
			`{"document": {"dsl": "1.0.3", "namespace": "test", "name": "doc", "version": "1.0.0"},` + "\n\t" + `"do": [{"a": {"call": "http"}}]}`,
			[]string{"2:24: /do/0/a/call: call http is outside of the subset"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := serverless.Parse([]byte(c.text))
			var found serverless.Findings
			if !errors.As(err, &found) {
				t.Fatalf("got %v, want findings", err)
			}
			for i, f := range found {
				if i >= len(c.want) || !strings.HasPrefix(f.String(), c.want[i]) {
					t.Errorf("finding %d is %s", i, f)
				}
			}
			if len(found) != len(c.want) {
				t.Errorf("%d findings, want %d: %q", len(found), len(c.want), c.want)
			}
			if !strings.HasPrefix(err.Error(), fmt.Sprintf("document refused: %d findings\n", len(found))) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// A document never changes under its name and version: two texts are refused, and so is an input with another one than its hash names.
func TestHazard075_DocumentsNeverChange(t *testing.T) {
	t.Parallel()
	one := parsed(t, head+"do:\n- a: {set: {a: 1}}\n")
	other := parsed(t, head+"do:\n- a: {set: {a: 2}}\n")
	if one.Hash() == other.Hash() {
		t.Error("two documents have one hash")
	}
	if _, err := serverless.Parse([]byte(head+"do:\n- a: {set: {}}\n"), one, other); err == nil || !strings.Contains(err.Error(), "test/doc:1.0.0 is given with two texts") {
		t.Errorf("two texts of one version: %v", err)
	}
	run := strings.Replace(head, "name: doc", "name: parent", 1) + "do:\n- a: {run: {workflow: {namespace: test, name: doc, version: '1.0.0'}}}\n"
	first, second := parsed(t, run, one), parsed(t, run, other)
	if first.Hash() == second.Hash() {
		t.Error("the hash does not cover the documents that one runs")
	}
	if again := parsed(t, run, one, parsed(t, strings.Replace(head, "name: doc", "name: idle", 1)+"do:\n- a: {set: {}}\n")); again.Hash() != first.Hash() {
		t.Error("the hash covers a document that nobody runs")
	}
}

func TestDocumentLists(t *testing.T) {
	t.Parallel()
	d := parsed(t, head+"do:\n- a: {call: b}\n- c: {call: a}\n- d: {call: b}\n- e: {run: {workflow: {namespace: go, name: Ship, version: '2'}}}\n")
	got := fmt.Sprintf("%s %s %s %v %v", d.Namespace(), d.Name(), d.Version(), d.Activities(), d.Orchestrations())
	if want := "test doc 1.0.0 [a b] [Ship]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The limit of a document counts the documents that it runs.
func TestDocumentsAreBounded(t *testing.T) {
	t.Parallel()
	big := head + "do:\n- a: {set: {x: " + strings.Repeat("y", 200<<10) + "}}\n"
	child := parsed(t, big)
	parent := strings.Replace(head, "name: doc", "name: parent", 1) + "do:\n- a: {run: {workflow: {namespace: test, name: doc, version: '1.0.0'}}}\n- b: {set: {x: " + strings.Repeat("y", 100<<10) + "}}\n"
	for name, text := range map[string]string{"alone": big + "# " + strings.Repeat("z", 100<<10), "together": parent} {
		if _, err := serverless.Parse([]byte(text), child); err == nil || !strings.Contains(err.Error(), "the limit is 262144") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The reference names all that is refused.
func TestReferenceIsComplete(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/reference/serverless-workflow.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range serverless.Refusals() {
		for key, reason := range table {
			if !strings.Contains(string(page), "`"+key+"`") || !strings.Contains(string(page), reason) {
				t.Errorf("docs/reference/serverless-workflow.md lacks `%s`: %s", key, reason)
			}
		}
	}
	for _, of := range serverless.AllowedFunctions() {
		if !strings.Contains(string(page), "`"+of+"`") {
			t.Errorf("docs/reference/serverless-workflow.md lacks the function `%s`", of)
		}
	}
}

// What counts is how deep lists of tasks stand in each other, not how long their paths are.
func TestNestingIsThatOfLists(t *testing.T) {
	t.Parallel()
	for _, around := range [][2]string{
		{"[{a: {do: ", "}}]"},
		{"[{a: {try: ", ", catch: {}}}]"},
		{"[{a: {fork: {branches: ", "}}}]"},
		{"[{a: {for: {in: '[1]'}, do: ", "}}]"},
		{"[{a: {try: [{x: {set: {}}}], catch: {do: ", "}}}]"},
	} {
		for lists, want := range map[int]string{32: "", 33: "tasks are nested too deep"} {
			inner := "[{z: {set: {}}}]"
			for range lists - 1 {
				inner = around[0] + inner + around[1]
			}
			_, err := serverless.Parse([]byte(head + "do: " + inner + "\n"))
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%d lists by %s: %v, want %q", lists, around[0], err, want)
			}
		}
	}
}
