package dashboard

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/operate"
)

// incident returns what is to be known first, as the principal may see it. One read with all rights serves all for ten seconds, and one of many
// requests at the same time reads.
func (c *call) incident() (*operate.Incident, error) {
	in, err := c.s.incidents.get(c.r.Context(), func(ctx context.Context) (*operate.Incident, error) {
		in, err := operate.New(c.s.client).Incident(ctx)
		if err == nil {
			for _, u := range in.Unknown {
				if u.Why != operate.IncidentUnsupported && u.Why != operate.IncidentNotAsked {
					c.s.logger.WarnContext(ctx, "incident lacks a part", "part", u.Part, "why", u.Why)
				}
			}
		}
		return in, err
	})
	if err != nil {
		return nil, err
	}
	return c.incidentShown(in), nil
}

// incidentShown hides what the principal may not see: groups of failures, acts that they suggest, and texts of errors. wire and the page hide the
// texts of the other parts.
func (c *call) incidentShown(in *operate.Incident) *operate.Incident {
	shown := *in
	shown.Store.Error = c.text(in.Store.Error)
	shown.Unknown = slices.Clone(in.Unknown)
	if !c.seesFaces() {
		if in.Failing != nil {
			shown.Failing = nil
			shown.Unknown = append(shown.Unknown, operate.IncidentUnknown{Part: "failing", Why: operate.IncidentForbidden})
		}
		shown.Acts = slices.DeleteFunc(slices.Clone(in.Acts), func(a operate.IncidentAct) bool { return a.Group != "" })
	}
	for i := range shown.Unknown {
		shown.Unknown[i].Error = c.text(shown.Unknown[i].Error)
	}
	return &shown
}

func (c *call) apiIncident() error {
	in, err := c.incident()
	if err != nil {
		return err
	}
	return c.answer(in)
}

// incidentData is what the page of an incident shows.
type incidentData struct{ *operate.Incident }

func (c *call) incidentPage() error {
	in, err := c.incident()
	if err != nil {
		return err
	}
	return c.show(http.StatusOK, "incident", view{Title: "Incident", Nav: "incident", Live: true, Data: &incidentData{in}})
}

// WhyUnknown says why a part is not known.
func (d *incidentData) WhyUnknown(part string) string {
	for _, u := range d.Unknown {
		if u.Part != part {
			continue
		}
		switch u.Why {
		case operate.IncidentUnsupported:
			return "this kind of store cannot tell"
		case operate.IncidentForbidden:
			return "it quotes payloads, which you may not see here"
		case operate.IncidentTimeout:
			return "it was not read in time"
		case operate.IncidentNotAsked:
			return "the store does not answer, so it was left alone"
		default:
			return "reading it failed: the log of the dashboard says where"
		}
	}
	return "it was not read"
}

// Rate says how many there were in the last hour, and in the hour before.
func (*incidentData) Rate(r operate.IncidentRate) string {
	one := func(n *client.Counted) string {
		if n == nil {
			return "unknown"
		}
		return n.String()
	}
	text := one(r.Last) + " (hour before: " + one(r.Before)
	if r.Growth == operate.IncidentGrowthUnknown {
		return text + ")"
	}
	return text + ", " + string(r.Growth) + ")"
}

// Grows reports whether a figure is known to grow.
func (*incidentData) Grows(r operate.IncidentRate) bool { return r.Growth == operate.IncidentGrowing }

// Counted returns the number of a group, which may be a lower bound.
func (*incidentData) Counted(n int64, atLeast bool) client.Counted {
	return client.Counted{Count: n, Exact: !atLeast}
}

// NextTry reports whether the next attempt of something that is tried again is planned.
func (d *incidentData) NextTry(r *operate.IncidentRetry) bool { return r.Next.After(d.AsOf) }

// FormOf returns the address of the form that does an act; "": there is none, or the principal may not do it.
func (v *view) FormOf(a operate.IncidentAct) string {
	switch {
	case a.Verb == operate.IncidentPause && v.c.may(client.ActQueue):
		return v.Root() + "/queues/pause?" + url.Values{"name": {a.Queue}, "reason": {"incident"}}.Encode()
	case a.Verb == operate.IncidentResume && v.c.may(client.ActQueue):
		return v.Root() + "/queues/resume?" + url.Values{"name": {a.Queue}}.Encode()
	case a.Verb == operate.IncidentSuspend && v.c.may(client.ActBulk):
		filter := url.Values{"orchestration": {a.Orchestration}, "status": {string(client.StatusRunning)}}
		if a.Blocked {
			filter.Set("blocked", "true")
		}
		return v.Root() + "/jobs/start?" + url.Values{"act": {string(client.ActSuspend)}, "filter": {filter.Encode()}}.Encode()
	case a.Verb == operate.IncidentLook:
		return v.Root() + "/nodes"
	default:
		return ""
	}
}

// FormText says what the form of an act does.
func (*view) FormText(a operate.IncidentAct) string {
	switch a.Verb {
	case operate.IncidentPause:
		return "Pause queue " + a.Queue
	case operate.IncidentResume:
		return "Resume queue " + a.Queue
	case operate.IncidentSuspend:
		return strings.TrimSpace("Suspend " + a.Orchestration)
	default:
		return "Nodes and versions"
	}
}
