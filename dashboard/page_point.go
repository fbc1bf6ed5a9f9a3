package dashboard

import (
	"fmt"
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
