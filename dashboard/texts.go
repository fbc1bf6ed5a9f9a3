package dashboard

import (
	"bytes"
	"fmt"
	"html/template"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/amount"
	"github.com/perdure/perdure/internal/timeline"
)

// when shows a time. The page's script makes it relative and local.
func when(t time.Time) template.HTML {
	if t.IsZero() {
		return `<span class="none">–</span>`
	}
	t = t.UTC()
	//nolint:gosec // both are times
	return template.HTML(fmt.Sprintf(`<time datetime="%s">%s</time>`, t.Format("2006-01-02T15:04:05.000Z"), t.Format("2006-01-02 15:04:05Z")))
}

// spanText shows a duration with two units at most.
func spanText(d time.Duration) string { return timeline.Length(d) }

// clock shows the time of day of something near other times. The page's script makes it local.
func clock(t time.Time) template.HTML {
	if t.IsZero() {
		return `<span class="none">time not known</span>`
	}
	t = t.UTC()
	//nolint:gosec // both are times
	return template.HTML(fmt.Sprintf(`<time datetime="%s" data-clock>%s</time>`, t.Format("2006-01-02T15:04:05.000Z"), t.Format("2006-01-02 15:04:05.000Z")))
}

// offset shows how long after a start a time is; "" if one of them is not known.
func offset(start, at time.Time) string {
	if start.IsZero() || at.IsZero() || at.Before(start) {
		return ""
	}
	return "+" + timeline.Length(at.Sub(start))
}

// amountText shows a number with its noun, which is given as it stands behind 1.
func amountText(n any, noun string) (string, error) {
	switch n := n.(type) {
	case client.Counted:
		if !n.Exact {
			return n.String() + " " + amount.Noun(0, noun), nil
		}
		return group(n.Count) + " " + amount.Noun(n.Count, noun), nil
	case int:
		return group(int64(n)) + " " + amount.Noun(n, noun), nil
	case int64:
		return group(n) + " " + amount.Noun(n, noun), nil
	}
	return "", fmt.Errorf("%T is no number", n)
}

// stayText shows how long something stays.
func stayText(d time.Duration) string {
	switch {
	case d < 0:
		return "for ever"
	case d%(24*time.Hour) == 0:
		return amount.Of(int(d/(24*time.Hour)), "day")
	default:
		return spanText(d)
	}
}

// group writes a number with narrow spaces between thousands.
func group(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func sizeText(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	default:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
}

// clip cuts a text for a table.
func clip(limit int, s string) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

// clipID cuts an ID in its middle: those of children often begin alike.
func clipID(limit int, s string) string {
	if len(s) <= limit {
		return s
	}
	end := limit / 3
	return strings.ToValidUTF8(s[:limit-end], "") + "…" + strings.ToValidUTF8(s[len(s)-end:], "")
}

// firstLine returns the first line of a text.
func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// maxShown is how much of a payload a page shows.
const maxShown = 64 << 10

// plain makes characters visible that would control how a page reads: those that reverse the direction of text, or that print nothing.
func plain(page []byte) []byte {
	steers := func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }
	if bytes.IndexFunc(page, steers) < 0 && utf8.Valid(page) {
		return page
	}
	shown := make([]byte, 0, len(page)+64)
	for _, r := range string(page) {
		if steers(r) {
			shown = fmt.Appendf(shown, `\u%04x`, r)
		} else {
			shown = utf8.AppendRune(shown, r)
		}
	}
	return shown
}
