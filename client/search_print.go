package client

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/perdure/perdure/provider"
)

// terms returns the conditions of the filter in canonical form and order.
func (f *Filter) terms() (list []SearchTerm) {
	add := func(word, value string) { list = append(list, SearchTerm{Word: word, Text: word + ":" + value}) }
	if len(f.Statuses) > 0 {
		names := make([]string, len(f.Statuses))
		for i, s := range f.Statuses {
			names[i] = strings.ToLower(string(s))
		}
		add("status", strings.Join(names, ","))
	}
	for _, flag := range f.flags() {
		if *flag.on {
			add(flag.word, flag.value)
		}
	}
	if f.Orchestration != "" {
		add("name", bareOrQuoted(f.Orchestration))
	}
	if len(f.CodeVersions) > 0 {
		names := make([]string, len(f.CodeVersions))
		for i, v := range f.CodeVersions {
			names[i] = bareOrQuoted(v)
		}
		add("version", strings.Join(names, ","))
	}
	if f.IDPrefix != "" {
		add("id", bareOrQuoted(f.IDPrefix))
	}
	if !f.Parent.IsZero() {
		add("parent", f.Parent.String())
	}
	if f.FailureGroup != "" {
		add("group", bareOrQuoted(f.FailureGroup))
	}
	if !f.CreatedAfter.IsZero() || !f.CreatedBefore.IsZero() {
		add("started", timeText(f.CreatedAfter)+".."+timeText(f.CreatedBefore))
	}
	if !f.EndedAfter.IsZero() || !f.EndedBefore.IsZero() {
		add("ended", timeText(f.EndedAfter)+".."+timeText(f.EndedBefore))
	}
	for i := range f.Attributes {
		m := f.Attributes[i].match
		list = append(list, SearchTerm{Word: "@", Attribute: m.Name, Text: "@" + nameText(m.Name) + ":" + matchText(&m), match: m})
	}
	return list
}

// searchFlag is a condition without a value of its own.
type searchFlag struct {
	word, value string
	on          *bool
}

// flags returns the conditions without a value of their own.
func (f *Filter) flags() []searchFlag {
	return []searchFlag{
		{"is", "blocked", &f.Blocked},
		{"is", "waiting", &f.Waiting},
		{"is", "retrying", &f.Retrying},
		{"also", "replaced", &f.Replaced},
		{"also", "system", &f.System},
	}
}

// timeText returns a time as searches have it, and nothing for none.
func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Truncate(time.Microsecond).Format(time.RFC3339Nano)
}

// matchText returns the condition on an attribute.
func matchText(m *provider.AttributeMatch) string {
	value := func(v *provider.AttributeValue) string {
		if v == nil {
			return ""
		}
		return attributeText(m.Kind, *v)
	}
	switch {
	case len(m.Any) > 0:
		values := make([]string, len(m.Any))
		for i := range m.Any {
			values[i] = value(&m.Any[i])
		}
		return strings.Join(values, ",")
	case m.From != nil || m.To != nil:
		return value(m.From) + ".." + value(m.To)
	case m.Prefix != "":
		return textOf(m.Prefix) + "*"
	default:
		return "*"
	}
}

// searchValue returns a value as code has it.
func searchValue(kind provider.AttributeKind, v provider.AttributeValue) any {
	switch kind {
	case provider.AttributeInt:
		return v.Number
	case provider.AttributeBool:
		return v.Number != 0
	case provider.AttributeInstant:
		return time.UnixMicro(v.Number).UTC()
	default:
		return v.Text
	}
}

// attributeText returns a value in the form that says its kind.
func attributeText(kind provider.AttributeKind, v provider.AttributeValue) string {
	switch value := searchValue(kind, v).(type) {
	case int64:
		return strconv.FormatInt(value, 10)
	case bool:
		return strconv.FormatBool(value)
	case time.Time:
		return value.Format(time.RFC3339Nano)
	default:
		return textOf(v.Text)
	}
}

// textOf returns a text so that it is read as one.
func textOf(text string) string {
	if looksTyped(text) {
		return strconv.Quote(text)
	}
	return bareOrQuoted(text)
}

// looksTyped reports whether a bare value is, or should be, of another kind than text.
func looksTyped(text string) bool {
	digit := strings.TrimLeft(text, "+-")
	return strings.EqualFold(text, "true") || strings.EqualFold(text, "false") || digit != "" && digit[0] >= '0' && digit[0] <= '9'
}

// nameText returns the name of an attribute.
func nameText(name string) string {
	if strings.Contains(name, ":") {
		return strconv.Quote(name)
	}
	return bareOrQuoted(name)
}

// bareOrQuoted returns a text as it stands in a search: in quotes if it has what searches read otherwise.
func bareOrQuoted(text string) string {
	special := func(r rune) bool {
		return strings.ContainsRune("\"\\,*()", r) || unicode.IsSpace(r) || !unicode.IsPrint(r) || r == unicode.ReplacementChar
	}
	if text == "" || strings.ContainsFunc(text, special) || strings.Contains(text, "..") ||
		slices.Contains([]byte("<>!."), text[0]) || strings.HasSuffix(text, ".") {
		return strconv.Quote(text)
	}
	return text
}
