package validations

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure/provider"
)

// filterCases checks what List and Count choose, and how much of it they return.
func filterCases() []testCase {
	const match = "The attribute must exist, have the kind, and meet every condition that is set."
	return []testCase{
		{name: "code-versions", run: filterVersions, rule: `Filter.CodeVersions: any of them; "" is a version like any other`},
		{name: "ended-after", run: filterEnded, rule: "Filter.EndedAfter: inclusive; only ended ones"},
		{name: "ended-before", run: filterEnded, rule: "Filter.EndedBefore: exclusive; only ended ones"},
		{name: "attribute-number-ranges", run: filterNumbers, rule: match},
		{name: "attribute-text-ranges", run: filterTexts, rule: "Texts are in the order of their bytes."},
		{name: "attribute-any", run: filterAny, rule: match},
		{name: "id-prefix-bytes", run: filterIDs, rule: "Filter.IDPrefix: compared byte by byte"},
		{name: "attributes-changed", run: filterChanged, rule: "Filter.Matches: all must hold"},
		{name: "list-without-results", run: listBare, rule: "A listed instance has no Result."},
		{name: "list-omits", run: listOmits, rule: "ListRequest.Omit: fields that stay empty in the result"},
		{
			name: "list-page-of-bytes", run: listBytes,
			rule: "A page ends before its custom statuses and messages of Blocked exceed [MaxFetchBytes].",
		},
		{
			name: "list-reached", run: listReached,
			rule: "ListResult.Reached: with a Cursor: all matching instances that were created later are on this page or an earlier one; 0: not known",
		},
		{name: "count-max", run: countMax, rule: "With Max, it stops at that many matches."},
		{name: "count-exact", run: countMax, rule: "Exact reports that it counted all matches."},
	}
}

// attributed makes the attributes of a new instance.
func attributed(list ...provider.Attribute) func(*provider.CreateRequest) {
	return func(r *provider.CreateRequest) { r.Attributes = list }
}

func number(name string, n int64) provider.Attribute {
	return provider.Attribute{Name: name, Kind: provider.AttributeInt, Number: n}
}

func word(name, text string) provider.Attribute {
	return provider.Attribute{Name: name, Kind: provider.AttributeText, Text: text}
}

// checkMatch checks which instances meet conditions on attributes.
func checkMatch(t *trial, want string, list ...provider.AttributeMatch) {
	checkList(t, provider.Filter{Matches: list}, want)
	for _, most := range []int64{0, 1000} {
		res, err := t.Count(t.ctx, provider.CountRequest{Filter: provider.Filter{Matches: list}, Max: most})
		t.ok(err)
		t.checkf(res.Exact && res.Count == int64(len(strings.Fields(want))), "%+v counts %+v, want exactly %q", list, res, want)
	}
}

func filterVersions(t *trial) {
	for _, version := range []string{"", "v1", "v2"} {
		t.create("i"+version, func(r *provider.CreateRequest) { r.CodeVersion = version })
	}
	checkList(t, provider.Filter{CodeVersions: []string{""}}, "i")
	checkList(t, provider.Filter{CodeVersions: []string{"v1", "", "v3"}}, "i iv1")
	checkList(t, provider.Filter{CodeVersions: []string{"v"}}, "")
	checkList(t, provider.Filter{CodeVersions: []string{"v2"}, Name: "nobody"}, "")
}

func filterEnded(t *trial) {
	t.begin("running")
	a := t.end(t.begin("a"))
	t.pass(blink)
	b := t.end(t.begin("b"))
	t.mustf(a.EndedAt < b.EndedAt, "both ended at %d", a.EndedAt)
	checkList(t, provider.Filter{EndedAfter: 1}, "a b")
	checkList(t, provider.Filter{EndedBefore: b.EndedAt + 1}, "a b")
	checkList(t, provider.Filter{EndedBefore: b.EndedAt}, "a")
	checkList(t, provider.Filter{EndedAfter: b.EndedAt}, "b")
	checkList(t, provider.Filter{EndedAfter: a.EndedAt + 1, EndedBefore: b.EndedAt}, "")
	checkList(t, provider.Filter{EndedAfter: a.EndedAt, EndedBefore: a.EndedAt + 1}, "a")
	checkList(t, provider.Filter{EndedAfter: 1, Statuses: []provider.Status{provider.StatusRunning}}, "")
}

func value(n int64) *provider.AttributeValue { return &provider.AttributeValue{Number: n} }

func chars(s string) *provider.AttributeValue { return &provider.AttributeValue{Text: s} }

