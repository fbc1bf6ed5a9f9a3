package client_test

import (
	"errors"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/provider"
)

// searchNow is the storage's time in tests of searches.
var searchNow = time.Date(2026, 3, 4, 5, 6, 7, 89_000, time.UTC)

// Each word is found, and is written in one form.
func TestSearchWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                   "",
		"  status:Failed,RUNNING,failed\n":   "status:failed,running",
		"is:blocked is:waiting is:retrying":  "is:blocked is:waiting is:retrying",
		"is:replaced also:system":            "also:replaced also:system",
		"name:Order version:3,\"\",3 id:eu-": `name:Order version:3,"" id:eu-`,
		`id:eu-* id2:x`:                      "search, column 9: ",
		`id:"eu-*"`:                          `id:"eu-*"`,
		`name:"a b" group:v1-ab`:             `name:"a b" group:v1-ab`,
		"parent:01000000-0000-0000-0000-0000000000ab": "parent:01000000-0000-0000-0000-0000000000ab",
		"started:<1h":                                 "started:2026-03-04T04:06:07.000089Z..",
		"ended:>1d12h":                                "ended:..2026-03-02T17:06:07.000089Z",
		"started:2d..1d":                              "started:2026-03-02T05:06:07.000089Z..2026-03-03T05:06:07.000089Z",
		"started:2026-01-02+02:00":                    "started:2026-01-01T22:00:00Z..2026-01-02T22:00:00Z",
		"ended:2026-01-02T03:04Z..":                   "ended:2026-01-02T03:04:00Z..",
		"started:..2026-01-02Z started:1w..":          "search, column 31: ",
		"started:<2d started:>1d":                     "started:2026-03-02T05:06:07.000089Z..2026-03-03T05:06:07.000089Z",
		"@region:eu @n:7 @b:true":                     "@region:eu @n:7 @b:true",
		`@region:"eu" @n:"7" @b:"true" @v:""`:         `@region:eu @n:"7" @b:"true" @v:""`,
		"@n:1..5 @n:-3.. @n:..+8":                     "@n:1..5 @n:-3.. @n:..8",
		"@region:eu,us @name:eu-* @any:*":             "@region:eu,us @name:eu-* @any:*",
		`@"a:b c":"x"*`:                               `@"a:b c":x*`,
		"@due:2026-01-02Z..2026-01-03T00:00:00+01:00": "@due:2026-01-02T00:00:00Z..2026-01-02T23:00:00Z",
		"@status:failed @OR:and":                      "@status:failed @OR:and",
		"status:failed OR is:blocked name:a":          "status:failed OR is:blocked name:a",
	} {
		s, err := client.ParseSearch(text, searchNow)
		got := s.String()
		if err != nil {
			got = err.Error()
		}
		if got != want && (err == nil || !strings.HasPrefix(got, want) || want == "") {
			t.Errorf("%q is read as %s, want %s", text, got, want)
		}
	}
}

