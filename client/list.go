package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/provider"
)

// Page selects a part of a list.
type Page struct {
	Size   int    // 1 to 1,000; 0: 100
	Cursor string // "" for the first page, else Instances.Cursor
	Omit   []Column
}

// Column is a part of a listed Description that may be large. A list without it reads less.
type Column string

// The columns that a page can omit.
const (
	ColumnAttributes     Column = "attributes"     // Description.Attributes
	ColumnCustomStatus   Column = "customStatus"   // Description.CustomStatus and NotStored
	ColumnBlockedMessage Column = "blockedMessage" // Blocked.Message
)

// Instances is a page of a list. Cursor is "" on the last one.
type Instances struct {
	Items  []Description `json:"items"`
	Cursor string        `json:"cursor,omitempty"`
	// Reached is set with a Cursor if the store says it: all that matches and was created later is on this page or an earlier one.
	Reached time.Time `json:"reached,omitzero"`
}

// List returns a page of the instances that match, newest first. Instances that are created or end between two pages neither repeat nor
// hide others. Pending activities are not listed.
//
// Where matches are rare among many rows and no index has them, the page may be short, even empty, although Cursor leads on. So each call
// takes milliseconds, also among a million instances.
func (c *Client) List(ctx context.Context, f Filter, page Page) (Instances, error) {
	const op = "listing instances"
	filter, err := f.stored()
	if err = cmp.Or(c.usable(ctx), err); err != nil {
		return Instances{}, fmt.Errorf("%s: %w", op, err)
	}
	if page.Size < 0 || page.Size > provider.MaxPage {
		return Instances{}, fmt.Errorf("%s: %w: page size %d: give 1 to %d, or 0 for %d", op, ErrInvalid, page.Size, provider.MaxPage, access.DefaultPage)
	}
	req := provider.ListRequest{Filter: filter, Cursor: page.Cursor, Max: page.Size}
	if req.Omit, err = omitted(page.Omit); err != nil {
		return Instances{}, fmt.Errorf("%s: %w", op, err)
	}
	if req.Max == 0 {
		req.Max = access.DefaultPage
	}
	res, err := c.store.Page(ctx, op, req, f.users())
	if errors.Is(err, ErrInvalid) && page.Cursor != "" { // all else was checked here
		return Instances{}, fmt.Errorf("%s: %w: page cursor %s is none of this store: give the Cursor of the page before, or \"\" for the first",
			op, ErrInvalid, check.Quote(page.Cursor))
	}
	if err != nil {
		return Instances{}, access.Explain(op, 0, err)
	}
	list := Instances{Items: make([]Description, 0, len(res.Instances)), Cursor: res.Cursor}
	if res.Cursor != "" {
		list.Reached = res.Reached.Std()
	}
	for i := range res.Instances {
		list.Items = append(list.Items, describeListed(&res.Instances[i], res.Now))
	}
	if f.Waiting {
		c.showWaiting(ctx, list.Items)
	}
	return list, c.markListed(ctx, op, list.Items)
}

// omitted returns the columns in the storage's form.
func omitted(columns []Column) (fields []provider.ListField, err error) {
	for _, column := range columns {
		switch column {
		case ColumnAttributes:
			fields = append(fields, provider.ListAttributes)
		case ColumnCustomStatus:
			fields = append(fields, provider.ListCustomStatus)
		case ColumnBlockedMessage:
			fields = append(fields, provider.ListBlockedMessage)
		default:
			return nil, fmt.Errorf("%w: page column %s cannot be omitted: give one of the Column constants", ErrInvalid, check.Quote(string(column)))
		}
	}
	return fields, nil
}

// All ranges over all instances that match, newest first, without the columns to omit. It reads page by page, and ends after
// the first error.
func (c *Client) All(ctx context.Context, f Filter, omit ...Column) iter.Seq2[Description, error] {
	return func(yield func(Description, error) bool) {
		page := Page{Omit: omit}
		for {
			list, err := c.List(ctx, f, page)
			if err != nil {
				yield(Description{}, err)
				return
			}
			for _, d := range list.Items {
				if !yield(d, nil) {
					return
				}
			}
			if page.Cursor = list.Cursor; page.Cursor == "" {
				return
			}
		}
	}
}
