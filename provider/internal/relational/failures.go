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
	// Where statistics are old or missing, a plan that sorts would read all that failed, and one that joins instances to kinds first
	// would compare each failure with each instance of its kind. So each row comes from an index in its order, and is looked up by itself.
	sqlByOrder = `SELECT {set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true),
	set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)|1}`
	// The newest rows, and whether each belongs to the end of its instance: an older release may have let that fail again.
	sqlNewestFailed = `SELECT o.failure_group, o.failed_at, o.key, o.excerpt, k.name, k.code_version, i.ended_at = o.failed_at AND i.status = 4
	FROM (SELECT o.failure_group, o.failed_at, o.key, o.excerpt FROM perdure.outcome o
		WHERE o.failure_group %[1]s AND o.failed_at >= $1 ORDER BY %[2]so.failed_at DESC, o.key DESC LIMIT %[3]d) o
	CROSS JOIN {LATERAL (SELECT x.kind, x.ended_at, x.status FROM perdure.instance x
		WHERE x.key = ANY(ARRAY[o.key]) ORDER BY x.key OFFSET 0) i|perdure.instance i ON i.key = o.key}
	CROSS JOIN {LATERAL (SELECT x.name, x.code_version FROM perdure.kind x WHERE x.id = i.kind OFFSET 0) k|perdure.kind k ON k.id = i.kind}
	ORDER BY %[2]so.failed_at DESC, o.key DESC`
	sqlAnyGroup = `IS NOT NULL`
	// Any of one group, in the order of groups, which only one of the two indexes has. A planner that knows of few groups would take either.
	sqlOneGroup = `= {ANY(ARRAY[$2])|$2}`
	sqlOneOrder = `o.failure_group DESC, `
)

// FailureGroups implements [provider.FailureGrouper].
func (qs Queries) FailureGroups(ctx context.Context, req provider.FailureGroupsRequest) (provider.FailureGroupsResult, error) {
	if err := req.Validate(); err != nil {
		return provider.FailureGroupsResult{}, err
	}
	which, order, args := sqlAnyGroup, "", []any{int64(req.EndedAfter)}
	if req.Group != "" {
		which, order, args = sqlOneGroup, sqlOneOrder, append(args, req.Group)
	}
	sql := fmt.Sprintf(sqlNewestFailed, which, order, provider.MaxGrouped+1)
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