// Each error says what is wrong, where, and what to write.
func TestSearchErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"statsu:failed":              `search, column 1: "statsu" is no word of searches: write status:`,
		"region:eu":                  `search, column 1: "region" is no word of searches: write one of status, is, also, name, version, id, parent, group, started, ended, or @region: for an attribute`,
		"name:a state:failed":        `search, column 8: "state" is no word of searches: write status:`,
		"status:faild":               `search, column 8: "faild" is no status: write status:failed`,
		"status:failed,retrying":     `search, column 15: "retrying" is no status: write is:retrying`,
		"is:failed":                  `search, column 4: "failed" is nothing that is: knows: write status:failed`,
		"is:retying":                 `search, column 4: "retying" is nothing that is: knows: write is:retrying`,
		"is:blocked,waiting":         `search, column 12: is: takes one value: write a term for each, or OR between branches`,
		"order-42":                   `search, column 1: "order-42" has no word: write WORD:VALUE; for instances whose ID begins so, id:order-42`,
		"NOT status:failed":          `search, column 1: there is no NOT: say what instances have, such as status:running,suspended`,
		"-status:failed":             `search, column 1: there is no NOT: say what instances have, such as status:running,suspended`,
		"name:!a":                    `search, column 6: "!" has no meaning here: there is no NOT, and ranges are A..B; quote a text that begins so: "!a"`,
		"(name:a)":                   `search, column 1: there are no parentheses: write out the branches, such as status:failed name:a OR status:failed name:b`,
		"name:a and id:b":            `search, column 8: terms with a space between them must all hold anyway: leave it out`,
		"name:a or id:b":             `search, column 8: "or" is no term: write OR`,
		"OR name:a":                  `search, column 1: OR has nothing before it: give terms on both sides, such as status:failed OR is:blocked`,
		"name:é OR ":                 `search, column 8: OR has nothing after it: give terms on both sides, such as status:failed OR is:blocked`,
		"name:a OR OR name:b":        `search, column 11: OR has nothing before it: give terms on both sides, such as status:failed OR is:blocked`,
		"name:a name:b":              `search, column 8: name: stands twice in a branch: give several values with commas where the word takes them, or write OR`,
		"name:a*":                    `search, column 6: name: takes no beginning: give the whole value; quote a text that ends with a star`,
		"name:a*b":                   `search, column 6: a star stands within a value: put it at the end, for a beginning; quote a text that has one: "a*b"`,
		"name:":                      `search, column 6: a value is missing: give a value; the empty text is ""`,
		`name:""`:                    `search, column 6: name: is empty: give a value, or leave the term out`,
		`name:"a`:                    `search, column 6: a text in quotes does not end, or has an unknown escape: end it with a quote; write \" for a quote within, and \\ for a backslash`,
		`name:a"b"`:                  `search, column 7: "\"" cannot follow here: put a space between terms, and quotes around a whole text`,
		"name:a..b":                  `search, column 6: name: takes no range: give a value; quote a text that has this`,
		"parent:order-42":            `search, column 8: "order-42" is no key of an instance: give the key that perdure describe shows, not the ID`,
		"started:1h":                 `search, column 9: one moment is no range: write A..B, A.. or ..B; <1h for the last hour, >2d for what is older`,
		"started:<2026-01-02Z":       `search, column 10: "2026-01-02Z" is no duration: write a duration such as <30m, <1h30m or >2d; for times write A..B, A.. or ..B`,
		"started:2026-01-02..":       `search, column 9: "2026-01-02" is no time: add the zone, such as 2026-01-02Z or 2026-01-02+02:00`,
		"started:2026-01-02T03:04..": `search, column 9: "2026-01-02T03:04" is no time: add the zone, such as 2026-01-02T03:04Z or 2026-01-02T03:04+02:00`,
		"started:..":                 `search, column 9: a range has no end: write A..B, A.. or ..B`,
		"started:1d..2d":             `search, column 9: the range has no time in it: let the range begin before it ends`,
		"started:<999999999d":        `search, column 10: "999999999d" is no duration: write a duration such as <30m, <1h30m or >2d; for times write A..B, A.. or ..B`,
		"@region":                    `search, column 2: the attribute "region" has no value: write @NAME:VALUE, such as @region:eu`,
		"@:eu":                       `search, column 2: the name of an attribute is empty: give 1 to 512 bytes of UTF-8: write @NAME:VALUE, such as @region:eu`,
		"@n:>5":                      `search, column 4: attributes take no '>': write @n:A.. for A or more`,
		"@n:<5":                      `search, column 4: attributes take no '<': write @n:..B for less than B`,
		"@n:1.5":                     `search, column 4: "1.5" is no whole number, boolean or time: quote a text: "1.5"; else give a number of 64 bits, true, false, or a time such as 2026-01-02T03:04:05Z`,
		"@n:1,x":                     `search, column 6: the values are of several kinds: give values of one kind; quotes make a text`,
		"@n:7*":                      `search, column 4: only texts have a beginning: quote it: "7"*`,
		"@b:True":                    `search, column 4: "True" is no whole number, boolean or time: quote a text: "True"; else give a number of 64 bits, true, false, or a time such as 2026-01-02T03:04:05Z`,
	} {
		_, err := client.ParseSearch(text, searchNow)
		bad, ok := errors.AsType[*client.SearchError](err)
		if !ok || err.Error() != want || !errors.Is(err, client.ErrInvalid) || bad.Column > utf8.RuneCountInString(text)+1 {
			t.Errorf("%q: %v\nwant %s", text, err, want)
		}
	}
}

