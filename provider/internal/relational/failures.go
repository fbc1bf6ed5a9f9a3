package relational

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/perdure/perdure/provider"
)

const (
	// A plan that sorts would read all that failed.
	sqlByOrder = `SELECT {set_config('enable_bitmapscan', 'off', true)|1}`
	// The newest rows, and whether each belongs to the end of its instance: an older release may have let that fail again.
	sqlNewestFailed = `SELECT o.failure_group, o.failed_at, o.key, o.excerpt, k.name, k.code_version, i.ended_at = o.failed_at AND i.status = 4
	FROM (SELECT failure_group, failed_at, key, excerpt FROM perdure.outcome WHERE failure_group IS NOT NULL AND failed_at >= $1`
	sqlOneGroup = ` AND failure_group = $2`
	sqlOfThem   = ` ORDER BY failed_at DESC, key DESC LIMIT %d) o JOIN perdure.instance i ON i.key = {ANY(ARRAY[o.key])|o.key}
	JOIN perdure.kind k ON k.id = i.kind ORDER BY o.failed_at DESC, o.key DESC`
)

// FailureGroups implements [provider.FailureGrouper].
func (qs Queries) FailureGroups(ctx context.Context, req provider.FailureGroupsRequest) (provider.FailureGroupsResult, error) {
	if err := req.Validate(); err != nil {
		return provider.FailureGroupsResult{}, err
	}
	sql, args := sqlNewestFailed, []any{int64(req.EndedAfter)}
	if req.Group != "" {
		sql, args = sql+sqlOneGroup, append(args, req.Group)
	}
	sql += fmt.Sprintf(sqlOfThem, provider.MaxGrouped+1)
	how := Reading{Op: "failure groups", Snapshot: true, Long: true}
	res, err := read(ctx, qs.storage, how, func(q Queryer, res *provider.FailureGroupsResult) error {
		g := grouping{req: &req, groups: map[string]*grouped{}}
		n := 0
		skip := func(Row) error { return nil }
		err := q.Query(Query{SQL: sqlByOrder, Each: skip}, Query{SQL: sql, Args: args, Each: func(r Row) error {
			if n++; n > provider.MaxGrouped {
				res.AtLeast = true
				return ErrStop
			}
			if r.Bool(6) {
				g.add(r)
			}
			return nil
		}})
		if err != nil {
			return err
		}
		res.Groups = g.result()
		return now(q, &res.Now)
	})
	qs.storage.ObserveTime(res.Now)
	return res, err
}

// grouping gathers groups from rows of sqlNewestFailed, of which the newest comes first.
type grouping struct {
	req    *provider.FailureGroupsRequest
	order  []*grouped
	groups map[string]*grouped
}

type grouped struct {
	provider.FailureGroup

	versions map[string]struct{}
	texts    map[string]int64
}

func (g *grouping) add(r Row) {
	name := r.Text(4)
	if g.req.Name != "" && name != g.req.Name {
		return
	}
	group, at := r.Text(0), timeIn(r, 1)
	one := g.groups[group]
	if one == nil {
		one = &grouped{
			FailureGroup: provider.FailureGroup{Group: group, Name: name, Last: at, Newest: r.UUID(2), Excerpt: r.Blob(3)},
			versions:     map[string]struct{}{}, texts: map[string]int64{},
		}
		g.groups[group] = one
		g.order = append(g.order, one)
	}
	one.Count++
	one.First = at
	if len(one.versions) < provider.MaxGroupTexts {
		one.versions[r.Text(5)] = struct{}{}
	}
	if g.req.Group != "" {
		one.texts[string(r.Blob(3))]++
	}
}

// result returns the groups that the request asks for.
func (g *grouping) result() (groups []provider.FailureGroup) {
	for _, one := range g.order[:min(len(g.order), cmp.Or(g.req.Max, provider.MaxPage))] {
		one.Versions = slices.Sorted(maps.Keys(one.versions))
		texts := slices.SortedFunc(maps.Keys(one.texts), func(a, b string) int {
			return cmp.Or(cmp.Compare(one.texts[b], one.texts[a]), strings.Compare(a, b))
		})
		for _, text := range texts[:min(len(texts), cmp.Or(g.req.Texts, provider.MaxGroupTexts))] {
			one.Texts = append(one.Texts, provider.FailedText{Excerpt: []byte(text), Count: one.texts[text]})
		}
		groups = append(groups, one.FailureGroup)
	}
	return groups
}
