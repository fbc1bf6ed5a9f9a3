package dashboard

import (
	"net/http"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/shell"
)

// Excerpt returns the error of a listed instance in a line; "": it has none, or it is not shown.
func (v *view) Excerpt(e *client.Excerpt) string {
	if e == nil || !v.c.seesFaces() {
		return ""
	}
	return e.String()
}

// Faces reports whether the page may show groups of errors.
func (v *view) Faces() bool { return v.c.seesFaces() }

// failuresData is what the page of failures shows.
type failuresData struct {
	Groups client.FailureGroups
	One    bool // a single group, with its texts
	// Filtered says that groups of others are left out.
	Filtered bool
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
	data.Filtered = data.One || c.param("orchestration") != "" || c.param("endedAfter") != ""
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
	List    client.Activities
	Next    string // address of the next page; "": this is the last one
	Command string // that lists the same
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
	data := retryingData{List: list, Command: "perdure retrying"}
	for _, name := range []string{"queue", "name"} {
		if value := c.param(name); value != "" {
			data.Command += " --" + name + " " + shell.Word(value)
		}
	}
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