// A search has bounds, which no form of it passes.
func TestHazard162_SearchesAreBounded(t *testing.T) {
	t.Parallel()
	branches := func(n int) string { return strings.TrimSuffix(strings.Repeat("is:blocked OR ", n), " OR ") }
	terms := func(n int) string { return strings.Repeat("@a:1 ", n) }
	for text, want := range map[string]string{
		branches(4):                 "",
		branches(5):                 "more than 4 branches",
		terms(16):                   "",
		terms(17):                   "more than 16 terms",
		terms(9) + "OR " + terms(8): "more than 16 terms",
		`id:"` + strings.Repeat("a", 500) + `" name:"` + strings.Repeat("a", 400) + `"`: "",
		strings.Repeat(" ", 2049): "2049 bytes",
		`@a:` + strings.TrimSuffix(strings.Repeat("2026-01-02Z,", 150), ","): "bytes when it is written out",
		"@a:/e.*/ name:a": "a star stands within",
	} {
		s, err := client.ParseSearch(text, searchNow)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.60q: %v, want %q", text, err, want)
		}
		if _, err := s.And(client.Filter{Blocked: true}); want == "" && strings.HasPrefix(text, "@a") && (err == nil || !strings.Contains(err.Error(), "17 terms")) {
			t.Errorf("with one more term: %v", err)
		}
	}
}

// A relative time is one time from the moment when it was parsed: in the text, in the filters, and whenever the text is parsed again. An attribute
// is no word, and its kind is in its form.
func TestHazard163_WordsAndTimesStay(t *testing.T) {
	t.Parallel()
	s, err := client.ParseSearch("started:<1h @started:5 ended:>30m", searchNow)
	if err != nil {
		t.Fatal(err)
	}
	again, err := client.ParseSearch(s.String(), searchNow.Add(time.Hour))
	if err != nil || again.String() != s.String() {
		t.Fatalf("%s became %s: %v", s, again, err)
	}
	f, _ := again.Filter()
	if !f.CreatedAfter.Equal(searchNow.Add(-time.Hour)) || !f.EndedBefore.Equal(searchNow.Add(-30*time.Minute)) {
		t.Errorf("the times are %v and %v", f.CreatedAfter, f.EndedBefore)
	}
	if _, err := client.ParseSearch("started:<1h", time.Time{}); err == nil {
		t.Error("so long ago is a time although nobody knows what time it is")
	}
	for text, want := range map[string]client.AttributeFilter{
		"@a:7": client.AttributeIs("a", 7), `@a:"7"`: client.AttributeIs("a", "7"), "@a:eu": client.AttributeIs("a", "eu"),
		"@a:true": client.AttributeIs("a", true), `@a:"true"`: client.AttributeIs("a", "true"),
		"@a:2026-01-02Z": client.AttributeIs("a", time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)),
		"@a:5..":         client.AttributeFrom("a", 5), "@a:..m": client.AttributeBelow("a", "m"), "@a:eu*": client.AttributePrefix("a", "eu"),
	} {
		s, err := client.ParseSearch(text, searchNow)
		if f, _ := s.Filter(); err != nil || !reflect.DeepEqual(f.Attributes, []client.AttributeFilter{want}) { //nolint:govet // filters that were parsed have no errors
			t.Errorf("%s is %+v, want %+v: %v", text, f.Attributes, want, err)
		}
	}
}

