package sealing

import (
	"bytes"
	"context"

	"github.com/perdure/perdure/codec"
	"github.com/perdure/perdure/provider"
)

var (
	_ provider.TaskLister     = (*Store)(nil)
	_ provider.FailureGrouper = (*Store)(nil)
)

// ListTasks implements provider.TaskLister. What cannot be opened stays sealed.
func (st *Store) ListTasks(ctx context.Context, req provider.ListTasksRequest) (provider.ListTasksResult, error) {
	res, err := st.Full.ListTasks(ctx, req)
	if err != nil {
		return res, err
	}
	o := new(opener)
	for i := range res.Tasks {
		o.whole(codec.Heartbeat, &res.Tasks[i].Details)
		o.whole(codec.Failure, &res.Tasks[i].Failure)
	}
	_ = st.open(ctx, callTimeout, o)
	return res, nil
}

// FailureGroups implements provider.FailureGrouper. What cannot be opened stays sealed. Excerpts that differ only because they were sealed
// become one.
func (st *Store) FailureGroups(ctx context.Context, req provider.FailureGroupsRequest) (provider.FailureGroupsResult, error) {
	res, err := st.Full.FailureGroups(ctx, req)
	if err != nil {
		return res, err
	}
	o := new(opener)
	for i := range res.Groups {
		g := &res.Groups[i]
		o.whole(codec.Excerpt, &g.Excerpt)
		for j := range g.Texts {
			o.whole(codec.Excerpt, &g.Texts[j].Excerpt)
		}
	}
	_ = st.open(ctx, callTimeout, o)
	for i := range res.Groups {
		res.Groups[i].Texts = merged(res.Groups[i].Texts)
	}
	return res, nil
}

// merged adds up the counts of equal excerpts.
func merged(texts []provider.FailedText) (out []provider.FailedText) {
next:
	for _, text := range texts {
		for i := range out {
			if bytes.Equal(out[i].Excerpt, text.Excerpt) {
				out[i].Count += text.Count
				continue next
			}
		}
		out = append(out, text)
	}
	return out
}
