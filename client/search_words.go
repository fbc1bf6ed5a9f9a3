package client

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/provider"
)

// searchWords are the words of searches. Names of attributes begin with @, so that no later word is one of them.
//
//nolint:gochecknoglobals // constant table
var searchWords = []string{"status", "is", "also", "name", "version", "id", "parent", "group", "started", "ended"}

// searchMends has what people write, and what they mean.
//
//nolint:gochecknoglobals // constant table
var searchMends = map[string]string{
	"state": "status:", "orchestration": "name:", "type": "name:", "prefix": "id:", "key": "parent: for children, or open the instance by its key",
	"created": "started:", "start": "started:", "attribute": "@NAME:VALUE", "attr": "@NAME:VALUE", "error": "group:", "blocked": "is:blocked",
	"waiting": "is:waiting", "retrying": "is:retrying", "replaced": "also:replaced", "system": "also:system", "with": "also:", "failure": "group:",
}

// mendWord says what to write in place of a word that is none.
func mendWord(word string) string {
	if mend := searchMends[strings.ToLower(word)]; mend != "" {
		return "write " + mend
	}
	if near := nearest(word, searchWords); near != "" {
		return "write " + near + ":"
	}
	return "write one of " + strings.Join(searchWords, ", ") + ", or @" + bareOrQuoted(check.Cut(word, 40)) + ": for an attribute"
}

// nearest returns the choice that differs from a word by at most two letters; "": none does.
func nearest(word string, choices []string) string {
	best, least := "", 3
	for _, c := range choices {
		if d := letters(strings.ToLower(word), c); d < least && d < len(c) {
			best, least = c, d
		}
	}
	return best
}