// searchTexts are texts that are hard to print and to parse.
func searchTexts() *rapid.Generator[string] {
	return rapid.OneOf(rapid.SampledFrom([]string{
		"eu", "a b", `"`, `\`, "a..b", ".", "..", "*", "a*", "OR", "<1h", "!x", "7", "-7", "true", "TRUE", "2026-01-02Z", "a,b", "x:y", "(", "\n", "\u00a0", "é", "\U0001f600", "\ufffd", "@x",
	}), rapid.StringN(1, 8, 30)).Filter(func(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) })
}

// searchFilters are filters with any of their fields.
func searchFilters() *rapid.Generator[client.Filter] {
	return rapid.Custom(func(t *rapid.T) client.Filter {
		text := searchTexts()
		some := func(label string) bool { return rapid.IntRange(0, 2).Draw(t, label) == 0 }
		f := client.Filter{
			Blocked: some("blocked"), Waiting: some("waiting"), Retrying: some("retrying"), Replaced: some("replaced"), System: some("system"),
		}
		for into, label := range map[*string]string{&f.IDPrefix: "id", &f.Orchestration: "name", &f.FailureGroup: "group"} {
			if some(label) {
				*into = text.Draw(t, label)
			}
		}
		if some("statuses") {
			f.Statuses = rapid.SliceOfNDistinct(rapid.SampledFrom([]client.Status{
				client.StatusRunning, client.StatusFailed, client.StatusCompleted, client.StatusTerminated,
			}), 1, 3, rapid.ID).Draw(t, "statuses")
		}
		if some("versions") {
			f.CodeVersions = rapid.SliceOfNDistinct(rapid.OneOf(text, rapid.Just("")), 1, 3, rapid.ID).Draw(t, "versions")
		}
		if some("parent") {
			f.Parent = provider.UUID{1, rapid.Byte().Draw(t, "parent")}
		}
		at := func(label string) time.Time {
			return searchNow.Add(time.Duration(rapid.Int64Range(-1e15, 1e15).Draw(t, label)) * time.Microsecond)
		}
		if some("started") {
			f.CreatedAfter = at("after")
		}
		if some("before") {
			f.CreatedBefore = f.CreatedAfter.Add(2e15 * time.Microsecond)
		}
		if some("ended") {
			f.EndedBefore = at("ended")
		}
		for range rapid.IntRange(0, 3).Draw(t, "attributes") {
			name := text.Draw(t, "attribute")
			f.Attributes = append(f.Attributes, rapid.OneOf(
				rapid.Just(client.AttributeIs(name, text.Draw(t, "text"), text.Draw(t, "text"))), rapid.Just(client.AttributeIs(name, "")),
				rapid.Just(client.AttributeIs(name, rapid.Int64().Draw(t, "number"))), rapid.Just(client.AttributeIs(name, some("true"))),
				rapid.Just(client.AttributeFrom(name, at("instant"))), rapid.Just(client.AttributeBelow(name, text.Draw(t, "below"))),
				rapid.Just(client.AttributePrefix(name, text.Draw(t, "prefix"))), rapid.Just(client.AttributePrefix(name, "")),
			).Draw(t, "condition"))
		}
		return f
	})
}

// Each filter can be written as a search, and its text is read as the same filter. So it is for several branches.
func TestSearchesGoToTextAndBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var texts []string
		var filters []client.Filter
		for _, f := range rapid.SliceOfN(searchFilters(), 1, 2).Draw(t, "filters") {
			s, err := f.Search()
			if err != nil {
				if bad, ok := errors.AsType[*client.SearchError](err); !ok || !strings.Contains(bad.Why, "16") && !strings.Contains(bad.Why, "terms") && !strings.Contains(bad.Why, "bytes") {
					t.Fatalf("%+v: %v", f, err)
				}
				return
			}
			if s.String() != "" {
				texts, filters = append(texts, s.String()), append(filters, s.Filters()...)
			}
		}
		text := strings.Join(texts, " OR ")
		s, err := client.ParseSearch(text, searchNow.Add(time.Hour))
		if bad, ok := errors.AsType[*client.SearchError](err); ok && (strings.Contains(bad.Why, "terms") || strings.Contains(bad.Why, "bytes")) {
			return
		}
		if err != nil || s.String() != text {
			t.Fatalf("%s became %s: %v", text, s, err)
		}
		if len(filters) > 0 && !reflect.DeepEqual(s.Filters(), filters) { //nolint:govet // filters that were parsed have no errors
			t.Fatalf("%s is %+v, want %+v", text, s.Filters(), filters)
		}
	})
}

// FuzzSearch parses any text as a search. It prints as a text that is read as the same search, or its error says where.
func FuzzSearch(f *testing.F) {
	for _, text := range []string{
		"", "status:failed is:retrying name:checkout @region:eu started:<1h", `@"a:b":"x"* OR id:é version:"",2`, "started:2d..1d ended:2026-01-02Z", "@n:1..5 @n:-3.. @t:..2026-01-02Z",
		"parent:01000000-0000-0000-0000-0000000000ab", "name:a..b", "NOT x", `id:"\u00e9\n"`, "also:system OR is:replaced", "started:..", "@a:*",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := client.ParseSearch(text, searchNow)
		if err != nil {
			bad, ok := errors.AsType[*client.SearchError](err)
			if !ok || bad.Column > utf8.RuneCountInString(text)+1 || bad.Why == "" || bad.Mend == "" {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		again, err := client.ParseSearch(s.String(), searchNow.Add(time.Hour))
		if err != nil || again.String() != s.String() || !reflect.DeepEqual(again.Filters(), s.Filters()) { //nolint:govet // filters that were parsed have no errors
			t.Fatalf("%q is %q, which is read as %q: %v", text, s, again, err)
		}
	})
}

// The page of searches has all words, and each of its examples is a search.
func TestPageTellsTheWords(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../docs/reference/search.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	_, known, _ := strings.Cut(func() string { _, err := client.ParseSearch("zzzzzz:x", searchNow); return err.Error() }(), "one of ")
	words := strings.Split(strings.TrimSuffix(known, ", or @zzzzzz: for an attribute"), ", ")
	if len(words) < 10 {
		t.Fatalf("the words are %q", words)
	}
	for _, word := range words {
		if !strings.Contains(page, "\n| `"+word+":` | ") || !strings.Contains(page, `"`+word+`"`) {
			t.Errorf("the page does not tell %s:", word)
		}
	}
	examples := regexp.MustCompile("(?m)^\\| (?:`[^`]*` \\| )?`([^`]*:[^`]+)` \\|").FindAllStringSubmatch(page, -1)
	if len(examples) < 20 {
		t.Errorf("the page has only %d examples", len(examples))
	}
	for _, e := range examples {
		if _, err := client.ParseSearch(e[1], searchNow); err != nil {
			t.Errorf("%s: %v", e[1], err)
		}
	}
}

// A search with two mistakes names the same one each time.
func TestSearchNamesTheFirstEmptyRange(t *testing.T) {
	t.Parallel()
	at := time.Unix(1, 0)
	f := client.Filter{CreatedAfter: at, CreatedBefore: at, EndedAfter: at, EndedBefore: at}
	for range 50 {
		if _, err := f.Search(); err == nil || !strings.Contains(err.Error(), "started: leaves no time") {
			t.Fatalf("%v", err)
		}
	}
}

// A range without a value in it is refused where it stands, a mistake is quoted with whole letters, and the last day that can be written is a day.
func TestSearchRangesAndLetters(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"@a:5..1":                     "search, column 4: the range has no value in it",
		"status:failed @a:5..5":       "search, column 18: the range has no value in it",
		"@a:b..a":                     "search, column 4: the range has no value in it",
		"@a:true..false":              "search, column 4: the range has no value in it",
		"@a:2026-01-02Z..2026-01-01Z": "search, column 4: the range has no value in it",
		`@a:"b"é`:                     `search, column 7: "é" cannot follow here`,
		`@a:"b"` + "\U0001F600":       `search, column 7: "` + "\U0001F600" + `" cannot follow here`,
	} {
		if _, err := client.ParseSearch(text, now); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	for _, text := range []string{"started:9999-12-31Z", "ended:9999-12-31Z..", "@a:1..2", "@a:a..b", "@a:false..true", "@a:9999-12-31T23:59:59Z"} {
		s, err := client.ParseSearch(text, now)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		again, err := client.ParseSearch(s.String(), now.Add(time.Hour))
		if err != nil || again.String() != s.String() {
			t.Errorf("%q is %q, and %q: %v", text, s, again, err)
		}
	}
	late := time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, f := range []client.Filter{{CreatedBefore: late}, {EndedAfter: late}, {Attributes: []client.AttributeFilter{client.AttributeIs("a", late)}}} {
		if s, err := f.Search(); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("%+v is %q: %v", f, s, err)
		}
	}
}

// Whether a range has a time in it may depend on when it is searched: a check without the time does not refuse it.
func TestCheckSearch(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{
		"started:2026-11-01Z..5m": true, "started:5m..2026-11-01Z": true, "started:2026-11-01Z..5m ended:>1h": true, "started:>1h ended:<1h": true,
		"started:2026-11-02Z..2026-11-01Z": false, "started:2026-11-01Z..5x": false, "status:faild": false, "": true,
	} {
		if err := client.CheckSearch(text); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := client.ParseSearch("started:2026-11-01Z..5m", time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("a range in the future: %v", err)
	}
}
