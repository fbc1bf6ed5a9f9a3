package client

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/provider"
)

// DeadLetterFilter selects dead letters. Zero fields do not restrict.
type DeadLetterFilter struct {
	Instance string        // the ID; an instance that has it now
	Key      provider.UUID // of an instance; it counts if both are given
}

// DeadLetterPage is a page of dead letters. Cursor is "" on the last one.
type DeadLetterPage struct {
	Items  []DeadLetter `json:"items"`
	Cursor string       `json:"cursor,omitempty"`
}

// DeadLetterPage returns a page of the dead letters that match, the oldest first.
func (c *Client) DeadLetterPage(ctx context.Context, f DeadLetterFilter, page Page) (DeadLetterPage, error) {
	const op = "listing dead letters"
	req, size, err := f.stored(page)
	if err = cmp.Or(c.usable(ctx), err); err != nil {
		return DeadLetterPage{}, fmt.Errorf("%s: %w", op, err)
	}
	if f.Instance != "" && req.Key.IsZero() {
		t, _, err := c.store.Resolve(ctx, access.Target{ID: f.Instance}, fmt.Sprintf("%s of %s", op, access.Target{ID: f.Instance}))
		if err != nil {
			return DeadLetterPage{}, err
		}
		req.Key = t.Key
	}
	found := DeadLetterPage{Items: make([]DeadLetter, 0, size)}
	for {
		req.Max = min(deadLettersPage, size+1-len(found.Items))
		letters, err := c.store.deadLetters(ctx, op, req)
		if err != nil {
			return DeadLetterPage{}, err
		}
		for i := range letters {
			if len(found.Items) == size {
				found.Cursor = strconv.FormatInt(found.Items[size-1].ID, 10)
				return found, nil
			}
			req.Cursor = letters[i].ID
			found.Items = append(found.Items, describeDeadLetter(&letters[i]))
		}
		if len(letters) < req.Max {
			return found, nil
		}
	}
}

// stored checks the filter and the page, and returns the request to the storage.
func (f *DeadLetterFilter) stored(page Page) (req provider.DeadLettersRequest, size int, err error) {
	if page.Size < 0 || page.Size > provider.MaxPage {
		return req, 0, fmt.Errorf("%w: page size %d: give 1 to %d, or 0 for %d", ErrInvalid, page.Size, provider.MaxPage, access.DefaultPage)
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
			ErrInvalid, check.Quote(page.Cursor))
	}
	return req, size, nil
}
