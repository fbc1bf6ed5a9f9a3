package operate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/bulk"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/provider"
)

const (
	// shownTexts is how many texts a preview shows.
	shownTexts = 10
	// textPages bounds how many pages a preview reads for texts. A store may end pages early.
	textPages = 50
	// textTime bounds how long a preview looks for texts, and a start for that of its job. A preview shows texts of the newest 5,000, which a start meets
	// first.
	textTime = 10 * time.Second
)

// failedText is what is known of the text of an error.
type failedText struct {
	text string
	cut  bool
}

// textsSeen are the texts of the instances that were looked at.
type textsSeen struct {
	counts map[failedText]int64
	looked int64 // at instances
	all    bool  // no other instance matches
}

// most returns the most frequent texts. other reports that there may be others.
func (s *textsSeen) most() (texts []BulkText, other bool) {
	left := s.looked
	for t, n := range s.counts {
		texts = append(texts, BulkText{Text: t.text, Cut: t.cut, Count: n})
	}
	slices.SortFunc(texts, func(a, b BulkText) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Text, b.Text), compareBool(a.Cut, b.Cut))
	})
	texts = texts[:min(len(texts), shownTexts)]
	for i := range texts {
		left -= texts[i].Count
	}
	return texts, left > 0 || !s.all
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// textBounds ends a look for texts.
type textBounds struct {
	most  int64     // at so many instances, or after textPages; 0: at all
	until time.Time // between two pages
}

// open reports whether another page may be read.
func (b textBounds) open(looked int64, pages int) bool {
	return (b.most == 0 || looked < b.most && pages < textPages) && time.Now().Before(b.until)
}

// textsOf counts the texts of instances that match a filter with a group, the newest first. It ends early if found returns true for a text.
func (o *Operator) textsOf(ctx context.Context, op string, f *provider.Filter, bounds textBounds, found func(failedText) bool) (textsSeen, error) {
	seen := textsSeen{counts: map[failedText]int64{}}
	for pages, cursor := 0, ""; bounds.open(seen.looked, pages); pages++ {
		size := int64(provider.MaxPage)
		if bounds.most > 0 {
			size = min(size, bounds.most-seen.looked)
		}
		page, err := access.Read(ctx, o.caller.Store, op, o.caller.Store.List, provider.ListRequest{
			Filter: *f, Cursor: cursor, Max: int(size),
			Omit: []provider.ListField{provider.ListAttributes, provider.ListCustomStatus, provider.ListBlockedMessage},
		})
		if err != nil {
			return seen, access.Explain(op, 0, err)
		}
		for n := range page.Instances {
			i := &page.Instances[n]
			if reserved.ID(i.ID) {
				continue
			}
			seen.looked++
			text, whole, err := o.caller.FailureText(i.Excerpt)
			if err != nil {
				continue // most says that there are others
			}
			t := failedText{text, !whole}
			if seen.counts[t]++; found != nil && found(t) {
				return seen, nil
			}
		}
		if cursor = page.Cursor; cursor == "" {
			seen.all = true
			break
		}
	}
	return seen, nil
}

// Only returns the preview of a job with that text: see BulkJob.Text. Count is that of instances which were seen with it, and Exact if no other
// can have it. Most has those that were not looked at, too.
func (p BulkPreview) Only(text string) BulkPreview {
	n := p.seen.counts[failedText{text: text}]
	p.Points = nil // they are of all texts
	if p.Most > 0 {
		p.Most = max(n, p.Most-p.seen.looked+n)
	}
	p.Counted = client.Counted{Count: n, Exact: p.seen.all}
	if p.Exact {
		p.Most = n
	}
	p.Sample = slices.DeleteFunc(slices.Clone(p.Sample), func(d client.Description) bool {
		return d.Excerpt == nil || d.Excerpt.Cut || d.Excerpt.Text != text
	})
	return p
}

// hasText returns an error if no instance that matches the filter of a job failed with its text, or none that was looked at within textTime.
func (o *Operator) hasText(ctx context.Context, op string, job *bulk.Job) error {
	if job.Text == "" {
		return nil
	}
	found, cut := false, false
	seen, err := o.textsOf(ctx, op, &job.Filter, textBounds{until: time.Now().Add(textTime)}, func(t failedText) bool {
		found = found || t == failedText{text: job.Text}
		cut = cut || t == failedText{job.Text, true}
		return found
	})
	switch {
	case err != nil || found:
		return err
	case cut:
		return fmt.Errorf("%w: the text %s is the beginning of longer ones, which may differ behind it: take any text, or chosen instances",
			client.ErrInvalid, bulk.QuoteText(job.Text))
	case !seen.all:
		return fmt.Errorf("%w: none of the newest %d instances that match failed with the text %s, and to look further takes too long: take one that a preview shows",
			client.ErrInvalid, seen.looked, bulk.QuoteText(job.Text))
	}
	return fmt.Errorf("%w: no instance that matches failed with the text %s: take one that a preview shows", client.ErrInvalid, bulk.QuoteText(job.Text))
}

// otherText reports whether an instance failed with another text than a job asks for. An error means that its text cannot be read.
func (o *Operator) otherText(job *bulk.Job, i *provider.Instance) (bool, error) {
	if job.Text == "" {
		return false, nil
	}
	text, whole, err := o.caller.FailureText(i.Excerpt)
	if err != nil {
		return false, fmt.Errorf("the text of its error cannot be read: %w", err)
	}
	return !whole || text != job.Text, nil
}