func filterNumbers(t *trial) {
	const least = -1 << 63
	for name, n := range map[string]int64{"least": least, "minus": -1, "one": 1, "ten": 10} {
		t.create(name, attributed(number("n", n), number("m", 5)))
	}
	t.create("flag", attributed(provider.Attribute{Name: "n", Kind: provider.AttributeBool, Number: 1}))
	t.create("none")
	ints := provider.AttributeMatch{Name: "n", Kind: provider.AttributeInt}
	ranged := func(from, to *provider.AttributeValue) provider.AttributeMatch {
		m := ints
		m.From, m.To = from, to
		return m
	}
	checkMatch(t, "least minus one ten", ints)
	checkMatch(t, "one ten", ranged(value(1), nil))
	checkMatch(t, "least minus", ranged(nil, value(1)))
	checkMatch(t, "minus one", ranged(value(-1), value(10)))
	checkMatch(t, "", ranged(value(2), value(2)))
	checkMatch(t, "least minus one ten", ranged(value(least), nil))
	checkMatch(t, "flag", provider.AttributeMatch{Name: "n", Kind: provider.AttributeBool, From: value(0)})
	checkMatch(t, "one", ranged(value(0), nil), ranged(nil, value(10)))
	checkMatch(t, "", ranged(value(1), nil), provider.AttributeMatch{Name: "m", Kind: provider.AttributeInt, From: value(6)})
}

func filterTexts(t *trial) {
	for _, s := range []string{"a", "a%", "a_", "aB", "ab", "abc", "b", "\u00e9", "\ud7ff", "\ue000", "\U0010ffff", "\U0010ffffz"} {
		t.create("is-"+s, attributed(word("w", s)))
	}
	t.create("empty", attributed(word("w", "")))
	texts := func(prefix string, from, to *provider.AttributeValue) provider.AttributeMatch {
		return provider.AttributeMatch{Name: "w", Kind: provider.AttributeText, Prefix: prefix, From: from, To: to}
	}
	checkMatch(t, "is-ab is-abc", texts("ab", nil, nil))
	checkMatch(t, "is-a%", texts("a%", nil, nil))
	checkMatch(t, "is-a_", texts("a_", nil, nil))
	checkMatch(t, "is-a is-a% is-aB is-a_ is-ab is-abc", texts("a", nil, nil))
	checkMatch(t, "is-\ud7ff", texts("\ud7ff", nil, nil))
	checkMatch(t, "is-\U0010ffff is-\U0010ffffz", texts("\U0010ffff", nil, nil))
	checkMatch(t, "is-\U0010ffffz", texts("\U0010ffffz", nil, nil))
	checkMatch(t, "empty is-a is-a%", texts("", nil, chars("aB")))
	checkMatch(t, "is-b", texts("", chars("abcd"), chars("\u00e9")))
	checkMatch(t, "is-abc", texts("ab", chars("abb"), nil))
	checkMatch(t, "", texts("A", nil, nil))
}

func filterAny(t *trial) {
	for n := range int64(5) {
		t.create(fmt.Sprint("i", n), attributed(number("n", n), word("w", fmt.Sprint("t", n%2))))
	}
	numbers := provider.AttributeMatch{Name: "n", Kind: provider.AttributeInt, Any: []provider.AttributeValue{{Number: 1}, {Number: 4}, {Number: 9}}}
	checkMatch(t, "i1 i4", numbers)
	texts := provider.AttributeMatch{Name: "w", Kind: provider.AttributeText, Any: []provider.AttributeValue{{Text: "t1"}, {Text: "t"}}}
	checkMatch(t, "i1 i3", texts)
	checkMatch(t, "i1", numbers, texts)
	numbers.From = value(2)
	checkMatch(t, "i4", numbers)
	checkList(t, provider.Filter{Attributes: []provider.Attribute{word("w", "t0")}, Matches: []provider.AttributeMatch{numbers}}, "i4")
}

func filterIDs(t *trial) {
	ids := []string{"a", "A", "Ab", "a\ud7ff", "a\ue000", "a\U0010ffff", "b", "\U0010ffff"}
	for _, id := range ids {
		t.create(id)
	}
	for _, prefix := range []string{"a", "A", "a\ud7ff", "a\ue000", "a\U0010ffff", "b", "\U0010ffff", "a\U0010ffffz"} {
		var want []string
		for _, id := range ids {
			if strings.HasPrefix(id, prefix) {
				want = append(want, id)
			}
		}
		slices.Sort(want)
		checkList(t, provider.Filter{IDPrefix: prefix}, strings.Join(want, " "))
	}
}

// filterChanged changes the attributes in later commits. The place in the order stays that of the creation.
func filterChanged(t *trial) {
	set := func(i provider.Instance, list ...provider.Attribute) {
		req := next(t.get(i.Key))
		req.Attributes = list
		t.commit(req)
	}
	a := t.begin("a")
	t.pass(blink)
	b := t.begin("b")
	set(b, number("n", 1))
	set(a, number("n", 1))
	one := provider.AttributeMatch{Name: "n", Kind: provider.AttributeInt, Any: []provider.AttributeValue{{Number: 1}}}
	list := listPages(t, provider.Filter{Matches: []provider.AttributeMatch{one}}, 1, func() {})
	is(t, "the order of pages", idsOf(list), "b a")
	set(a, number("n", 2))
	checkMatch(t, "b", one)
	set(b, word("n", "1"))
	checkMatch(t, "", one)
	t.remove(a.Key, true)
	checkMatch(t, "", provider.AttributeMatch{Name: "n", Kind: provider.AttributeInt})
}

