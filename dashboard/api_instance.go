package dashboard

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/perdure/perdure/client"
)

func (c *call) apiLookup() error {
	h, err := client.Lookup[json.RawMessage](c.r.Context(), c.client, c.param("id"))
	if err != nil {
		return err
	}
	return c.answer(found{h.ID(), h.Key()})
}

func (c *call) apiDescribe() error {
	h, err := c.handle()
	if err != nil {
		return err
	}
	d, err := h.Describe(c.r.Context())
	if err != nil {
		return err
	}
	return c.answer(d)
}

func (c *call) apiFollow() error {
	h, err := c.handle()
	if err != nil {
		return err
	}
	d, mark, err := h.Follow(c.r.Context(), c.param("mark"), client.FollowFor(longPoll))
	if err != nil {
		return err
	}
	return c.answer(followed{d, mark})
}

// historyRange returns the events that the query asks for.
func (c *call) historyRange() (r client.HistoryRange, err error) {
	for name, n := range map[string]*int64{"execution": &r.Execution, "from": &r.From, "to": &r.To} {
		if *n, err = c.intParam(name); err != nil {
			return r, err
		}
	}
	most, err := c.intParam("max")
	r.Max = int(most)
	r.Newest, r.Failed = c.flag("newest"), c.flag("failed")
	for _, kind := range c.r.URL.Query()["kind"] {
		if kind != "" {
			r.Kinds = append(r.Kinds, kind)
		}
	}
	return r, err
}

func (c *call) apiHistory() error {
	h, err := c.handle()
	if err != nil {
		return err
	}
	r, err := c.historyRange()
	if err != nil {
		return err
	}
	if c.flag("wait") {
		r.Wait = longPoll
	}
	p, err := h.HistoryPage(c.r.Context(), r)
	if err != nil {
		return err
	}
	return c.answer(p)
}

// apiPoint finds a point of the history, and says what a reset or fork there means.
func (c *call) apiPoint() error {
	p, err := c.findPoint()
	if err != nil {
		return err
	}
	return c.answer(p)
}

// findPoint finds the point that the query asks for.
func (c *call) findPoint() (client.Point, error) {
	h, err := c.handle()
	if err != nil {
		return client.Point{}, err
	}
	k, err := client.ParsePointKind(c.param("to"))
	if err != nil {
		return client.Point{}, badInput("parameter to: %v", err)
	}
	return h.FindPoint(c.r.Context(), k)
}

// apiExport returns the history as it is stored. It has all payloads, so it needs them to be shown.
func (c *call) apiExport() error {
	h, err := c.handle()
	if err != nil {
		return err
	}
	if !c.texts || c.s.o.HidePayloads || c.s.o.Redact != nil {
		return refuse(http.StatusForbidden, "payloads", "an export has all payloads, and the dashboard hides or redacts them: use perdure history --export")
	}
	n, err := c.intParam("execution")
	if err != nil {
		return err
	}
	f, err := h.ExportHistory(c.r.Context(), n)
	if err != nil {
		return err
	}
	c.payloads = true
	return c.answer(f)
}

func (c *call) apiResult() error {
	h, err := c.handle()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.r.Context(), longPoll)
	defer cancel()
	d, mark, err := h.Follow(ctx, "")
	for err == nil && c.flag("wait") && !d.Status.Ended() && ctx.Err() == nil {
		next, to, failed := h.Follow(ctx, mark)
		if failed != nil && ctx.Err() != nil {
			break
		}
		d, mark, err = next, to, failed
	}
	if err != nil {
		return err
	}
	return c.answer(result{d.Status, d.Status.Ended(), d.Result, d.Failure})
}

func (c *call) apiValue() error {
	h, err := c.handle()
	if err != nil {
		return err
	}
	name := c.param("name")
	v, err := client.Value[json.RawMessage](c.r.Context(), h, name)
	if err != nil {
		return err
	}
	return c.answer(answer{name, v})
}

// updateState is how far an update is, and its output if it has completed.
type updateState struct {
	ID     string             `json:"id"`
	Stage  client.UpdateStage `json:"stage"` // "Unknown": it is not there, or still waits in the inbox
	Output json.RawMessage    `json:"output,omitempty"`
}

const (
	updateCompleted client.UpdateStage = "Completed"
	updateNotSeen   client.UpdateStage = "Unknown"
	// soon is how long a request without the parameter wait may take for what it can only learn by waiting.
	soon = time.Second
)

func (c *call) apiUpdate() error {
	h, err := c.handle()
	if err != nil {
		return err
	}
	d, err := h.Describe(c.r.Context())
	if err != nil {
		return err
	}
	state, wait := updateState{ID: c.param("id"), Stage: updateNotSeen}, soon
	if c.flag("wait") {
		wait = longPoll
	}
	for _, u := range d.Updates {
		if u.ID == state.ID {
			state.Stage = u.Stage
		}
	}
	if state.Stage != updateNotSeen && !c.flag("wait") {
		return c.answer(state)
	}
	ctx, cancel := context.WithTimeout(c.r.Context(), wait)
	defer cancel()
	out, err := client.UpdateOf[json.RawMessage](h, state.ID).Wait(ctx)
	switch {
	case err == nil:
		state.Stage, state.Output = updateCompleted, out
	case ctx.Err() == nil || c.r.Context().Err() != nil:
		return err
	}
	return c.answer(state)
}
