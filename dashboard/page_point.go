package dashboard

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/perdure/perdure/client"
)

// foundPoint is a point of a history that the page of a reset or fork shows before the act.
type foundPoint struct {
	client.Point

	Kind string // such as "before the last failed activity"
	Fork bool
}

// pointRows is how many reruns a page lists.
const pointRows = 100

// Shown returns the reruns that the page lists.
func (p *foundPoint) Shown() []client.PointActivity { return p.Reruns[:min(len(p.Reruns), pointRows)] }

// Others is how many reruns the page does not list.
func (p *foundPoint) Others() int { return len(p.Reruns) - len(p.Shown()) }

// pointed shows the form with the point of a kind, or else before an event, and what the act means there. The form is bound to that event and to the
// execution whose history was read, so nobody acts at a point that was not shown. An execution that is given was shown before: the point is one of it.
func (a *act) pointed(c *call, d *actData, to, event, execution string) error {
	status := http.StatusOK
	p, err := c.pointOf(to, event, execution)
	if err != nil {
		if status, _ = classify(err); status == http.StatusNotFound || status == http.StatusUnauthorized {
			return err
		}
		d.Error = c.errorText(err)
	} else {
		p.Fork = a.right == client.ActFork
		d.Point = &p
		d.set("event", strconv.FormatInt(p.Event, 10))
		d.set("execution", strconv.FormatInt(p.Execution, 10))
		d.set("to", "")
	}
	return c.show(status, "act", view{Title: a.title, Nav: a.nav(), Data: d})
}

// pointOf finds a point by its kind, or else before an event.
func (c *call) pointOf(to, event, execution string) (p foundPoint, err error) {
	h, err := c.handle()
	if err != nil {
		return p, err
	}
	if to == "" {
		to = "event=" + event
	}
	k, err := client.ParsePointKind(to)
	if err != nil {
		return p, badInput("the point: %v", err)
	}
	p.Kind = k.String()
	p.Point, err = h.FindPoint(c.r.Context(), k)
	if err == nil && execution != "" && execution != strconv.FormatInt(p.Execution, 10) {
		err = fmt.Errorf("execution %s was shown: %w: it is %d, whose history has other events", execution, client.ErrSuperseded, p.Execution)
	}
	return p, err
}

// set sets the value of a field.
func (d *actData) set(name, value string) {
	for i := range d.Fields {
		if d.Fields[i].Name == name {
			d.Fields[i].Value = value
		}
	}
}
