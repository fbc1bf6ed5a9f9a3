package dashboard

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"

	"github.com/perdure/perdure/client"
)

// goneParam says how many have gone, on the page of the act that has removed them.
const goneParam = "gone"

// countable is what an act counts before it removes.
type countable struct {
	// rows returns what the act would remove with the fields of its form. No row: there is nothing to count.
	rows func(context.Context, *call, input) ([]counting, error)
	// rests returns what the rows depend on besides the fields; nil: on nothing.
	rests func(context.Context, *call) (string, error)
}

// counting is what an act would remove of one kind.
type counting struct {
	client.Counted

	What string
}

// Number returns the count as the page shows it. What was not counted is not 0.
func (n counting) Number() string {
	switch {
	case n.Exact:
		return group(n.Count)
	case n.Count == 0:
		return "not counted: it would take too long"
	default:
		return "at least " + group(n.Count)
	}
}

// countFirst adds what the act would remove to a form that was sent, unless the form has shown that. It reports whether to show it in place of the act.
func (a *act) countFirst(c *call, d *actData) (show bool, err error) {
	asked := c.posted("preview") != ""
	if !asked {
		of, err := a.basis(c, d.input())
		if err != nil || of == c.posted("counted") {
			return false, err
		}
	}
	err = a.count(c, d)
	return err == nil && (asked || len(d.Counts) > 0), err
}

// countBegin adds to a form what the act would remove with the fields that it begins with. Somebody fills those that are refused. Where the store
// fails, the form says so.
func (a *act) countBegin(c *call, d *actData) {
	err := a.count(c, d)
	if status, _ := classify(err); err != nil && status >= http.StatusInternalServerError {
		d.Error = "It could not be counted: " + c.errorText(err)
	}
}

// count adds to a form what the act would remove with its fields, and binds the form to that.
func (a *act) count(c *call, d *actData) error {
	in := d.input()
	for i := range a.fields {
		if err := a.fields[i].check(in[a.fields[i].name]); err != nil {
			return err
		}
	}
	of, err := a.basis(c, in) // before the count, so that what changes meanwhile is counted again
	if err != nil {
		return err
	}
	rows, err := a.counts.rows(c.r.Context(), c, in)
	if err != nil {
		return err
	}
	d.Counts, d.Counted = rows, of
	return nil
}

// basis names what a count is of: the fields, and what else the rows depend on.
func (a *act) basis(c *call, in input) (string, error) {
	hash := sha256.New()
	for i := range a.fields {
		_, _ = fmt.Fprintf(hash, "%s=%q\n", a.fields[i].name, in[a.fields[i].name])
	}
	if a.counts.rests != nil {
		on, err := a.counts.rests(c.r.Context(), c)
		if err != nil {
			return "", err
		}
		_, _ = fmt.Fprintf(hash, "%q", on)
	}
	return hex.EncodeToString(hash.Sum(nil)[:8]), nil
}

// input returns the values of a form as they are sent with it.
func (d *actData) input() input {
	in := input{}
	for i := range d.Fields {
		in[d.Fields[i].Name] = strings.TrimSpace(strings.ReplaceAll(d.Fields[i].Value, "\r\n", "\n"))
	}
	return in
}
