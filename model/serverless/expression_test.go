package serverless

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// evaluated compiles and evaluates an expression at midnight UTC of 1 January 2000 and a half second.
func evaluated(t testing.TB, source string, input any) (_ json.RawMessage, limit *LimitError, err error) {
	t.Helper()
	b := &budget{}
	b.renew()
	e, problems := compile(source, "/x", []string{"$context", "$input"}, b)
	if problems != nil {
		t.Fatal(source, problems)
	}
	defer func() {
		if p := recover(); p != nil {
			limit = p.(*LimitError)
		}
	}()
	out, err := e.evaluate(input, func(name string) any {
		if name == nowVariable {
			return 946684800.5
		}
		return map[string]any{"of": name}
	})
	return encode(out), nil, err
}

// What the interpreter of jq returns for the corpus is part of the version of this one. If a line fails with another release of gojq, that
// release needs a new Version.
func TestHazard074_ExpressionsReturnWhatTheyDid(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/expressions.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	cases := 0
	for line := range bytes.Lines(data) {
		var c struct {
			Expression string          `json:"expression"`
			Input      json.RawMessage `json:"input"`
			Result     json.RawMessage `json:"result"`
			Error      string          `json:"error"`
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err, string(line))
		}
		cases++
		input, err := decode(c.Input)
		if err != nil {
			t.Fatal(err)
		}
		got, limit, err := evaluated(t, c.Expression, input)
		if limit != nil {
			t.Errorf("%s: %v", c.Expression, limit)
			continue
		}
		if c.Error != "" {
			if err == nil || err.Error() != c.Error {
				t.Errorf("%s: got %s, %v, want the error %q", c.Expression, got, err, c.Error)
			}
			continue
		}
		want, err2 := decode(c.Result)
		if err != nil || err2 != nil || !bytes.Equal(got, encode(want)) {
			t.Errorf("%s: got %s, %v, want %s", c.Expression, got, err, c.Result)
		}
	}
	if cases < 40 {
		t.Errorf("the corpus has %d lines", cases)
	}
}

// What takes too long, or makes too much, stops by a count of work. No try of the expression catches that.
func TestHazard074_WorkIsLimitedAndNotCaught(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		`[range(100000000)]`:                                       "units of work",
		`last(range(100000000))`:                                   "units of work",
		`until(false; .)`:                                          "units of work",
		`[recurse(.)]`:                                             "units of work",
		`"x" * 600000000`:                                          "has more than 1048576 bytes",
		`"xy" | . * 300000 | . * 3`:                                "has more than 1048576 bytes",
		`.a = "xy" | .a *= 600000`:                                 "has more than 1048576 bytes",
		`"x" * 600000 | "\(.)\(.)"`:                                "has more than 1048576 bytes",
		`"x" * 600000 | [., .] | add`:                              "has more than 1048576 bytes",
		`"x" * 500000 | [., .] | tojson | [., .] | tojson`:         "has more than 1048576 bytes",
		`"x" * 100000 | . as $s | [range(100)] | join($s)`:         "has more than 1048576 bytes",
		`reduce range(64) as $i (1; [., .])`:                       "has more than 1048576 bytes",
		`reduce range(64) as $i (1; [., .]) | tojson`:              "has more than 1048576 bytes",
		`reduce range(64) as $i (1; [., .]) | . == [1]`:            "has more than 1048576 bytes",
		`reduce range(64) as $i (1; [., .]) | sort_by(.)`:          "has more than 1048576 bytes",
		`reduce range(64) as $i (1; [., .]) as $d | {} | .a = $d`:  "has more than 1048576 bytes",
		`reduce range(300) as $i (1; [.])`:                         "nested deeper",
		`reduce range(11) as $i (3; . * .)`:                        "bits",
		`.[1000000000] = 1`:                                        "the element",
		`1000000000 as $i | .[$i] = 1`:                             "the element",
		`setpath([1000000000]; 1)`:                                 "the element",
		`getpath([1000000000]) = 1`:                                "the element",
		`"x" * 140000 | gsub("x"; "y")`:                            "units of work",
		`"x" * 1000000 | until(. == ""; .[1:])`:                    "units of work",
		`[range(9000)] | contains([range(9000) | -. - 1])`:         "units of work",
		`[range(9000)] - [range(9000) | -. - 1]`:                   "units of work",
		`[[range(3000)], (range(3000) | [])] | transpose | length`: "units of work",
	} {
		for _, s := range []string{source, "try (" + source + `) catch "caught"`, "(" + source + `)? // "caught"`} {
			got, limit, err := evaluated(t, s, nil)
			if limit == nil || !strings.Contains(limit.Text, want) || limit.Path != "/x" {
				t.Errorf("%s: got %.60s, %v, %v, want a limit with %q", s, got, limit, err, want)
			}
		}
	}
}

