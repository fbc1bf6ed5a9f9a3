package operate

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/provider"
)

// DeadLetterFilter selects dead letters. Zero fields do not restrict.
type DeadLetterFilter struct {
	Instance string        // the ID; an instance that has it now
	Key      provider.UUID // of an instance; it counts if both are given, and the zero key selects all instances
}

// DeadLetterPage is a page of dead letters. Cursor is "" on the last one.
type DeadLetterPage struct {
	Items  []DeadLetter `json:"items"`
	Cursor string       `json:"cursor,omitempty"`
}

// DeadLetterPage returns a page of the dead letters that match, the oldest first.
func (o *Operator) DeadLetterPage(ctx context.Context, f DeadLetterFilter, page client.Page) (DeadLetterPage, error) {
	req, size, err := o.deadLettersRequest(ctx, &f, page)
	if err != nil {
		return DeadLetterPage{}, err
	}
	found := DeadLetterPage{Items: make([]DeadLetter, 0, size)}
	for {
		req.Max = min(deadLettersPage, size+1-len(found.Items))
		letters, err := o.caller.Store.ListDeadLetters(ctx, listingDeadLetters, req)
		if err != nil {
			return DeadLetterPage{}, err
		}
		for i := range letters {
			if len(found.Items) == size {
				found.Cursor = strconv.FormatInt(found.Items[size-1].ID, 10)
				return found, nil
			}
			req.Cursor = letters[i].ID
			found.Items = append(found.Items, o.describeDeadLetter(&letters[i]))
		}
		if len(letters) < req.Max {
			return found, nil
		}
	}
}

// deadLettersRequest checks a filter and a page, and returns the request to the storage and the size of the page.
func (o *Operator) deadLettersRequest(ctx context.Context, f *DeadLetterFilter, page client.Page) (req provider.DeadLettersRequest, size int, err error) {
	if err = o.usable(ctx); err == nil {
		req, size, err = f.stored(page)
	}
	if err != nil {
		return req, 0, fmt.Errorf("%s: %w", listingDeadLetters, err)
	}
	if f.Instance == "" || !req.Key.IsZero() {
		return req, size, nil
	}
	of := access.Target{ID: f.Instance}
	of, _, err = o.caller.Store.Resolve(ctx, of, fmt.Sprintf("%s of %s", listingDeadLetters, of))
	req.Key = of.Key
	return req, size, err
}

// stored checks the filter and the page, and returns the request to the storage.
func (f *DeadLetterFilter) stored(page client.Page) (req provider.DeadLettersRequest, size int, err error) {
	if page.Size < 0 || page.Size > provider.MaxPage {
		return req, 0, fmt.Errorf("%w: page size %d: give 1 to %d, or 0 for %d", client.ErrInvalid, page.Size, provider.MaxPage, access.DefaultPage)
	}
	size = cmp.Or(page.Size, access.DefaultPage)
	req.Key = f.Key
	if err := access.Invalid(check.OptionalName("filter Instance", f.Instance)); err != nil {
		return req, 0, err
	}
	if page.Cursor == "" {
		return req, size, nil
	}
	if req.Cursor, err = strconv.ParseInt(page.Cursor, 10, 64); err != nil || req.Cursor < 1 {
		return req, 0, fmt.Errorf("%w: page cursor %s is none of dead letters: give the Cursor of the page before, or \"\" for the first",
			client.ErrInvalid, check.Quote(page.Cursor))
	}
	return req, size, nil
}
