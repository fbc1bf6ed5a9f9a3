package client

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/provider"
)

// Excerpt is what lists show of the error that an instance has failed with. It is a payload: show it only to those who may see payloads.
type Excerpt struct {
	Text       string `json:"text"`                 // of the error, without the stack of a panic, at most 256 bytes
	Cut        bool   `json:"cut,omitempty"`        // Text is the beginning of a longer one
	Activity   string `json:"activity,omitempty"`   // that failed; "": not known, or none
	Type       string `json:"type,omitempty"`       // registered name, or that of the Go type, of the first error in the chain that has one
	Code       string `json:"code,omitempty"`       // of an error of the engine, such as "timeout"
	Frame      string `json:"frame,omitempty"`      // of a panic: the function of the user that panicked, and its line
	Unreadable string `json:"unreadable,omitempty"` // why nothing can be shown, such as that this client has no key
}

// String returns the activity, the text and the frame, or why nothing can be shown in parentheses. It is a payload as well, and may have several lines.
func (e *Excerpt) String() string {
	if e.Unreadable != "" {
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

// describeExcerpt returns nil if nothing is stored.
func describeExcerpt(data []byte) *Excerpt {
	if len(data) == 0 {
		return nil
	}
	f, err := failure.DecodeFace(data)
	if err != nil {
		return &Excerpt{Unreadable: err.Error()}
	}
	return &Excerpt{Text: f.Text, Cut: f.Cut, Activity: f.Activity, Type: f.Type, Code: f.Code, Frame: f.Frame}
}

// FailureGroupsQuery selects groups of failures. Zero fields do not restrict.
type FailureGroupsQuery struct {
	Orchestration string    // stored name
	Group         string    // only this one, with its different texts
	EndedAfter    time.Time // inclusive, by the storage's clock
	Max           int       // groups, 1 to 1,000; 0: 100
}

// FailureGroups are groups of failed instances.
type FailureGroups struct {
	Items   []FailureGroup `json:"items"`             // the one that failed last comes first
	AtLeast bool           `json:"atLeast,omitempty"` // only the newest 5,000 failed instances were looked at: there may be more, counts higher and First earlier
	AsOf    time.Time      `json:"asOf"`
}

// FailureGroup has the instances of an orchestration that failed alike: with the same activity, type, code and text, in which UUIDs, dates, times,
// hexadecimal numbers of 8 digits and numbers of 6 digits or more do not count; panics also at the same line of the user's code.
type FailureGroup struct {
	Group         string        `json:"group"` // for Filter.FailureGroup
	Orchestration string        `json:"orchestration"`
	Versions      []string      `json:"versions"` // of the code, at most ten; "" is code without a version
	Count         int64         `json:"count"`
	First         time.Time     `json:"first"` // end of the first one
	Last          time.Time     `json:"last"`  // end of the last one
	Newest        provider.UUID `json:"newest"`
	Excerpt       *Excerpt      `json:"excerpt,omitempty"` // of the newest one
	// Texts are different texts of the group, the most frequent first, at most ten: only with FailureGroupsQuery.Group. OtherTexts is how many
	// instances have one that is not among them.
	Texts      []FailedText `json:"texts,omitempty"`
	OtherTexts int64        `json:"otherTexts,omitempty"`
}

// FailedText is a text of a group and how many of its instances failed with it.
type FailedText struct {
	Excerpt

	Count int64 `json:"count"`
}

// FailureGroups returns groups of the newest 5,000 failed instances. Those of perdure itself are left out, as are instances that a release without
// groups has closed.
//
// A store without provider.FailureGrouper cannot tell: the error wraps errors.ErrUnsupported.
func (c *Client) FailureGroups(ctx context.Context, q FailureGroupsQuery) (FailureGroups, error) {
	const op = "grouping failures"
	req := provider.FailureGroupsRequest{Name: q.Orchestration, Group: q.Group, Max: cmp.Or(q.Max, access.DefaultPage)}
	if err := cmp.Or(
		c.usable(ctx), access.Invalid(check.OptionalName("Orchestration", q.Orchestration)), access.Invalid(check.OptionalName("Group", q.Group)),
		access.TimeBound(&req.EndedAfter, "EndedAfter", q.EndedAfter),
	); err != nil {
		return FailureGroups{}, fmt.Errorf("%s: %w", op, err)
	}
	if q.Max < 0 || q.Max > provider.MaxPage {
		return FailureGroups{}, fmt.Errorf("%s: %w: Max is %d: give 1 to %d, or 0 for %d", op, ErrInvalid, q.Max, provider.MaxPage, access.DefaultPage)
	}
	if err := c.store.Filters(&provider.Filter{FailureGroup: "any"}); err != nil {
		return FailureGroups{}, access.Explain(op, 0, err)
	}
	res, err := access.Read(ctx, c.store.Store, op, c.store.FailureGroups, req)
	if err != nil {
		return FailureGroups{}, access.Explain(op, 0, err)
	}
	out := FailureGroups{Items: []FailureGroup{}, AtLeast: res.AtLeast, AsOf: res.Now.Std()}
	for i := range res.Groups {
		if g := &res.Groups[i]; !reserved.Name(g.Name) {
			out.Items = append(out.Items, describeGroup(g, q.Group != ""))
		}
	}
	return out, nil
}

func describeGroup(g *provider.FailureGroup, withTexts bool) FailureGroup {
	out := FailureGroup{
		Group: g.Group, Orchestration: g.Name, Versions: g.Versions, Count: g.Count, First: g.First.Std(), Last: g.Last.Std(), Newest: g.Newest,
		Excerpt: describeExcerpt(g.Excerpt),
	}
	if !withTexts {
		return out
	}
	out.OtherTexts = g.Count
	for i := range g.Texts {
		if e := describeExcerpt(g.Texts[i].Excerpt); e != nil {
			out.Texts = append(out.Texts, FailedText{*e, g.Texts[i].Count})
			out.OtherTexts -= g.Texts[i].Count
		}
	}
	return out
}
