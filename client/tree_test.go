package client_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
)

// lists counts the lists of a store, which ends those of more than sorted children early, after a page's share of them.
type lists struct {
	hidden

	sorted  int
	created int
}

func (l *lists) List(ctx context.Context, req provider.ListRequest) (provider.ListResult, error) {
	l.created++
	if len(req.Filter.ParentKeys) < 2 || l.sorted == 0 {
		return l.Full.List(ctx, req)
	}
	if n, err := l.Count(ctx, provider.CountRequest{Filter: req.Filter}); err != nil || n.Count <= int64(l.sorted) {
		return l.Full.List(ctx, req)
	}
	req.Max = max(1, req.Max/2)
	return l.Full.List(ctx, req)
}

// forest makes instances, each with a random parent among those before it. Some have the same time.
func forest(t *testing.T, store *memory.Provider, rnd *rand.Rand, size int) []provider.Instance {
	t.Helper()
	var all []provider.Instance
	for n := range size {
		id := fmt.Sprint("i", n)
		req := provider.CreateRequest{
			ID: id, Key: provider.NewKey(id), Commit: provider.UUID(uuid.New()), Name: "Checkout", EngineLevel: 1,
			Message: provider.NewMessage{Kind: 1, EngineLevel: 1, Payload: []byte("start")},
		}
		if n > 0 {
			parent := &all[rnd.IntN(min(n, 1+rnd.IntN(n)))]
			req.Parent = provider.Parent{Key: parent.Key, ID: parent.ID, Execution: 1, EventID: int64(n)}
		}
		res, err := store.Create(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, res.Instance)
		if rnd.IntN(3) == 0 {
			time.Sleep(time.Millisecond) //nolint:forbidigo // virtual time
		}
	}
	return all
}

// grown returns the shape of the tree of the first instance: the newest of each level that exceeds what is left.
func grown(all []provider.Instance, depth, size int) string {
	root := &client.TreeNode{Description: client.Description{ID: all[0].ID, Key: all[0].Key}}
	left := size - 1
	for level := []*client.TreeNode{root}; len(level) > 0; depth-- {
		byKey := map[provider.UUID]*client.TreeNode{}
		for _, node := range level {
			byKey[node.Key] = node
		}
		children := slices.DeleteFunc(slices.Clone(all), func(in provider.Instance) bool { return byKey[in.Parent.Key] == nil })
		slices.SortFunc(children, func(a, b provider.Instance) int {
			return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), slices.Compare(b.Key[:], a.Key[:]))
		})
		level = nil
		for i := range children {
			parent := byKey[children[i].Parent.Key]
			if depth == 0 || left == 0 {
				parent.More = true
				continue
			}
			left--
			child := &client.TreeNode{Description: client.Description{ID: children[i].ID, Key: children[i].Key}}
			parent.Children = slices.Insert(parent.Children, 0, child)
			level = append(level, child)
		}
	}
	return shape(root)
}

// A tree is read level by level, whatever its shape, with a call for each level.
func TestTreeOfAnyShape(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			store := memory.New(memory.Options{})
			defer func() { _ = store.Close() }()
			size := 2 + rnd.IntN(60)
			all := forest(t, store, rnd, size)
			l := &lists{hidden: hidden{provider.FullOf(store)}}
			c := clienttest.New(t, l, client.Options{Logger: slog.New(slog.DiscardHandler)})
			for _, limits := range []client.TreeLimits{
				{Depth: 100, Size: 100}, {Depth: 1, Size: 100}, {Depth: 1 + rnd.IntN(5), Size: 1 + rnd.IntN(size)}, {Depth: 100, Size: 1 + rnd.IntN(size)},
			} {
				for _, l.sorted = range []int{0, 5} {
					l.created = 0
					tree, err := c.Tree(t.Context(), "i0", limits)
					if err != nil {
						t.Fatal(err)
					}
					if got, want := shape(tree), grown(all, limits.Depth, limits.Size); l.sorted == 0 && got != want {
						t.Errorf("seed %d, %+v: got %s, want %s", seed, limits, got, want)
					}
					checkMore(t, all, tree, limits, limits.Depth)
					if depth := levels(tree); l.sorted == 0 && limits.Size == 100 && limits.Depth == 100 && l.created != depth {
						t.Errorf("seed %d: %d lists of %d levels", seed, l.created, depth)
					}
				}
			}
		})
	}
}

// checkMore checks that a node has its newest children, and More if it lacks any.
func checkMore(t *testing.T, all []provider.Instance, n *client.TreeNode, limits client.TreeLimits, depth int) (size int) {
	t.Helper()
	var ids []string // of the children, the oldest first
	for _, in := range sorted(all, n.Key) {
		ids = append([]string{in.ID}, ids...)
	}
	for i, child := range n.Children {
		if at := len(ids) - len(n.Children) + i; at < 0 || ids[at] != child.ID {
			t.Errorf("%s has the child %s, want the newest of %s", n.ID, child.ID, ids)
		}
		size += checkMore(t, all, child, limits, depth-1)
	}
	if lacks := len(ids) > len(n.Children); n.More != lacks || depth == 0 && len(n.Children) > 0 {
		t.Errorf("%s shows %d of %d children, %d levels above the last, more %v", n.ID, len(n.Children), len(ids), depth, n.More)
	}
	if size++; depth == limits.Depth && size > limits.Size {
		t.Errorf("%d instances, want at most %d", size, limits.Size)
	}
	return size
}

// sorted returns the children of a parent, the newest first.
func sorted(all []provider.Instance, parent provider.UUID) []provider.Instance {
	list := slices.DeleteFunc(slices.Clone(all), func(in provider.Instance) bool { return in.Parent.Key != parent })
	slices.SortFunc(list, func(a, b provider.Instance) int {
		return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), slices.Compare(b.Key[:], a.Key[:]))
	})
	return list
}

// levels returns how many levels a tree has.
func levels(n *client.TreeNode) (deep int) {
	for _, child := range n.Children {
		deep = max(deep, levels(child))
	}
	return deep + 1
}
