package operate

import (
	"context"
	"strconv"

	"github.com/perdure/perdure/client"
)

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
