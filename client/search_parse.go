package client

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/perdure/perdure/internal/check"
)

// ParseSearch parses the text of a search. Relative times, such as those of started:<1h, become absolute by now, which should be
// [Client.SearchTime]: times of instances are by the storage's clock. The error is a *SearchError.
func ParseSearch(text string, now time.Time) (Search, error) {
	p := &searchParser{text: text, now: now, search: Search{now: now}}
	if err := p.parse(); err != nil {
		return Search{}, err
	}
	return p.search, nil
}

// CheckSearch returns the *SearchError of a text that ParseSearch would refuse at any time, and nil for others: whether a range such as
// started:2026-01-02Z..5m has a time in it depends on when it is searched.
func CheckSearch(text string) error {
	return (&searchParser{text: text, now: time.Unix(1<<30, 0), anyTime: true}).parse()
}

// searchParser parses a search from left to right.
type searchParser struct {
	text    string
	at      int // bytes before it are parsed
	now     time.Time
	anyTime bool // now stands for any time
	relates bool // a time was relative to now
	search  Search
	seen    map[string]bool // words of the branch that may stand in it once
}

func (p *searchParser) parse() error {
	if len(p.text) > maxSearchBytes {
		return &SearchError{Why: fmt.Sprintf("it has %d bytes", len(p.text)), Mend: fmt.Sprintf("give at most %d", maxSearchBytes)}
	}
	if !utf8.ValidString(p.text) || strings.ContainsRune(p.text, 0) {
		return &SearchError{Why: "it is no text in UTF-8 without NUL", Mend: "write what else it has in quotes, such as \"\\u00e9\""}
	}
	var branch *Filter
	for p.space(); p.at < len(p.text); p.space() {
		begin := p.at
		switch word := p.peek(); {
		case word == "OR" && branch == nil:
			return p.fail(begin, "give terms on both sides, such as status:failed OR is:blocked", "OR has nothing before it")
		case word == "OR":
			p.at += len(word)
			if branch = nil; len(p.search.branches) == maxSearchBranches {
				return p.fail(begin, "search again for the others", "it has more than %d branches", maxSearchBranches)
			}
			if p.space(); p.at == len(p.text) {
				return p.fail(begin, "give terms on both sides, such as status:failed OR is:blocked", "OR has nothing after it")
			}
		case branch == nil:
			p.search.branches = append(p.search.branches, Filter{})
			branch, p.seen = &p.search.branches[len(p.search.branches)-1], map[string]bool{}
			fallthrough
		default:
			if err := p.term(branch); err != nil {
				return err
			}
		}
	}
	return p.search.bounded()
}

func (p *searchParser) space() {
	p.at += len(p.text[p.at:]) - len(strings.TrimLeftFunc(p.text[p.at:], unicode.IsSpace))
}

// peek returns the text up to the next space.
func (p *searchParser) peek() string {
	if end := strings.IndexFunc(p.text[p.at:], unicode.IsSpace); end >= 0 {
		return p.text[p.at : p.at+end]
	}
	return p.text[p.at:]
}

// term parses a term, and adds it to a filter.
func (p *searchParser) term(f *Filter) error {
	if len(p.search.terms) == maxSearchTerms {
		return p.fail(p.at, "leave some out", "it has more than %d terms", maxSearchTerms)
	}
	t := SearchTerm{Column: utf8.RuneCountInString(p.text[:p.at]) + 1}
	begin := p.at
	var err error
	if p.text[p.at] == '@' {
		p.at++
		t.Word = "@"
		if t.Attribute, err = p.attributeName(); err != nil {
			return err
		}
	} else if t.Word, err = p.word(); err != nil {
		return err
	}
	valueAt := p.at
	v, err := p.value()
	if err != nil {
		return err
	}
	t.Text = p.text[begin:p.at]
	if once := t.Word; !slices.Contains([]string{"@", "is", "also", "started", "ended"}, once) {
		if p.seen[once] {
			return p.fail(begin, "give several values with commas where the word takes them, or write OR", "%s: stands twice in a branch", once)
		}
		p.seen[once] = true
	}
	if err := p.apply(f, &t, v, valueAt); err != nil {
		return err
	}
	p.search.terms = append(p.search.terms, t)
	return nil
}

// attributeName parses the name between @ and the colon.
func (p *searchParser) attributeName() (string, error) {
	begin := p.at
	var name string
	if strings.HasPrefix(p.text[p.at:], `"`) {
		a, err := p.quoted()
		if err != nil {
			return "", err
		}
		name = a.text
	} else {
		bare := p.peek()
		if end := strings.IndexByte(bare, ':'); end >= 0 {
			bare = bare[:end]
		}
		p.at += len(bare)
		if name = bare; name != "" && bareOrQuoted(name) != name {
			return "", p.fail(begin, "quote it: @"+strconv.Quote(name)+":", "the name of an attribute has what searches read otherwise")
		}
	}
	if err := check.Name("the name of an attribute", name); err != nil {
		return "", p.fail(begin, "write @NAME:VALUE, such as @region:eu", "%v", err)
	}
	if !strings.HasPrefix(p.text[p.at:], ":") {
		return "", p.fail(begin, "write @NAME:VALUE, such as @region:eu", "the attribute %s has no value", check.Quote(name))
	}
	p.at++
	return name, nil
}

