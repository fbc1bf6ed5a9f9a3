package timeline

import (
	"strings"
	"time"

	"github.com/perdure/perdure/client"
)

// shown returns a text of an error as it is shown.
func shown(s string, as func(string) string) string {
	if as == nil || s == "" {
		return s
	}
	return as(s)
}

// failure returns the beginning of the first line of an error. What redacts it gets all of its text: it knows no half of a secret.
func (b *builder) failure(f *client.Failure) string {
	if f == nil {
		return ""
	}
	line, _, _ := strings.Cut(shown(f.Message, b.opts.Text), "\n")
	if len(line) > maxFailure {
		line = strings.ToValidUTF8(line[:maxFailure], "") + "..."
	}
	return line
}

// offset returns a time from the begin of the axis on.
func (b *builder) offset(at time.Time) string {
	if at.IsZero() || b.line.Begin.IsZero() {
		return "an unknown time"
	}
	return "+" + Length(at.Sub(b.line.Begin))
}
