package timeline

import (
	"strings"
	"time"

	"github.com/perdure/perdure/client"
)

// text returns a text of an error as it is shown.
func (b *builder) text(s string) string {
	if b.opts.Text == nil || s == "" {
		return s
	}
	return b.opts.Text(s)
}

// failure returns the first line of an error.
func (b *builder) failure(f *client.Failure) string {
	if f == nil {
		return ""
	}
	line, _, _ := strings.Cut(f.Message, "\n")
	if len(line) > maxFailure {
		line = strings.ToValidUTF8(line[:maxFailure], "") + "..."
	}
	return b.text(line)
}

// offset returns a time from the begin of the axis on.
func (b *builder) offset(at time.Time) string {
	if at.IsZero() || b.line.Begin.IsZero() {
		return "an unknown time"
	}
	return "+" + Length(at.Sub(b.line.Begin))
}
