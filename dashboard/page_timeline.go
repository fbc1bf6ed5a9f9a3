package dashboard

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/shell"
	"github.com/perdure/perdure/internal/timeline"
)

// timelineData is what the page of a timeline shows.
type timelineData struct {
	D        client.Description
	Timeline *drawn
	Attempts int64 // of all pending activities: the page changes with it
	Command  string
	Earlier  int64 // the execution before; 0: none
	Later    int64
}

// timeline shows an execution over time, on a page of its own.
func (c *call) timeline() error {
	h, err := c.handle()
	if err != nil {
		return err
	}
	execution, err := c.intParam("execution")
	if err != nil {
		return err
	}
	data := timelineData{}
	if data.D, err = h.Describe(c.r.Context()); err != nil {
		return err
	}
	src, err := timeline.Read(c.r.Context(), h, data.D, execution, timelineEvents)
	if err != nil {
		return err
	}
	data.Timeline = draw(timeline.New(&src, c.timelineOptions(pageRows, &data.D)))
	for i := range data.D.Activities {
		data.Attempts += data.D.Activities[i].Attempt
	}
	data.Command = "perdure timeline " + shell.Word(data.D.ID)
	if !src.Current() {
		data.Command += fmt.Sprintf(" --execution %d", src.Execution)
		data.Later = src.Execution + 1
	}
	data.Earlier = src.Execution - 1
	live := src.Current() && !data.D.Status.Ended() && src.Length <= liveEvents
	v := view{Title: "Timeline of " + data.D.ID, Nav: "instances", Live: live, Data: &data, c: c}
	return c.show(http.StatusOK, "timeline", v)
}

const (
	// childrenPage is how many children a page has.
	childrenPage = 100
	// countedChildren is how far children of one status are counted.
	countedChildren = 1_000
)

// childrenData is what the page of an instance's children shows.
type childrenData struct {
	D       client.Description
	List    timeline.Children
	Next    string
	First   bool
	Command string
}

// children lists the children of an instance: those that run first, then failed ones.
func (c *call) children() error {
	h, err := c.handle()
	if err != nil {
		return err
	}
	ctx := c.r.Context()
	data := childrenData{First: c.param("cursor") == ""}
	if data.D, err = h.Describe(ctx); err != nil {
		return err
	}
	if data.List, err = timeline.ReadChildren(ctx, c.client, data.D.Key, childrenPage, c.param("cursor")); err != nil {
		return err
	}
	if data.List.Counts, err = timeline.CountChildren(ctx, c.client, data.D.Key, countedChildren); err != nil {
		return err
	}
	v := view{Title: "Children of " + data.D.ID, Nav: "instances", Live: true, Data: &data, c: c}
	if data.List.Cursor != "" {
		data.Next = v.With("cursor", data.List.Cursor)
	}
	data.Command = "perdure tree " + shell.Word(data.D.ID) + " --children --limit " + strconv.Itoa(childrenPage)
	return c.show(http.StatusOK, "children", v)
}
