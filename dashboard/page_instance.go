package dashboard

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/shell"
	"github.com/perdure/perdure/internal/timeline"
	"github.com/perdure/perdure/operate"
)

// historyEnds is how many events the page of an instance shows from each end of its history.
const historyEnds = 100

// urgentChildren is how many children that run or have failed the page shows before a tree that lacks some.
const urgentChildren = 10

// instanceData is what the page of an instance shows.
type instanceData struct {
	D        client.Description
	Acts     []act
	First    []client.HistoryStep
	Last     []client.HistoryStep
	Left     int64     // events between First and Last
	Timeline *drawn    // nil: there are no events yet
	Start    time.Time // of the execution; zero: not known
	Points   *points
	Tree     *client.TreeNode     // nil: neither children nor a parent
	Counts   []timeline.Count     // of its children
	Urgent   []client.Description // children that run or have failed, if the tree lacks some
	Letters  []operate.DeadLetter
	Values   []namedValue
	Command  string // that shows the same
	Problems []string
	Stuck    bool // the history cannot be read
}

// namedValue is a value that code has set.
type namedValue struct {
	Name  string
	Value *shownPayload
}

// maxValues is how many values a page reads.
const maxValues = 20

func (c *call) instance() error {
	h, err := c.handle()
	if err != nil {
		return err
	}
	ctx := c.r.Context()
	data := instanceData{}
	if data.D, err = h.Describe(ctx); err != nil {
		return err
	}
	v := view{Title: data.D.ID, Nav: "instances", Live: true, Data: &data, c: c}
	for _, a := range acts() {
		if a.of == &ofInstance && c.may(a.right) && a.fits(&data.D) {
			data.Acts = append(data.Acts, a)
		}
	}
	slices.SortStableFunc(data.Acts, func(a, b act) int { return rank(&a) - rank(&b) })
	data.Command = "perdure describe " + shell.Word(data.D.ID)
	data.readEvents(ctx, c, h)
	data.part(c, "children", func() error {
		tree, err := h.Tree(ctx, client.TreeLimits{Depth: 3, Size: 50})
		if err == nil && (len(tree.Children) > 0 || tree.More || data.D.Parent != nil) {
			timeline.SortTree(tree)
			data.Tree, data.Counts = tree, timeline.CountTree(tree)
		}
		if err == nil && tree.More {
			data.Counts, err = timeline.CountChildren(ctx, c.client, data.D.Key, countedChildren)
		}
		if err == nil && tree.More {
			data.Urgent, err = timeline.ReadUrgent(ctx, c.client, data.D.Key, urgentChildren)
		}
		return err
	})
	if data.D.DeadLetters > 0 {
		data.part(c, "dead letters", func() error {
			p, err := operate.New(c.client).DeadLetterPage(ctx, operate.DeadLetterFilter{Key: data.D.Key}, client.Page{Size: onOverview})
			data.Letters = p.Items
			return err
		})
	}
	data.readValues(ctx, c, h, &v)
	return c.show(http.StatusOK, "instance", v)
}

// Steers reports whether the page offers acts on pending activities.
func (d *instanceData) Steers(v *view) bool {
	return v.May(string(client.ActActivity)) && !d.D.Deleting && (d.D.Sealed == nil || d.D.Sealed.State == "held")
}

// rank orders the acts: harmless ones first.
func rank(a *act) int {
	if a.danger {
		return 1
	}
	return 0
}

// part reads a part of the page. One that cannot be read does not hide the others.
func (d *instanceData) part(c *call, name string, read func() error) {
	if err := read(); err != nil {
		c.s.logger.WarnContext(c.r.Context(), "page of an instance lacks a part", "part", name, "instance", d.D.ID, "error", err)
		d.Problems = append(d.Problems, name)
	}
}

