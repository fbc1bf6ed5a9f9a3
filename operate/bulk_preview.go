package operate

import (
	"context"
	"fmt"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/bulk"
	"github.com/perdure/perdure/provider"
)

const (
	// previewCount is how far a preview counts, and previewSample how many instances it shows.
	previewCount  = 1_000_000
	previewSample = 10
)

// BulkPreview says what a bulk job with a filter would act on.
type BulkPreview struct {
	client.Counted

	Sample []client.Description `json:"sample"` // the newest
	At     time.Time            `json:"at"`     // by the storage's clock: the job leaves out what is created later
	// Texts are for a filter with FailureGroup: different texts of its errors, the most frequent first, at most ten. OtherTexts reports that there
	// may be others: among older instances, or beyond the ten.
	Texts      []BulkText `json:"texts,omitempty"`
	OtherTexts bool       `json:"otherTexts,omitempty"`
}

// BulkText is a text of a group of failures and how many of its newest instances have it.
type BulkText struct {
	Text  string `json:"text"`
	Count int64  `json:"count"`
}

// PreviewBulk counts the instances that match, up to a million, and shows some of them. It counts a group of failures to its end, and shows its
// texts: errors that are alike may be different ones. The instances of perdure itself are left out.
func (o *Operator) PreviewBulk(ctx context.Context, f client.Filter) (BulkPreview, error) {
	const op = "previewing a bulk job"
	err := o.usable(ctx)
	if err == nil {
		err = o.bulkChosen(&f)
	}
	if err != nil {
		return BulkPreview{}, fmt.Errorf("%s: %w", op, err)
	}
	now, err := o.client.Now(ctx) // before the list, so that the job leaves out what the preview cannot have counted
	if err != nil {
		return BulkPreview{}, fmt.Errorf("%s: %w", op, err)
	}
	list, err := o.client.List(ctx, f, client.Page{Size: previewSample})
	if err != nil {
		return BulkPreview{}, fmt.Errorf("%s: %w", op, err)
	}
	p := BulkPreview{At: now.Add(time.Microsecond), Sample: list.Items}
	if err := o.previewTexts(ctx, op, &f, &p); err != nil {
		return p, err
	}
	switch p.Counted = (client.Counted{Count: int64(len(list.Items)), Exact: true}); {
	case list.Cursor == "":
		return p, nil
	case f.FailureGroup != "": // an index has them in one place
		p.Count, err = o.client.Count(ctx, f)
	default:
		p.Counted, err = o.client.CountUpTo(ctx, f, previewCount)
	}
	if err != nil {
		return p, fmt.Errorf("%s: %w", op, err)
	}
	p.Count = max(p.Count, int64(len(list.Items)))
	return p, nil
}

// previewTexts shows the texts of the group of a filter.
func (o *Operator) previewTexts(ctx context.Context, op string, f *client.Filter, p *BulkPreview) error {
	if f.FailureGroup == "" {
		return nil
	}
	req := provider.FailureGroupsRequest{Name: f.Orchestration, Group: f.FailureGroup}
	res, err := access.Read(ctx, o.caller.Store, op, o.caller.Store.FailureGroups, req)
	if err != nil {
		return access.Explain(op, 0, err)
	}
	p.OtherTexts = res.AtLeast
	for i := range res.Groups {
		g := &res.Groups[i]
		left := g.Count
		for n := range g.Texts {
			if text := o.caller.FailureText(g.Texts[n].Excerpt); text != "" {
				p.Texts = append(p.Texts, BulkText{text, g.Texts[n].Count})
				left -= g.Texts[n].Count
			}
		}
		p.OtherTexts = p.OtherTexts || left > 0
	}
	return nil
}

// bulkChosen checks a filter as a job with it would be checked.
func (o *Operator) bulkChosen(f *client.Filter) error {
	stored, err := o.bulkFilter(f)
	if err != nil {
		return err
	}
	return o.bulkServed(&bulk.Job{Filter: stored})
}
