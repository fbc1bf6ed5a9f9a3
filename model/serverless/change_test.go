package serverless

import (
	"bytes"
	"strings"
	"testing"

	"github.com/itchyny/gojq"
)

// A change that copies what it has copied before stops by a count of the copies.
func TestHazard074_CopiesOfChangesCount(t *testing.T) {
	t.Parallel()
	const big = `[range(30000)] | `
	for _, source := range []string{
		`[range(20000)] | pick(.[])`,
		big + `pick(.[range(20000):])`,
		`[range(9000) | {"key": "\(.)", "value": 1}] | from_entries | pick(.[])`,
		big + `.[(range(20000)):] |= .`,
		big + `.[(range(20000)):] = [1]`,
		big + `.[(range(20000)):][0] += 1`,
		big + `.[(range(20000)):] //= 1`,
		big + `del(.[(range(20000)):][0])`,
		big + `del(.[(range(20000)):])`,
		big + `delpaths([range(10000) | [{"start": 1, "end": null}, 0]])`,
		big + `setpath([range(3000) | {"start": 0, "end": null}]; [1])`,
		big + `getpath([{"start": (range(20000)), "end": null}]) |= .`,

		// The list grows by each slice, and the paths see none of it.
		`[] | .[(range(30000) | 0):0] = [1]`,
		`[] | .[(range(30000) | 0):0] |= [1]`,
		`[] | .[(range(30000) | 0):0][5] = 1`,

		// A path to a list that the change has copied makes it copy all again.
		`[range(50000) | 1] | .[0] = [1] | (range(20000) as $i | .[0], .[0][0]) |= .`,
		`[range(50000)] as $b | {} | (range(20000) as $i | .a, .a[0]) = $b`,
		`[range(50000)] as $b | {} | (range(20000) as $i | .a, .a[0]) |= $b`,
		`{"a": {"a": 1}, "b": [range(50000)]} | .b[0] = {} | (recurse(.a?; range(2) == 0), (range(9000) as $i | .b[0], .b[0].c)) |= .`,
	} {
		got, limit, err := evaluated(t, source, nil)
		if limit == nil || !strings.Contains(limit.Text, "units of work") {
			t.Fatalf("%s: got %.60s, %v, %v, want a limit", source, got, limit, err)
		}
	}
}