// readEvents reads both ends of the history.
func (d *instanceData) readEvents(ctx context.Context, c *call, h client.Handle[rawJSON]) {
	d.part(c, "history", func() error { //nolint:contextcheck // a call has the context of its request
		first, err := h.HistoryPage(ctx, client.HistoryRange{Max: historyEnds})
		var last client.HistoryPage
		if err == nil && first.More {
			last, err = h.HistoryPage(ctx, client.HistoryRange{Execution: first.Execution, From: first.Next, Newest: true, Max: historyEnds})
			slices.Reverse(last.Events)
		}
		if err != nil {
			return err
		}
		events := slices.Concat(first.Events, last.Events)
		all, err := h.Steps(ctx, events)
		if err != nil {
			return err
		}
		src := timeline.Source{
			Of: d.D, Execution: first.Execution, Status: first.Status, Length: max(first.Length, int64(len(events))), Head: first.Events, Tail: last.Events,
		}
		if len(events) > 0 {
			d.Timeline = draw(timeline.New(&src, c.timelineOptions(instanceRows, &d.D))) //nolint:contextcheck // as above
			d.Timeline.Hint = src.Length > int64(len(events))
			d.Start, d.Points = first.Events[0].Time, c.pointsOf(&d.D, first.Execution)
		}
		if d.Left = max(0, last.Length-int64(len(events))); d.Left == 0 {
			d.First = all
			return nil
		}
		if d.First, err = h.Steps(ctx, first.Events); err == nil {
			d.Last, err = h.Steps(ctx, last.Events)
		}
		return err
	})
}

// readValues reads the values that code has set, if they are shown.
func (d *instanceData) readValues(ctx context.Context, c *call, h client.Handle[rawJSON], v *view) {
	for _, name := range d.D.Keys[:min(len(d.D.Keys), maxValues)] {
		if !c.payloads {
			d.Values = append(d.Values, namedValue{Name: name})
			continue
		}
		d.part(c, "value "+name, func() error { //nolint:contextcheck // a call has the context of its request
			value, err := client.Value[rawJSON](ctx, h, name)
			if err == nil {
				d.Values = append(d.Values, namedValue{name, v.Payload("values", name, value)}) //nolint:contextcheck // as above
			}
			return err
		})
	}
}

// historyData is what the page of a history shows.
type historyData struct {
	D       client.Description
	Page    client.HistoryPage
	Steps   []client.HistoryStep
	Start   time.Time // of the execution; zero: not known
	Points  *points
	Kinds   []string
	Full    bool
	Next    string
	Command string
}

// Filtered reports whether the page shows what somebody has chosen.
func (d *historyData) Filtered(v *view) bool {
	return slices.ContainsFunc([]string{"execution", "from", "to", "kind", "failed", "newest", "form"}, func(name string) bool { return v.Param(name) != "" })
}

// readStart finds when the execution began. Without it no offset is shown.
func (d *historyData) readStart(ctx context.Context, h client.Handle[rawJSON]) {
	events := d.Page.Events
	if len(events) == 0 || events[0].ID != 1 {
		first, err := h.HistoryPage(ctx, client.HistoryRange{Execution: d.Page.Execution, To: 1, Max: 1})
		if err != nil {
			return
		}
		events = first.Events
	}
	if len(events) > 0 {
		d.Start = events[0].Time
	}
}

// history shows a page of a history with filters.
func (c *call) history() error {
	h, err := c.handle()
	if err != nil {
		return err
	}
	ctx := c.r.Context()
	data := historyData{Kinds: client.HistoryKinds(), Full: c.param("form") == "full"}
	if data.D, err = h.Describe(ctx); err != nil {
		return err
	}
	r, err := c.historyRange()
	if err != nil {
		return err
	}
	if data.Page, err = h.HistoryPage(ctx, r); err != nil {
		return err
	}
	data.readStart(ctx, h)
	data.Points = c.pointsOf(&data.D, data.Page.Execution)
	if data.Full || r.Newest {
		data.Full = true
		for i := range data.Page.Events {
			data.Steps = append(data.Steps, client.HistoryStep{HistoryEvent: data.Page.Events[i]})
		}
	} else {
		if data.Steps, err = h.Steps(ctx, data.Page.Events); err != nil {
			return err
		}
	}
	v := view{Title: "History of " + data.D.ID, Nav: "instances", Live: true, Data: &data, c: c}
	if data.Page.More {
		name := "from"
		if r.Newest {
			name = "to"
		}
		data.Next = v.With(name, fmtInt(data.Page.Next))
	}
	data.Command = "perdure history " + shell.Word(data.D.ID)
	if len(r.Kinds) > 0 {
		data.Command += " --kind " + strings.Join(r.Kinds, ",")
	}
	return c.show(http.StatusOK, "history", v)
}
