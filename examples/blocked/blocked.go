// Package blocked shows a blocked instance and its release.
package blocked

import (
	"context"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
)

// Code is one release of an orchestration's code, either broken or fixed.
type Code struct{ Fixed bool }

// Bill panics until it is fixed.
func (c *Code) Bill(_ *orchestration.Context, cents int) (int, error) {
	if !c.Fixed {
		panic("this release cannot count")
	}
	return cents, nil
}

// List returns the IDs of all blocked instances with the reason.
func List(ctx context.Context, c *client.Client) (map[string]string, error) {
	found := map[string]string{}
	for d, err := range c.All(ctx, client.Filter{Blocked: true}) {
		if err != nil {
			return found, err
		}
		found[d.ID] = d.Blocked.Reason
	}
	return found, nil
}