// Guards of changes change no result: the interpreter of jq alone returns the same.
func TestGuardedChangesMeanTheSame(t *testing.T) {
	t.Parallel()
	const data = `{"a": [1, 2, [3, 4], {"b": 5, "c": [6]}], "d": {"e": "x", "f": null}}`
	input, err := decode([]byte(data))
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range []string{
		`.a[1:3] |= map(tostring)`, `.a[1:3] = ["x"]`, `.a[:0] = [7, 8]`, `.a[1:] |= .[1:]`, `.a[:2][0] += 1`, `.a[1:][1:] |= [1, .]`,
		`.a[(0, 1):2] = (["x"], ["y", "z"])`, `.a[0:2] |= empty`, `.a[0:1] = 1`, `.d[0:1] = [1]`,
		`.. |= .`, `(.. | numbers) |= . + 1`, `(.. | numbers) += 1`, `(.. | strings, numbers) = 0`, `(..? | select(. == null)) //= 9`,
		`(.a, .a[0]) |= [.]`, `(.a, .a[0]) = [[1]]`, `(.a[2], .a[2][0]) |= tojson`, `(.a[0], .d.e) |= (., 1)`, `(.d, .d.f) |= empty`,
		`[.a[1:] | .[0], .[1]] | .[0] = 1`, `getpath(["a", {"start": 1, "end": 3}]) |= reverse`, `getpath(["a", 2, 0]) = 7`,
		`getpath(["q", "r"]) |= 1`, `first(.a, .d) |= 1`, `limit(1; .a, .d) = 1`, `last(.a[]) = 1`, `(.a // .d) |= 1`, `(.q // .d) |= 1`,
		`(if .a then .a else .d end) |= 1`, `(.a[] | select(type == "number")) |= . * 2`, `(.a | .[1:] | first) = "y"`, `try (.a[0].b |= 1) catch .`,
		`(try .a[0].b catch empty) |= 1`, `.a as $x | .d.e |= $x`, `(.a as $x | .d.e) |= 1`, `.a[1:] |= (.[0:1] |= [9])`, `.a |= map(arrays[0:1] |= [9])`, `.a[9:] = [1]`,
		`reduce (1, 2) as $i (.; .a[$i:] |= [$i])`, `label $out | .a[1:] |= break $out`, `try (.a[1:] |= error("no")) catch .`, `.a[-1:] |= [0]`,
		`pick(.a)`, `pick(.a[1], .d.e)`, `pick(.a[1:3])`, `pick(.a[3].b, .a[0])`, `pick(.. | numbers?)`, `pick(.q.r)`, `try pick(.a[-1]) catch .`,
		`pick(first(.a, .d))`, `[pick(.a), pick(.d)]`, `pick(empty)`, `pick(getpath(["d", "e"]))`, `.a | pick(.[1:][1:])`,
		`del(.a)`, `del(.a[1:])`, `del(.a[1:][0])`, `del(.a[0], .a[0:2])`, `del(.. | numbers)`, `del(.a[(0, 1):2])`, `del(empty)`, `del(.d.e, .d)`,
		`delpaths([["a", {"start": 1, "end": 2}], ["d", "e"]])`, `delpaths([paths(numbers)])`, `setpath(["a", {"start": 1, "end": null}]; [])`,
		`getpath(["a", {"start": 1, "end": 2}])`, `.a | map_values(.)`, `.a | map_values(empty)`, `[path(.a[1:][0])]`, `try getpath(["a", "b"]) catch .`,
	} {
		plain, err := gojq.Parse(source)
		if err != nil {
			t.Fatal(source, err)
		}
		all, err := gojq.Compile(plain)
		if err != nil {
			t.Fatal(source, err)
		}
		want, failed := results(all.Run(input))
		got, limit, err := evaluated(t, "["+source+"]", input)
		if limit != nil || (err == nil) != (failed == nil) || err == nil && !bytes.Equal(got, encode(want)) {
			t.Errorf("%s: got %s, %v, %v, want %s, %v", source, got, limit, err, encode(want), failed)
		}
	}
}

// The interpreter of jq alone makes lists here that hold themselves.
func TestSlicesOfSlicesHoldNoCycle(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		`[1, 2, 3] | .[(0, 1):2] |= [.]`:          `[[1,2],[3]]`,
		`[1, 2, 3] | .[0] = 1 | .[(0, 1):2] |= .`: `[1,2,3]`,
		`[1, 2, 3] | (.[0], .[1:2]) |= [.]`:       `[[1],[2],3]`,
	} {
		if got, limit, err := evaluated(t, source, nil); limit != nil || err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v, %v, want %s", source, got, limit, err, want)
		}
	}
}

// results returns all results as a list, or the first error.
func results(all gojq.Iter) ([]any, error) {
	list := []any{}
	for {
		v, more := all.Next()
		if !more {
			return list, nil
		}
		if err, failed := v.(error); failed {
			return nil, err
		}
		list = append(list, v)
	}
}

// A change that copies nothing twice may have many paths.
func TestUsualChangesStayCheap(t *testing.T) {
	t.Parallel()
	for _, source := range []string{
		`[range(20000) | {"n": ., "t": [1, 2]}] | .[].n |= . + 1 | length`,
		`[range(20000) | [.]] | (.[] | select(.[0] > 5)) |= . + [1] | length`,
		`[range(5000)] | (.. | numbers) |= . + 1 | length`,
		`[range(2000) | {"t": ["a", "b", "c"]}] | .[].t[:2] |= ["x"] | length`,
		`[range(2000) | {"t": ["a", "b", "c"]}] | .[].t[:2] = ["x", "y"] | length`,
		`[range(2000) | {"t": 1, "u": 2}] | map(pick(.t)) | length`,
		`[range(2000)] | del(.[range(1000)]) | length`,
	} {
		if got, limit, err := evaluated(t, source, nil); limit != nil || err != nil {
			t.Errorf("%s: got %.60s, %v, %v", source, got, limit, err)
		}
	}
}
