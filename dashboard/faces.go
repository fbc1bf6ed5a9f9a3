package dashboard

import (
	"encoding/json"
	"net/http"

	"github.com/perdure/perdure/client"
)

// errorField is the Field of a Payload with the text of an error.
const errorField = "error"

// hiddenError stands in place of the text of an error that is not shown.
const hiddenError = "hidden: this dashboard shows no payloads"

// seesFaces reports whether the principal may see excerpts and groups of errors, which quote payloads. A hook that redacts texts would be passed by
// through the keys of groups: equal texts have equal keys.
func (c *call) seesFaces() bool { return c.texts && !c.s.o.HidePayloads && c.s.o.Redact == nil }

// checkFaces refuses who may not see errors. Who could filter, group or count by them would find out what they say.
func (c *call) checkFaces() error {
	if c.seesFaces() {
		return nil
	}
	return refuse(http.StatusForbidden, "forbidden",
		"groups of failures quote payloads, which this dashboard does not show: use perdure failures, or a dashboard with Authorize and without HidePayloads and Redact")
}

// checkFilter refuses conditions on what is not shown to the principal.
func (c *call) checkFilter(f *client.Filter, attributes []string) error {
	if f.FailureGroup != "" {
		if err := c.checkFaces(); err != nil {
			return err
		}
	}
	for _, text := range attributes {
		if text != "" && (!c.texts || c.s.o.HidePayloads) {
			return refuse(http.StatusForbidden, "forbidden", "attributes are payloads, which this dashboard does not show: filter by something else")
		}
	}
	return nil
}

// redactText returns the text of an error as Options.Redact leaves it.
func (c *call) redactText(s string) string {
	data, _ := json.Marshal(s) //nolint:errchkjson // a string
	shown, err := c.redact(Payload{Field: errorField, Data: data})
	var text string
	if err != nil || json.Unmarshal(shown, &text) != nil {
		return hiddenError
	}
	return text
}

// Excerpt returns the error of a listed instance in a line; "": it has none, or it is not shown.
func (v *view) Excerpt(e *client.Excerpt) string {
	switch {
	case e == nil || !v.c.seesFaces():
		return ""
	case e.Unreadable != "":
		return "(" + e.Unreadable + ")"
	}
	text := e.Text
	if e.Cut {
		text += "..."
	}
	if e.Activity != "" {
		text = e.Activity + ": " + text
	}
	if e.Frame != "" {
		text += " (at " + e.Frame + ")"
	}
	return text
}

// Faces reports whether the page may show groups of errors.
func (v *view) Faces() bool { return v.c.seesFaces() }

// failuresData is what the page of failures shows.
type failuresData struct {
	Groups client.FailureGroups
	One    bool // a single group, with its texts
}

// Counted returns how many instances a group has.
func (d *failuresData) Counted(g *client.FailureGroup) client.Counted {
	return client.Counted{Count: g.Count, Exact: !d.Groups.AtLeast}
}

// readFailures reads the groups that the query asks for.
func (c *call) readFailures() (client.FailureGroups, error) {
	if err := c.checkFaces(); err != nil {
		return client.FailureGroups{}, err
	}
	after, err := c.timeParam("endedAfter")
	if err != nil {
		return client.FailureGroups{}, err
	}
	page, err := c.page(pageSize)
	if err != nil {
		return client.FailureGroups{}, err
	}
	return c.client.FailureGroups(c.r.Context(), client.FailureGroupsQuery{
		Orchestration: c.param("orchestration"), Group: c.param("group"), EndedAfter: after, Max: page.Size,
	})
}

// failures shows what fails.
func (c *call) failures() error {
	groups, err := c.readFailures()
	if err != nil {
		return err
	}
	data := failuresData{Groups: groups, One: c.param("group") != ""}
	return c.show(http.StatusOK, "failures", view{Title: "Failures", Nav: "overview", Live: true, Data: &data, c: c})
}

func (c *call) apiFailureGroups() error {
	groups, err := c.readFailures()
	if err != nil {
		return err
	}
	return c.answer(groups)
}

// retryingData is what the page of activities that are tried again shows.
type retryingData struct {
	List client.Activities
	Next string // address of the next page; "": this is the last one
}

// readActivities reads the pending activities that the query asks for.
func (c *call) readActivities(retrying bool) (client.Activities, error) {
	page, err := c.page(pageSize)
	if err != nil {
		return client.Activities{}, err
	}
	return c.client.Activities(c.r.Context(), client.ActivitiesQuery{Queue: c.param("queue"), Name: c.param("name"), Retrying: retrying}, page)
}

// retrying shows what is tried again.
func (c *call) retrying() error {
	list, err := c.readActivities(true)
	if err != nil {
		return err
	}
	data := retryingData{List: list}
	v := view{Title: "Retrying", Nav: "overview", Live: c.param("cursor") == "", Data: &data, c: c}
	if list.Cursor != "" {
		data.Next = v.With("cursor", list.Cursor)
	}
	return c.show(http.StatusOK, "retrying", v)
}

func (c *call) apiActivities() error {
	list, err := c.readActivities(c.flag("retrying"))
	if err != nil {
		return err
	}
	return c.answer(list)
}
