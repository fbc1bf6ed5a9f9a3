package timeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/provider"
)

// siblings are listed newest first, some of them on empty pages as a store may return them.
type siblings struct {
	all   []client.Description
	calls int
}

func (s *siblings) matching(f *client.Filter) (found []client.Description) {
	for i := range s.all {
		if len(f.Statuses) > 0 && !slices.Contains(f.Statuses, s.all[i].Status) || f.Blocked && s.all[i].Blocked == nil || f.Parent != (provider.UUID{9}) || !f.Replaced {
			continue
		}
		found = append(found, s.all[i])
	}
	return found
}

func (s *siblings) List(_ context.Context, f client.Filter, page client.Page) (client.Instances, error) {
	s.calls++
	from, empty := 0, 0
	if page.Cursor != "" {
		if n, err := fmt.Sscanf(page.Cursor, "%d.%d", &from, &empty); n != 2 {
			return client.Instances{}, err
		}
	}
	if empty == 0 && from%3 == 0 {
		return client.Instances{Cursor: fmt.Sprintf("%d.1", from)}, nil
	}
	found := s.matching(&f)
	to := min(len(found), from+page.Size)
	list := client.Instances{Items: found[from:to]}
	if to < len(found) {
		list.Cursor = fmt.Sprintf("%d.0", to)
	}
	return list, nil
}

func (s *siblings) CountUpTo(_ context.Context, f client.Filter, most int64) (client.Counted, error) {
	n := int64(len(s.matching(&f)))
	return client.Counted{Count: min(n, most), Exact: n <= most}, nil
}

// Five hundred children are read page by page: each once, those that run first, then failed ones. Counts have each status.
func TestFiveHundredChildrenAreRead(t *testing.T) {
	t.Parallel()
	s := &siblings{}
	statuses := map[int]client.Status{3: client.StatusRunning, 250: client.StatusFailed, 400: client.StatusSuspended, 499: client.StatusFailed}
	tree := &client.TreeNode{}
	for i := range 500 {
		d := client.Description{ID: fmt.Sprint("child-", i), Status: client.StatusCompleted}
		if of := statuses[i]; of != "" {
			d.Status = of
		}
		if i == 3 {
			d.Blocked = &client.Blocked{Count: 1}
		}
		s.all = append(s.all, d)
		tree.Children = append(tree.Children, &client.TreeNode{Description: d})
	}
	for _, size := range []int{1, 7, 100, 500, 1000} {
		var got []string
		for cursor, pages := "", 0; ; pages++ {
			s.calls = 0
			list, err := ReadChildren(t.Context(), s, provider.UUID{9}, size, cursor)
			if err != nil || len(list.Items) > size || s.calls > 8 || pages > 2_000 {
				t.Fatalf("size %d: %d children by %d calls, page %d: %v", size, len(list.Items), s.calls, pages, err)
			}
			for i := range list.Items {
				got = append(got, list.Items[i].ID)
			}
			if cursor = list.Cursor; cursor == "" {
				break
			}
		}
		slices.Sort(got[4:])
		if len(got) != 500 || len(slices.Compact(slices.Sorted(slices.Values(got)))) != 500 ||
			strings.Join(got[:4], " ") != "child-3 child-400 child-250 child-499" {
			t.Errorf("size %d: %d children, the first are %v", size, len(got), got[:min(6, len(got))])
		}
	}
	const want = "1 Running, 1 Suspended, 2 Failed, 496 Completed, 1 Blocked"
	text := func(counts []Count) string {
		var parts []string
		for _, c := range counts {
			parts = append(parts, c.Counted.String()+" "+c.Status)
		}
		return strings.Join(parts, ", ")
	}
	counts, err := CountChildren(t.Context(), s, provider.UUID{9}, 1000)
	if err != nil || text(counts) != want || text(CountTree(tree)) != want {
		t.Errorf("counts are %s and of the tree %s, want %s (%v)", text(counts), text(CountTree(tree)), want, err)
	}
	if few, err := CountChildren(t.Context(), s, provider.UUID{9}, 100); err != nil || few[3].Counted.Exact || few[3].Counted.String() != "100+" {
		t.Errorf("up to 100: %+v, %v", few, err)
	}
	if urgent, err := ReadUrgent(t.Context(), s, provider.UUID{9}, 10); err != nil || len(urgent) != 4 || urgent[0].ID != "child-3" || urgent[3].ID != "child-499" {
		t.Errorf("urgent ones are %d: %v", len(urgent), err)
	}
	SortTree(tree)
	if c := tree.Children; c[0].ID != "child-3" || c[1].ID != "child-400" || c[2].ID != "child-250" || c[3].ID != "child-499" || c[4].ID != "child-0" {
		t.Errorf("the tree begins with %s, %s, %s, %s, %s", c[0].ID, c[1].ID, c[2].ID, c[3].ID, c[4].ID)
	}
	for _, cursor := range []string{"x", "7.", "-1.", "0", "."} {
		if _, err := ReadChildren(t.Context(), s, provider.UUID{9}, 10, cursor); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("cursor %q: %v", cursor, err)
		}
	}
}
