package timeline

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/provider"
)

// Children is a page of the children of an instance: first those that run or are suspended, then failed ones, then the others, each newest first.
type Children struct {
	Items  []client.Description `json:"children"`
	Counts []Count              `json:"counts"`
	Cursor string               `json:"cursor,omitempty"`
}

// Count is how many children have a status. Blocked ones run, too.
type Count struct {
	Status  string         `json:"status"`
	Blocked bool           `json:"blocked,omitempty"`
	Counted client.Counted `json:"counted"`
}

// Lister lists and counts instances, such as a client.Client.
type Lister interface {
	List(ctx context.Context, f client.Filter, page client.Page) (client.Instances, error)
	CountUpTo(ctx context.Context, f client.Filter, most int64) (client.Counted, error)
}

// ranks are the statuses in the order in which people look for them.
func ranks() [][]client.Status {
	return [][]client.Status{
		{client.StatusRunning, client.StatusSuspended}, {client.StatusFailed}, {client.StatusCompleted, client.StatusCancelled, client.StatusTerminated},
	}
}

// emptyPages is how many empty pages a call reads: where matches are rare, a store may return such.
const emptyPages = 5

// ReadChildren returns a page of children. A cursor is "" for the first page, else that of the page before. A page may be short although its
// cursor leads on.
func ReadChildren(ctx context.Context, c Lister, parent provider.UUID, size int, cursor string) (Children, error) {
	rank, rest, err := parseCursor(cursor)
	if err != nil {
		return Children{}, err
	}
	list, all := Children{Items: []client.Description{}}, ranks()
	for reads := 0; rank < len(all) && len(list.Items) < size && reads < len(all)+emptyPages; reads++ {
		f := childrenOf(parent)
		f.Statuses = all[rank]
		page, err := c.List(ctx, f, client.Page{
			Size: size - len(list.Items), Cursor: rest, Omit: []client.Column{client.ColumnAttributes, client.ColumnCustomStatus, client.ColumnBlockedMessage},
		})
		if err != nil {
			return Children{}, err
		}
		list.Items = append(list.Items, page.Items...)
		if rest = page.Cursor; rest == "" {
			rank++
		}
	}
	if rank < len(all) {
		list.Cursor = fmt.Sprintf("%d.%s", rank, rest)
	}
	return list, nil
}

// ReadUrgent returns up to so many children that run, are suspended or have failed, in the order of ReadChildren.
func ReadUrgent(ctx context.Context, c Lister, parent provider.UUID, most int) ([]client.Description, error) {
	list, err := ReadChildren(ctx, c, parent, most, "")
	return slices.DeleteFunc(list.Items, func(d client.Description) bool { return rankOf(d.Status) == len(ranks())-1 }), err
}

// rankOf returns the place of a status among ranks.
func rankOf(s client.Status) int {
	return slices.IndexFunc(ranks(), func(of []client.Status) bool { return slices.Contains(of, s) })
}

// CountChildren counts children by status, each up to a limit. Statuses that none has are left out.
func CountChildren(ctx context.Context, c Lister, parent provider.UUID, most int64) ([]Count, error) {
	counts := []Count{}
	count := func(status string, blocked bool, f client.Filter) error {
		n, err := c.CountUpTo(ctx, f, most)
		if err == nil && (n.Count > 0 || !n.Exact) {
			counts = append(counts, Count{Status: status, Blocked: blocked, Counted: n})
		}
		return err
	}
	for _, statuses := range ranks() {
		for _, s := range statuses {
			f := childrenOf(parent)
			f.Statuses = []client.Status{s}
			if err := count(string(s), false, f); err != nil {
				return nil, err
			}
		}
	}
	f := childrenOf(parent)
	f.Blocked = true
	return counts, count("Blocked", true, f)
}

func childrenOf(parent provider.UUID) client.Filter {
	return client.Filter{Parent: parent, Replaced: true, System: true}
}

// parseCursor returns where a page of children begins.
func parseCursor(cursor string) (rank int, rest string, err error) {
	if cursor == "" {
		return 0, "", nil
	}
	number, rest, ok := strings.Cut(cursor, ".")
	rank, err = strconv.Atoi(number)
	if !ok || err != nil || rank < 0 || rank >= len(ranks()) {
		return 0, "", fmt.Errorf("%w: page cursor %q is none of a list of children: give the one that the page before printed", client.ErrInvalid, cursor)
	}
	return rank, rest, nil
}

// SortTree puts children that run or are suspended first, then failed ones, then the others, on all levels.
func SortTree(n *client.TreeNode) {
	slices.SortStableFunc(n.Children, func(a, b *client.TreeNode) int { return cmp.Compare(rankOf(a.Status), rankOf(b.Status)) })
	for _, child := range n.Children {
		SortTree(child)
	}
}

// CountTree counts the children of a node, which must be all there, as CountChildren does.
func CountTree(n *client.TreeNode) []Count {
	counts := []Count{}
	add := func(status string, blocked bool, is func(*client.TreeNode) bool) {
		of := Count{Status: status, Blocked: blocked, Counted: client.Counted{Exact: true}}
		for _, child := range n.Children {
			if is(child) {
				of.Counted.Count++
			}
		}
		if of.Counted.Count > 0 {
			counts = append(counts, of)
		}
	}
	for _, statuses := range ranks() {
		for _, s := range statuses {
			add(string(s), false, func(child *client.TreeNode) bool { return child.Status == s })
		}
	}
	add("Blocked", true, func(child *client.TreeNode) bool { return child.Blocked != nil })
	return counts
}