// described makes an instance that has everything that a list may leave out.
func described(t *trial, id string, status []byte) provider.Instance {
	i := t.create(id, attributed(number("n", 1)))
	req := commitOf(t.fetchOne(), "started")
	req.CustomStatus = status
	t.commit(req)
	return t.get(i.Key)
}

func listBare(t *trial) {
	i := t.end(described(t, "i", []byte("status")))
	t.mustf(string(i.Result) == "result", "Get returned the result %q", i.Result)
	for _, filter := range []provider.Filter{{}, {IDPrefix: "i"}, {Matches: []provider.AttributeMatch{{Name: "n", Kind: provider.AttributeInt}}}} {
		list := listPages(t, filter, 10, func() {})
		t.mustf(len(list) == 1, "got %d instances, want 1", len(list))
		got := list[0]
		t.checkf(got.Result == nil, "%+v: the listed instance has the result %q, want none", filter, got.Result)
		t.checkf(string(got.CustomStatus) == "status" && len(got.Attributes) == 1 && got.Status == provider.StatusCompleted,
			"%+v: got %+v, want everything but the result", filter, got)
	}
}

func listOmits(t *trial) {
	described(t, "i", []byte("status"))
	t.send(t.byID("i").Key, text("m"))
	t.block(t.fetchOne(), true)
	all := []provider.ListField{provider.ListAttributes, provider.ListCustomStatus, provider.ListBlockedMessage}
	for n := range 1 << len(all) {
		var omit []provider.ListField
		for i, field := range all {
			if n&(1<<i) != 0 {
				omit = append(omit, field)
			}
		}
		res, err := t.List(t.ctx, provider.ListRequest{Omit: omit})
		t.ok(err)
		t.mustf(len(res.Instances) == 1 && res.Instances[0].Blocked != nil, "got %+v, want one blocked instance", res.Instances)
		i := res.Instances[0]
		got := fmt.Sprint(len(i.Attributes) == 0, len(i.CustomStatus) == 0, i.Blocked.Message == "")
		is(t, fmt.Sprintf("what is empty without %v", omit), got, fmt.Sprint(n&1 != 0, n&2 != 0, n&4 != 0))
		t.checkf(i.Blocked.Reason != "" && i.ID == "i", "got %+v, want the fields that are always returned", i)
	}
	_, err := t.List(t.ctx, provider.ListRequest{Omit: []provider.ListField{0}})
	t.want(err, provider.ErrInvalid)
}

// listBytes lists custom statuses of which two fill a page exactly.
func listBytes(t *trial) {
	const half = provider.MaxFetchBytes / 2
	for n, size := range []int{half, half, half + 1, half, 1, 1} {
		described(t, fmt.Sprint("i", n), bytes.Repeat([]byte{'s'}, size))
		t.pass(blink) // the next one is newer
	}
	pages := func(omit ...provider.ListField) (shown string) {
		req := provider.ListRequest{Omit: omit}
		for {
			res, err := t.List(t.ctx, req)
			t.ok(err)
			t.mustf(len(res.Instances) > 0, "a page is empty")
			shown += idsOf(res.Instances)
			if req.Cursor = res.Cursor; req.Cursor == "" {
				return shown
			}
			shown += ", "
		}
	}
	is(t, "the pages", pages(), "i5 i4 i3, i2, i1 i0")
	is(t, "the pages without the statuses", pages(provider.ListCustomStatus), "i5 i4 i3 i2 i1 i0")
}

func countMax(t *trial) {
	for n := range 5 {
		t.create(fmt.Sprint("i", n), attributed(number("n", 1)))
	}
	t.create("other")
	for _, filter := range []provider.Filter{
		{IDPrefix: "i"}, {Attributes: []provider.Attribute{number("n", 1)}}, {IDPrefix: "i", Statuses: []provider.Status{provider.StatusRunning}},
	} {
		for _, c := range []struct {
			most, want int64
			exact      bool
		}{{0, 5, true}, {4, 4, false}, {5, 5, true}, {6, 5, true}, {1, 1, false}} {
			res, err := t.Count(t.ctx, provider.CountRequest{Filter: filter, Max: c.most})
			t.ok(err)
			t.checkf(res.Count == c.want && res.Exact == c.exact, "%+v with Max %d counts %+v, want %d, exact %t", filter, c.most, res, c.want, c.exact)
		}
	}
	_, err := t.Count(t.ctx, provider.CountRequest{Max: -1})
	t.want(err, provider.ErrInvalid)
}

// listReached checks that no page has an instance which was created after the moment that an earlier page has reached.
func listReached(t *trial) {
	for n := range 6 {
		t.create(fmt.Sprint("i", n))
		if n%2 == 1 {
			t.pass(blink)
		}
	}
	for size := 1; size < 6; size++ {
		reached := provider.Time(0)
		req := provider.ListRequest{Max: size}
		for more := true; more; more = req.Cursor != "" {
			res, err := t.List(t.ctx, req)
			t.ok(err)
			for _, i := range res.Instances {
				t.checkf(reached == 0 || i.CreatedAt <= reached, "%s was created at %d, after %d, which the page before had reached", i.ID, i.CreatedAt, reached)
			}
			req.Cursor, reached = res.Cursor, res.Reached
		}
	}
}