// word parses a word and its colon.
func (p *searchParser) word() (string, error) {
	begin, all := p.at, p.peek()
	word, _, found := strings.Cut(all, ":")
	switch {
	case strings.HasPrefix(all, "(") || strings.HasPrefix(all, ")"):
		return "", p.fail(begin, "write out the branches, such as status:failed name:a OR status:failed name:b", "there are no parentheses")
	case strings.EqualFold(all, "or"):
		return "", p.fail(begin, "write OR", "%s is no term", check.Quote(all))
	case strings.EqualFold(all, "and"):
		return "", p.fail(begin, "leave it out", "terms with a space between them must all hold anyway")
	case strings.EqualFold(all, "not"), strings.HasPrefix(all, "-"), strings.HasPrefix(all, "!"):
		return "", p.fail(begin, "say what instances have, such as status:running,suspended", "there is no NOT")
	case !found:
		return "", p.fail(begin, "write WORD:VALUE; for instances whose ID begins so, id:"+bareOrQuoted(check.Cut(all, 40)), "%s has no word", check.Quote(all))
	case !slices.Contains(searchWords, word):
		return "", p.fail(begin, mendWord(word), "%s is no word of searches", check.Quote(word))
	}
	p.at += len(word) + 1
	return word, nil
}

// searchAtom is one value of a term.
type searchAtom struct {
	text   string
	quoted bool
	star   bool // a star follows
	at     int  // in the text of the search
}

// searchValues is what follows the colon of a term.
type searchValues struct {
	sign  byte // '<' or '>' before it, else 0
	atoms []searchAtom
	ends  [2]*searchAtom // of a range; nil: it is open there
	rng   bool           // it is a range
}

// value parses what follows the colon.
func (p *searchParser) value() (v searchValues, err error) {
	begin := p.at
	if p.at < len(p.text) && (p.text[p.at] == '<' || p.text[p.at] == '>') {
		v.sign = p.text[p.at]
		p.at++
	}
	for {
		if strings.HasPrefix(p.text[p.at:], "..") {
			if v.rng || len(v.atoms) > 1 || v.sign != 0 {
				return v, p.fail(p.at, "write A..B, A.. or ..B; quote a text that has two dots", "a range has two ends")
			}
			v.rng = true
			if len(v.atoms) == 1 {
				v.ends[0] = &v.atoms[0]
			}
			if p.at += len(".."); p.at == len(p.text) || p.spaceHere() {
				break
			}
		}
		a, err := p.atom()
		if err != nil {
			return v, err
		}
		if v.rng {
			v.ends[1] = &a
			break
		}
		v.atoms = append(v.atoms, a)
		if strings.HasPrefix(p.text[p.at:], "..") {
			continue
		}
		if p.at == len(p.text) || p.text[p.at] != ',' {
			break
		}
		p.at++
	}
	return v, p.valueEnds(&v, begin)
}

// valueEnds refuses what follows a value but a space, and a range without ends.
func (p *searchParser) valueEnds(v *searchValues, begin int) error {
	switch {
	case p.at < len(p.text) && !p.spaceHere():
		next, _ := utf8.DecodeRuneInString(p.text[p.at:])
		return p.fail(p.at, "put a space between terms, and quotes around a whole text", "%q cannot follow here", string(next))
	case v.rng && v.ends[0] == nil && v.ends[1] == nil:
		return p.fail(begin, "write A..B, A.. or ..B", "a range has no end")
	}
	return nil
}

func (p *searchParser) spaceHere() bool {
	r, _ := utf8.DecodeRuneInString(p.text[p.at:])
	return unicode.IsSpace(r)
}

// atom parses one value.
func (p *searchParser) atom() (searchAtom, error) {
	if strings.HasPrefix(p.text[p.at:], `"`) {
		a, err := p.quoted()
		if err == nil && strings.HasPrefix(p.text[p.at:], "*") {
			a.star = true
			p.at++
		}
		return a, err
	}
	a := searchAtom{at: p.at}
	bare := p.peek()
	if end := strings.IndexAny(bare, `,"`); end >= 0 {
		bare = bare[:end]
	}
	if end := strings.Index(bare, ".."); end >= 0 {
		bare = bare[:end]
	}
	p.at += len(bare)
	a.text, a.star = strings.CutSuffix(bare, "*")
	switch {
	case bare == "":
		return a, p.fail(a.at, `give a value; the empty text is ""`, "a value is missing")
	case strings.Contains(a.text, "*"):
		return a, p.fail(a.at, "put it at the end, for a beginning; quote a text that has one: "+strconv.Quote(bare), "a star stands within a value")
	case a.text != "" && strings.ContainsAny(a.text[:1], "<>!"):
		return a, p.fail(a.at, "there is no NOT, and ranges are A..B; quote a text that begins so: "+strconv.Quote(bare), "%q has no meaning here", a.text[:1])
	case a.text != "" && bareOrQuoted(a.text) != a.text:
		return a, p.fail(a.at, "quote it: "+strconv.Quote(bare), "a value has what searches read otherwise")
	}
	return a, nil
}

// quoted parses a text in quotes, in which a backslash escapes as in Go.
func (p *searchParser) quoted() (searchAtom, error) {
	a := searchAtom{at: p.at, quoted: true}
	text, err := strconv.QuotedPrefix(p.text[p.at:])
	if err == nil {
		a.text, err = strconv.Unquote(text)
	}
	if err != nil {
		return a, p.fail(a.at, `end it with a quote; write \" for a quote within, and \\ for a backslash`, "a text in quotes does not end, or has an unknown escape")
	}
	if err := check.OptionalName("a text in quotes", a.text); err != nil {
		return a, p.fail(a.at, "leave that out", "%v", err)
	}
	p.at += len(text)
	return a, nil
}
