package client

import (
	"cmp"
	"context"
	"fmt"

	"github.com/perdure/perdure/internal/access"
)

const (
	defaultTreeDepth = 5
	defaultTreeSize  = 100
	maxTreeDepth     = 100
	maxTreeSize      = 10_000
)

// TreeLimits bound a Tree.
type TreeLimits struct {
	Depth int // levels below the instance, 1 to 100; 0: 5
	Size  int // instances in all, 1 to 10,000; 0: 100
}

// TreeNode is an instance and its children.
type TreeNode struct {
	Description             // as in a list, without Attributes, CustomStatus and Blocked.Message
	Children    []*TreeNode `json:"children,omitempty"` // the oldest first
	More        bool        `json:"more,omitempty"`     // it has children, or older ones, that the limits left out
}

// Tree returns the instance that the ID names now with its children, their children and so on, level by level. Children of all executions
// are in it; Description.Parent says which one has started each. Where a level has more than the limit, its newest instances are in it.
//
// It makes a call of the store for each level, and some more where it leaves instances out.
func (c *Client) Tree(ctx context.Context, id string, limits TreeLimits) (*TreeNode, error) {
	return c.tree(ctx, access.Target{ID: id}, limits)
}

// Tree returns the instance with its children. See Client.Tree.
func (h Handle[Out]) Tree(ctx context.Context, limits TreeLimits) (*TreeNode, error) {
	if err := h.usable(ctx); err != nil {
		return nil, err
	}
	return h.c.tree(ctx, h.t, limits)
}

// Size returns the number of instances in the tree.
func (n *TreeNode) Size() int {
	size := 1
	for _, child := range n.Children {
		size += child.Size()
	}
	return size
}

func (c *Client) tree(ctx context.Context, t access.Target, limits TreeLimits) (*TreeNode, error) {
	op := fmt.Sprintf("reading the tree of %s", t)
	if err := cmp.Or(c.usable(ctx), limits.check()); err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	res, err := c.store.Instance(ctx, t, op, false)
	if err != nil {
		return nil, err
	}
	root := &TreeNode{Description: describeListed(&res.Instance, res.Now)}
	root.Attributes, root.CustomStatus, root.NotStored = nil, nil, ""
	if root.Blocked != nil {
		root.Blocked.Message = ""
	}
	all := []*Description{&root.Description}
	depth, left := cmp.Or(limits.Depth, defaultTreeDepth), cmp.Or(limits.Size, defaultTreeSize)-1
	for level := []*TreeNode{root}; len(level) > 0; depth-- {
		most := left
		if depth == 0 {
			most = 0
		}
		if level, err = c.branch(ctx, op, level, most); err != nil {
			return nil, access.Explain(op, 0, err)
		}
		left -= len(level)
		for _, node := range level {
			all = append(all, &node.Description)
		}
	}
	return root, c.markSealed(ctx, op, all...)
}

func (l TreeLimits) check() error {
	switch {
	case l.Depth < 0 || l.Depth > maxTreeDepth:
		return fmt.Errorf("%w: depth %d: give 1 to %d, or 0 for %d", ErrInvalid, l.Depth, maxTreeDepth, defaultTreeDepth)
	case l.Size < 0 || l.Size > maxTreeSize:
		return fmt.Errorf("%w: size %d: give 1 to %d, or 0 for %d", ErrInvalid, l.Size, maxTreeSize, defaultTreeSize)
	}
	return nil
}