// All that depends on the node, or has no JSON, is refused where the document is read.
func TestHazard074_OnlyAllowedFunctions(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		`localtime`:                     "localtime is not allowed: it uses the time zone of the node",
		`strflocaltime("%H")`:           "strflocaltime is not allowed: it uses the time zone of the node",
		`env.HOME`:                      "env is not allowed: it reaches what belongs to the node",
		`$ENV.HOME`:                     "$ENV is not allowed: it reaches what belongs to the node",
		`input`:                         "input is not allowed: it reaches what belongs to the node",
		`{a: [.b | debug]}`:             "debug is not allowed: it reaches what belongs to the node",
		`[infinite]`:                    "infinite is not allowed: its values have no JSON",
		`pow(2; 3)`:                     "pow is not allowed: its last digit differs between processors",
		`def f: f; f`:                   "def is refused: an expression defines no functions",
		`. as $x | def now: 1; now`:     "def is refused: an expression defines no functions",
		`import "a" as a; .`:            "modules are refused: write the expression here",
		`_add(1; 2)`:                    "_add is not among the allowed functions",
		operandsFunc + `("+"; 1)`:       operandsFunc + " is not among the allowed functions",
		`splits`:                        "splits takes 1 or 2 arguments, not 0",
		`$nobody`:                       "there is no variable $nobody here: there are $context, $input",
		`1 as $__now | now`:             "the variable $__now is reserved: names do not begin with __",
		`{$__now}`:                      "there is no variable $__now here: there are $context, $input",
		`@urid`:                         "the format @urid is not allowed",
		`{"\(1)": 2} as {"\(1)": $x}`:   "the expression is no jq",
		`.a |`:                          "the expression is no jq",
		``:                              "the expression is empty: write . for the input",
		`.a[env]`:                       "env is not allowed: it reaches what belongs to the node",
		`.[env:]`:                       "env is not allowed: it reaches what belongs to the node",
		`"\(env)"`:                      "env is not allowed: it reaches what belongs to the node",
		`if env then 1 else 2 end`:      "env is not allowed: it reaches what belongs to the node",
		`try env catch .`:               "env is not allowed: it reaches what belongs to the node",
		`reduce env as $x (0; .)`:       "env is not allowed: it reaches what belongs to the node",
		`foreach . as $x (0; .; env)`:   "env is not allowed: it reaches what belongs to the node",
		`label $l | env`:                "env is not allowed: it reaches what belongs to the node",
		`-env`:                          "env is not allowed: it reaches what belongs to the node",
		`. as {(env): $x} | $x`:         "env is not allowed: it reaches what belongs to the node",
		`.a //= env`:                    "env is not allowed: it reaches what belongs to the node",
		`map(env)`:                      "env is not allowed: it reaches what belongs to the node",
		`@json "\(env)"`:                "env is not allowed: it reaches what belongs to the node",
		strings.Repeat(" ", 9000) + ".": "the expression has more than 8 KiB: split it",
	} {
		b := &budget{}
		e, problems := compile(source, "/x", []string{"$context", "$input"}, b)
		if e != nil || len(problems) != 1 || !strings.HasPrefix(problems[0], want) {
			t.Errorf("%.40s: got %q, want %q", source, problems, want)
		}
	}
}

// Each function of the table is one of gojq, with that number of arguments.
func TestAllowedFunctionsExist(t *testing.T) {
	t.Parallel()
	for of := range allowed {
		name, count, _ := strings.Cut(of, "/")
		args := map[string]string{"0": "", "1": "(.)", "2": "(.; .)", "3": "(.; .; .)"}[count]
		if _, problems := compile(name+args, "/x", nil, &budget{}); problems != nil {
			t.Errorf("%s: %v", of, problems)
		}
	}
	for of := range formats {
		if _, problems := compile(of, "/x", nil, &budget{}); problems != nil {
			t.Errorf("%s: %v", of, problems)
		}
	}
}