// letters returns how many letters have to change, go or come to make b of a.
func letters(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// apply adds a term to a filter.
func (p *searchParser) apply(f *Filter, t *SearchTerm, v searchValues, at int) error {
	switch t.Word {
	case "@":
		return p.attribute(f, t, v, at)
	case "started":
		return p.times(&f.CreatedAfter, &f.CreatedBefore, v, at)
	case "ended":
		return p.times(&f.EndedAfter, &f.EndedBefore, v, at)
	}
	if v.rng || v.sign != 0 {
		return p.fail(at, "give a value; quote a text that has this", "%s: takes no range", t.Word)
	}
	for i := range v.atoms {
		a := &v.atoms[i]
		if a.star && t.Word != "id" {
			return p.fail(a.at, "give the whole value; quote a text that ends with a star", "%s: takes no beginning", t.Word)
		}
		if i > 0 && t.Word != "status" && t.Word != "version" {
			return p.fail(a.at, "write a term for each, or OR between branches", "%s: takes one value", t.Word)
		}
		if err := p.one(f, t.Word, a); err != nil {
			return err
		}
	}
	return nil
}

// one adds a value of a word to a filter.
func (p *searchParser) one(f *Filter, word string, a *searchAtom) error {
	if err := check.OptionalName("the value", a.text); err != nil {
		return p.fail(a.at, "shorten it", "%v", err)
	}
	if a.text == "" && word != "version" {
		return p.fail(a.at, "give a value, or leave the term out", "%s: is empty", word)
	}
	switch word {
	case "status":
		return p.status(f, a)
	case "is", "also":
		return p.flag(f, word, a)
	case "name":
		f.Orchestration = a.text
	case "version":
		if !slices.Contains(f.CodeVersions, a.text) {
			f.CodeVersions = append(f.CodeVersions, a.text)
		}
	case "id":
		f.IDPrefix = a.text
	case "group":
		f.FailureGroup = a.text
	case "parent":
		if err := f.Parent.UnmarshalText([]byte(a.text)); err != nil || f.Parent.IsZero() {
			return p.fail(a.at, "give the key that perdure describe shows, not the ID", "%s is no key of an instance", check.Quote(a.text))
		}
	}
	return nil
}

// searchStatus parses the status of an instance, in any case.
func searchStatus(text string) (Status, bool) {
	for s := provider.StatusRunning; s <= provider.StatusTerminated; s++ {
		if strings.EqualFold(text, s.String()) {
			return Status(s.String()), true
		}
	}
	return "", false
}

func (p *searchParser) status(f *Filter, a *searchAtom) error {
	if s, ok := searchStatus(a.text); ok {
		if !slices.Contains(f.Statuses, s) {
			f.Statuses = append(f.Statuses, s)
		}
		return nil
	}
	lower := make([]string, 0, provider.StatusTerminated)
	for s := provider.StatusRunning; s <= provider.StatusTerminated; s++ {
		lower = append(lower, strings.ToLower(s.String()))
	}
	mend := "write one of " + strings.Join(lower, ", ")
	if flag := strings.ToLower(a.text); slices.ContainsFunc(f.flags(), func(s searchFlag) bool { return s.value == flag }) {
		mend = "write is:" + flag
	} else if near := nearest(a.text, lower); near != "" {
		mend = "write status:" + near
	}
	return p.fail(a.at, mend, "%s is no status", check.Quote(a.text))
}

// flag sets a condition without a value. is:replaced and is:system mean also:, because they find others, too.
func (p *searchParser) flag(f *Filter, word string, a *searchAtom) error {
	names, text := []string{}, strings.ToLower(a.text)
	for _, flag := range f.flags() {
		if flag.value == text && (flag.word == word || flag.word == "also") {
			*flag.on = true
			return nil
		}
		if flag.word == word {
			names = append(names, flag.value)
		}
	}
	mend := "write one of " + word + ":" + strings.Join(names, ", "+word+":")
	if _, known := searchStatus(text); known {
		mend = "write status:" + text
	} else if near := nearest(text, names); near != "" {
		mend = "write " + word + ":" + near
	}
	return p.fail(a.at, mend, "%s is nothing that %s: knows", check.Quote(a.text), word)
}

// times narrows a range of times.
func (p *searchParser) times(from, to *time.Time, v searchValues, at int) error {
	var low, high time.Time
	var err error
	switch {
	case v.sign != 0:
		if low, high, err = p.since(&v, at); err != nil {
			return err
		}
	case v.rng:
		for i, end := range v.ends {
			if end == nil {
				continue
			}
			t, _, err := p.moment(end)
			if err != nil {
				return err
			}
			*[]*time.Time{&low, &high}[i] = t
		}
	case len(v.atoms) != 1:
		return p.fail(at, "write OR between branches", "a time takes one range")
	default:
		t, day, err := p.moment(&v.atoms[0])
		if err != nil {
			return err
		}
		if !day {
			return p.fail(at, "write A..B, A.. or ..B; <1h for the last hour, >2d for what is older", "one moment is no range")
		}
		if low, high = t, t.Add(24*time.Hour); high.Year() > lastYear {
			high = time.Time{} // no later time can be written
		}
	}
	if *from, *to = later(*from, low), earlier(*to, high); p.anyTime && p.relates {
		return nil
	}
	if !from.IsZero() && !to.IsZero() && !from.Before(*to) {
		return p.fail(at, "let the range begin before it ends", "the range has no time in it")
	}
	return nil
}

// since parses the range of a duration with a sign.
func (p *searchParser) since(v *searchValues, at int) (low, high time.Time, err error) {
	if len(v.atoms) != 1 {
		return low, high, p.fail(at, "write <1h for the last hour, or >2d for what is older than two days", "the sign takes one duration")
	}
	a := &v.atoms[0]
	span, ok := parseSpan(a.text)
	if !ok || a.quoted || a.star {
		return low, high, p.fail(a.at, "write a duration such as <30m, <1h30m or >2d; for times write A..B, A.. or ..B", "%s is no duration",
			check.Quote(a.text))
	}
	ago, err := p.ago(a, span)
	if v.sign == '>' {
		return low, ago, err
	}
	return ago, high, err
}

// ago returns the time so long before now.
func (p *searchParser) ago(a *searchAtom, span time.Duration) (time.Time, error) {
	p.relates = true
	t := time.UnixMicro(p.now.Add(-span).UnixMicro()).UTC()
	if p.now.IsZero() || t.Year() < 1 || t.IsZero() {
		return t, p.fail(a.at, "give a time, such as 2026-01-02T03:04:05Z", "the time so long ago is not known")
	}
	return t, nil
}

// moment parses a time, a day, or how long ago it was. day reports that it is the beginning of a day.
func (p *searchParser) moment(a *searchAtom) (t time.Time, day bool, err error) {
	if span, ok := parseSpan(a.text); ok && !a.quoted && !a.star {
		t, err = p.ago(a, span)
		return t, false, err
	}
	t, day, ok := parseInstant(a.text)
	if !ok || a.star {
		return t, false, p.fail(a.at, mendInstant(a.text), "%s is no time", check.Quote(a.text))
	}
	return t, day, nil
}

// mendInstant says how to write a time.
func mendInstant(text string) string {
	for _, zone := range []string{"Z", ":00Z"} {
		if _, _, ok := parseInstant(text + zone); ok {
			return "add the zone, such as " + text + zone + " or " + text + "+02:00"
		}
	}
	return "write 2026-01-02T03:04:05Z, a day with its zone such as 2026-01-02Z, or how long ago, such as 1h"
}

// lastYear is the last one that the text of a time can have.
const lastYear = 9999

// parseInstant parses a time or a day with its zone.
func parseInstant(text string) (t time.Time, day, ok bool) {
	for _, form := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02Z07:00"} {
		if t, err := time.Parse(form, text); err == nil {
			t = time.UnixMicro(t.UnixMicro()).UTC()
			return t, form == "2006-01-02Z07:00", t.Year() >= 1 && t.Year() <= lastYear && !t.IsZero()
		}
	}
	return t, false, false
}

