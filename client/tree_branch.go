package client

import (
	"context"
	"maps"
	"slices"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/provider"
)

// branch adds at most so many children to the nodes of a level, the newest if there are more, and marks the nodes that have others. It
// returns the children, which are the next level.
func (c *Client) branch(ctx context.Context, op string, level []*TreeNode, most int) (next []*TreeNode, err error) {
	for nodes := range slices.Chunk(level, provider.MaxPage) {
		added, err := c.addChildren(ctx, op, nodes, most-len(next))
		if err != nil {
			return nil, err
		}
		next = append(next, added...)
	}
	return next, nil
}

// children asks for the children of nodes.
func children(nodes map[provider.UUID]*TreeNode) provider.ListRequest {
	return provider.ListRequest{
		Filter: provider.Filter{ParentKeys: slices.Collect(maps.Keys(nodes)), Replaced: true},
		Omit:   []provider.ListField{provider.ListAttributes, provider.ListCustomStatus, provider.ListBlockedMessage},
	}
}

// addChildren is branch for the nodes of one call.
func (c *Client) addChildren(ctx context.Context, op string, nodes []*TreeNode, most int) (added []*TreeNode, err error) {
	byKey := make(map[provider.UUID]*TreeNode, len(nodes))
	for _, node := range nodes {
		byKey[node.Key] = node
	}
	req := children(byKey)
	var left *provider.Instance // the newest one that is left out
	for more := true; more && left == nil; {
		req.Max = min(most-len(added)+1, provider.MaxPage) // one more says that there are more
		res, err := access.Read(ctx, c.store.Store, op, c.store.List, req)
		if err != nil {
			return nil, err
		}
		if res.Cursor != "" && len(res.Instances) < req.Max && len(nodes) > 1 {
			return c.addHalves(ctx, op, nodes, most)
		}
		for i := range res.Instances {
			if len(added) == most {
				left = &res.Instances[i]
				break
			}
			if node := byKey[res.Instances[i].Parent.Key]; node != nil {
				child := &TreeNode{Description: describeListed(&res.Instances[i], res.Now)}
				node.Children, added = append(node.Children, child), append(added, child)
			}
		}
		req.Cursor, more = res.Cursor, res.Cursor != ""
	}
	for _, node := range nodes {
		slices.Reverse(node.Children)
	}
	if left != nil {
		return added, c.markMore(ctx, op, byKey, left)
	}
	return added, nil
}

// addHalves makes a call for each half of the nodes. A store that ends a page early looks at instances one by one, because these nodes have
// more children together than it sorts. It finds those of fewer nodes by their index.
func (c *Client) addHalves(ctx context.Context, op string, nodes []*TreeNode, most int) (added []*TreeNode, err error) {
	for _, node := range nodes {
		node.Children = nil
	}
	half := len(nodes) / 2
	if added, err = c.addChildren(ctx, op, nodes[:half], most); err != nil {
		return nil, err
	}
	more, err := c.addChildren(ctx, op, nodes[half:], most-len(added))
	return append(added, more...), err
}

// markMore marks the nodes that have children which are left out. Each page marks one or more of them, or leads on.
func (c *Client) markMore(ctx context.Context, op string, nodes map[provider.UUID]*TreeNode, left *provider.Instance) error {
	shown := make(map[provider.UUID]bool)
	for _, node := range nodes {
		for _, child := range node.Children {
			shown[child.Key] = true
		}
	}
	for cursor, over := "", false; !over; {
		req := children(nodes)
		req.Filter.CreatedBefore, req.Cursor = left.CreatedAt+1, cursor
		res, err := access.Read(ctx, c.store.Store, op, c.store.List, req)
		if err != nil {
			return err
		}
		found := false
		for i := range res.Instances {
			in := &res.Instances[i]
			if node := nodes[in.Parent.Key]; node != nil && !shown[in.Key] {
				node.More, found = true, true
				delete(nodes, node.Key)
			}
		}
		if cursor = res.Cursor; found {
			cursor = "" // the next filter is another one
		}
		over = len(nodes) == 0 || !found && cursor == ""
	}
	return nil
}
