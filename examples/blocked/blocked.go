// Package blocked shows an instance that cannot go on, and how it is released.
package blocked

import (
	"context"

	"github.com/google/uuid"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// Code is one release of an orchestration's code: a broken one, or a fixed one.
type Code struct{ Fixed bool }

// Bill panics until it is fixed.
func (c *Code) Bill(_ *orchestration.Context, cents int) (int, error) {
	if !c.Fixed {
		panic("this release cannot count")
	}
	return cents, nil
}

// List answers the IDs of all blocked instances with the reason.
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

// Unblock lets an instance be tried at once, also one that is held.
func Unblock(ctx context.Context, store provider.Provider, c *client.Client, id string) error {
	d, err := c.Describe(ctx, id)
	if err != nil {
		return err
	}
	_, err = store.Steer(ctx, provider.SteerRequest{
		Key: d.Key, Action: provider.SteerUnblock, Commit: provider.UUID(uuid.New()),
	})
	return err
}