// parseSpan parses a duration with units from weeks to seconds, such as 1d12h.
func parseSpan(text string) (sum time.Duration, ok bool) {
	const most = 250 * 365 * 24 * time.Hour
	units := map[byte]time.Duration{'w': 7 * 24 * time.Hour, 'd': 24 * time.Hour, 'h': time.Hour, 'm': time.Minute, 's': time.Second}
	for text != "" {
		digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
		n, err := strconv.ParseInt(text[:digits], 10, 64)
		if err != nil || digits == len(text) {
			return 0, false
		}
		unit := units[text[digits]]
		if unit == 0 || n > int64(most/unit) || sum > most {
			return 0, false
		}
		sum += time.Duration(n) * unit
		delete(units, text[digits])
		text, ok = text[digits+1:], true
	}
	return sum, ok && sum <= most
}

// attribute adds a condition on an attribute.
func (p *searchParser) attribute(f *Filter, t *SearchTerm, v searchValues, at int) error {
	m := provider.AttributeMatch{Name: t.Attribute}
	if v.sign != 0 {
		mend := "write @" + nameText(t.Attribute) + ":..B for less than B"
		if v.sign == '>' {
			mend = "write @" + nameText(t.Attribute) + ":A.. for A or more"
		}
		return p.fail(at, mend, "attributes take no %q", v.sign)
	}
	switch {
	case v.rng:
		if err := p.attributeRange(&m, &v, at); err != nil {
			return err
		}
	case len(v.atoms) == 1 && v.atoms[0].star:
		m.Kind, m.Prefix = provider.AttributeText, v.atoms[0].text
		if !v.atoms[0].quoted && looksTyped(m.Prefix) {
			return p.fail(v.atoms[0].at, "quote it: "+strconv.Quote(m.Prefix)+"*", "only texts have a beginning")
		}
	default:
		for i := range v.atoms {
			if v.atoms[i].star {
				return p.fail(v.atoms[i].at, "write OR between branches", "a beginning stands alone")
			}
			one, err := p.attributeValue(&m, &v.atoms[i])
			if err != nil {
				return err
			}
			m.Any = append(m.Any, *one)
		}
	}
	f.Attributes = append(f.Attributes, AttributeFilter{match: m})
	t.match = m
	return nil
}

// attributeRange sets the ends of a range.
func (p *searchParser) attributeRange(m *provider.AttributeMatch, v *searchValues, at int) (err error) {
	for i, end := range v.ends {
		if end == nil {
			continue
		}
		if end.star {
			return p.fail(end.at, "write A..B without a star", "the end of a range is a value")
		}
		if *[]**provider.AttributeValue{&m.From, &m.To}[i], err = p.attributeValue(m, end); err != nil {
			return err
		}
	}
	if m.From != nil && m.To != nil && (m.From.Number > m.To.Number || m.From.Text > m.To.Text || *m.From == *m.To) {
		return p.fail(at, "let the range begin before it ends", "the range has no value in it")
	}
	return nil
}

// attributeValue returns a value of the kind that the others have.
func (p *searchParser) attributeValue(m *provider.AttributeMatch, a *searchAtom) (*provider.AttributeValue, error) {
	kind, stored, err := p.typed(a)
	if err == nil && m.Kind != 0 && m.Kind != kind {
		err = p.fail(a.at, "give values of one kind; quotes make a text", "the values are of several kinds")
	}
	m.Kind = kind
	return &stored, err
}

// typed returns a value of the kind that its form says.
func (p *searchParser) typed(a *searchAtom) (kind provider.AttributeKind, v provider.AttributeValue, err error) {
	if err := check.OptionalName("the value", a.text); err != nil {
		return 0, v, p.fail(a.at, "shorten it", "%v", err)
	}
	if a.quoted || !looksTyped(a.text) {
		return provider.AttributeText, provider.AttributeValue{Text: a.text}, nil
	}
	switch a.text {
	case "true":
		return provider.AttributeBool, provider.AttributeValue{Number: 1}, nil
	case "false":
		return provider.AttributeBool, v, nil
	}
	if n, err := strconv.ParseInt(a.text, 10, 64); err == nil {
		return provider.AttributeInt, provider.AttributeValue{Number: n}, nil
	}
	if t, _, ok := parseInstant(a.text); ok {
		return provider.AttributeInstant, provider.AttributeValue{Number: t.UnixMicro()}, nil
	}
	return 0, v, p.fail(a.at, "quote a text: "+strconv.Quote(a.text)+"; else give a number of 64 bits, true, false, or a time such as 2026-01-02T03:04:05Z",
		"%s is no whole number, boolean or time", check.Quote(a.text))
}
