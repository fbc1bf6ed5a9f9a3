package operate

import (
	"context"
	"fmt"
	"time"

	"github.com/perdure/perdure/client"
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
	// Most is how many instances a job with the filter acts on at most; 0: that is not known, because not all that match were counted.
	Most int64 `json:"most,omitempty"`
	// Texts are for a filter with FailureGroup: different texts of the errors of the newest 5,000 instances that match, the most frequent first, at
	// most ten. OtherTexts reports that there may be others: among older instances, beyond the ten, or where an excerpt cannot be read.
	Texts      []BulkText `json:"texts,omitempty"`
	OtherTexts bool       `json:"otherTexts,omitempty"`

	// Queues are for a filter with Retrying: those of the activities of the sample that are tried again. Whoever pauses one first keeps its attempts
	// from beginning: see Operator.PauseQueue.
	Queues []string `json:"queues,omitempty"`

	// Points are for PreviewBulkTo: how many have the point that the job looks for.
	Points *BulkPoints `json:"points,omitempty"`

	seen textsSeen
}

// BulkText is a text of a group of failures and how many of the newest instances that match have it.
type BulkText struct {
	Text  string `json:"text"`
	Cut   bool   `json:"cut,omitempty"` // Text is the beginning of longer ones, which may differ: BulkJob.Text cannot name them
	Count int64  `json:"count"`
}

// PreviewBulk counts the instances that match, up to a million, and shows some of them. It counts a group of failures to its end, and shows its
// texts: errors that are alike may be different ones. The instances of perdure itself are left out.
func (o *Operator) PreviewBulk(ctx context.Context, f client.Filter) (BulkPreview, error) {
	const op = "previewing a bulk job"
	err := o.usable(ctx)
	var stored provider.Filter
	if err == nil {
		stored, err = o.bulkChosen(&f)
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
	if f.FailureGroup != "" {
		if p.seen, err = o.textsOf(ctx, op, &stored, textBounds{most: provider.MaxGrouped, until: time.Now().Add(textTime)}, nil); err != nil {
			return p, err
		}
		p.Texts, p.OtherTexts = p.seen.most()
	}
	if f.Retrying {
		if p.Queues, err = o.queuesOf(ctx, op, list.Items); err != nil {
			return p, err
		}
	}
	switch p.Counted = (client.Counted{Count: int64(len(list.Items)), Exact: true}); {
	case list.Cursor == "":
		p.Most = p.Count
		return p, nil
	case f.FailureGroup != "": // an index has them in one place
		p.Count, err = o.client.Count(ctx, f)
	default:
		p.Counted, err = o.client.CountUpTo(ctx, f, previewCount)
	}
	if err != nil {
		return p, fmt.Errorf("%s: %w", op, err)
	}
	if p.Count = max(p.Count, int64(len(list.Items))); p.Exact {
		p.Most = p.Count
	}
	return p, nil
}

// bulkChosen checks a filter as a job with it would be checked, and returns it as it is stored.
func (o *Operator) bulkChosen(f *client.Filter) (provider.Filter, error) {
	stored, err := o.bulkFilter(f)
	if err != nil {
		return stored, err
	}
	return stored, o.bulkServed(&bulk.Job{Filter: stored})
}
