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

		// Changes copy their input.
		`[range(130000)] as $b | [range(20000) | $b | .[0] = 1]`:          "units of work",
		`[range(130000)] as $b | [$b | .[0] = range(20000)]`:              "units of work",
		`[range(130000)] as $b | [range(20000) | $b | .[0] |= 1]`:         "units of work",
		`[range(130000)] as $b | [range(20000) | $b | .[0] += 1]`:         "units of work",
		`[range(130000)] as $b | [$b | .[0] += range(20000)]`:             "units of work",
		`[range(130000)] as $b | [range(20000) | $b | .[0] //= 1]`:        "units of work",
		`[range(100000) | []] as $b | [range(9000) | $b | map_values(1)]`: "units of work",
		`[range(50000) | null | .[9999] = 1]`:                             "units of work",
		`nth(1000000000) = 1`:                                             "the element",

		// The text of an error has all of the value.
		`reduce range(40) as $i (0; [., .]) | error`:              "has more than 1048576 bytes",
		`reduce range(40) as $i (0; [., .]) as $x | error($x)`:    "has more than 1048576 bytes",
		`reduce range(40) as $i (0; [., .]) as $x | 1, error($x)`: "has more than 1048576 bytes",

		// An iteration makes a list of all elements, and sorts the keys.
		`[range(100000)] as $b | [range(90000) | $b | first(.[])]`:           "units of work",
		`[range(100000)] as $b | [range(90000) | $b | first(.[]?)]`:          "units of work",
		`[range(100000)] as $b | [range(90000) | [$b] | first(.[0][])]`:      "units of work",
		`[range(100000)] as $b | [range(90000) | $b | any]`:                  "units of work",
		`[range(100000)] as $b | [range(90000) | $b | any(true)]`:            "units of work",
		`[range(100000)] as $b | [range(90000) | $b | all]`:                  "units of work",
		`[range(100000)] as $b | [range(90000) | $b | all(false)]`:           "units of work",
		`[range(100000)] as $b | [range(90000) | $b | limit(2; recurse)]`:    "units of work",
		`[range(100000)] as $b | [range(90000) | $b | limit(2; ..)]`:         "units of work",
		`[range(100000)] as $b | [range(90000) | $b | isempty(map(error))?]`: "units of work",
		`[range(100000)] as $b | [range(90000) | $b | first(path(.[]))]`:     "units of work",
	} {
		for _, s := range []string{source, "try (" + source + `) catch "caught"`, "(" + source + `)? // "caught"`} {
			got, limit, err := evaluated(t, s, nil)
			if limit == nil || !strings.Contains(limit.Text, want) || limit.Path != "/x" {
				t.Errorf("%s: got %.60s, %v, %v, want a limit with %q", s, got, limit, err, want)
			}
		}
	}
}

// What has a guard inside still is a path, and means what it does in jq.
func TestGuardsKeepPaths(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		`[[1, 2], {"a": 3}] | [path(.[][])]`:                                          `[[0,0],[0,1],[1,"a"]]`,
		`[[1, 2], {"a": 3}] | .[][] += 1`:                                             `[[2,3],{"a":4}]`,
		`{"a": [1, {"b": 2}]} | [paths]`:                                              `[["a"],["a",0],["a",1],["a",1,"b"]]`,
		`{"a": [1, {"b": 2}]} | [path(..)]`:                                           `[[],["a"],["a",0],["a",1],["a",1,"b"]]`,
		`{"a": [1, {"b": 2}]} | (recurse | numbers) |= . * 2`:                         `{"a":[2,{"b":4}]}`,
		`{"a": [1, {"b": 2}]} | .a[1:][].b = 5`:                                       `{"a":[1,{"b":5}]}`,
		`[1, {"b": 2}] | [.[] | .[]?], [.[]?.b?], [.[1][]?]`:                          "",
		`[1, {"b": 2}] | [[.[] | .[]?], [.[]?.b?], [.[1][]?]]`:                        `[[2],[2],[2]]`,
		`[1, {"b": 2}] | try .[0][] catch "caught"`:                                   `"caught"`,
		`[1, 2, 3] | (nth(1), nth(10)) = 7`:                                           `[1,7,3,null,null,null,null,null,null,null,7]`,
		`[1, 2, 3] | [nth(0, 2)]`:                                                     `[1,3]`,
		`[1, 2, 3] | [.[0] = (7, 8)]`:                                                 `[[7,2,3],[8,2,3]]`,
		`{"a": 1} | [.b = .a, .a += .a, .c //= .a, (.a |= .+1)]`:                      `[{"a":1,"b":1},{"a":2},{"a":1,"c":1},{"a":2}]`,
		`[.a = (1 | (.b?), 2)]`:                                                       `[{"a":2}]`,
		`[[1, null], [true], []] | [.[] | any, all], map(any(. == 1), all(. == 1))`:   "",
		`[[1, null], [true], []] | [[.[] | any, all], map(any(. == 1), all(. == 1))]`: `[[true,false,true,true,false,true],[true,false,false,false,false,true]]`,
		`{"a": 1, "b": null} | [any, all, map(.), map_values(2)]`:                     `[true,false,[1,null],{"a":2,"b":2}]`,
		`[4, 1] as [$a, $b] | map_values(.)? // [$a, $b]`:                             `[4,1]`,
		`[1, 2] | [.[1 as $i | $i], first, last]`:                                     `[2,1,2]`,
		`try ([1, 2] | .[[1]]) catch .`:                                               `"an array is no index: use indices"`,
		`try ([1, 2] | nth([1])) catch .`:                                             `"an array is no index: use indices"`,
		`try ([1, 2] | getpath([[1]])) catch .`:                                       `"an array is no index: use indices"`,
		`try ([1, 2] | setpath([[1]]; 0)) catch .`:                                    `"an array is no index: use indices"`,
		`[1, 2] | indices([1])`:                                                       `[0]`,
		`[try error("a") catch ., try error({"a": 1}) catch ., try (3 | error) catch ., (try error(empty) catch 1)]`: `["a",{"a":1},3]`,
	} {
		got, limit, err := evaluated(t, source, nil)
		if want == "" {
			if err == nil {
				t.Errorf("%s: got %s, want an error: there are two results", source, got)
			}
			continue
		}
		if string(got) != want || limit != nil || err != nil {
			t.Errorf("%s: got %s, %v, %v, want %s", source, got, limit, err, want)
		}
	}
}

// A time is the same on all nodes: no format reads the name of a zone, which means what the node takes it for.
func TestHazard074_TimesDoNotDependOnTheZoneOfTheNode(t *testing.T) {
	t.Parallel()
	const refused = "strptime: %Z and %+ use the time zone of the node: use %z"
	for format, want := range map[string]string{
		"%Z": refused, "%H %Z": refused, "%+": refused, "%%%Z": refused, "%-Z": refused, "%_5Z": refused, "%": "", "%%Z": "", "%H:%M %%+": "", "%z": "",
	} {
		_, limit, err := evaluated(t, `"x" | strptime("`+format+`")`, nil)
		if limit != nil || err == nil || (err.Error() == refused) != (want != "") {
			t.Errorf("%s: %v, %v, want %q", format, limit, err, want)
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
