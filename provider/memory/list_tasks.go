package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/perdure/perdure/provider"
)

// ListTasks implements provider.TaskLister.
func (rd *reader) ListTasks(ctx context.Context, req provider.ListTasksRequest) (res provider.ListTasksResult, err error) {
	err = rd.do(ctx, req, func(now provider.Time) error {
		var after provider.TaskRef
		if req.Cursor != "" {
			if after, err = readTaskCursor(req.Cursor); err != nil {
				return err
			}
		}
		var list []*task
		for _, t := range rd.tasks.byRef {
			wanted := (req.Queue == "" || req.Queue == t.queue) && (req.Name == "" || req.Name == t.name) && (!req.Retrying || t.retrying())
			if wanted && compareRefs(t.TaskRef, after) > 0 && !rd.instances.byKey[t.Key].row.Deleting {
				list = append(list, t)
			}
		}
		slices.SortFunc(list, func(a, b *task) int { return compareRefs(a.TaskRef, b.TaskRef) })
		res = provider.ListTasksResult{Now: now}
		bytes := 0
		for n, t := range list {
			bytes += len(t.details) + len(t.failure)
			if n == cmp.Or(req.Max, provider.MaxPage) || n > 0 && bytes > provider.MaxFetchBytes {
				last := list[n-1]
				res.Cursor = fmt.Sprintf("%s/%d/%d", last.Key, last.Execution, last.EventID)
				return nil
			}
			row := &rd.instances.byKey[t.Key].row
			res.Tasks = append(res.Tasks, provider.ListedTask{
				TaskInfo: rd.tasks.info(t, now), InstanceID: row.ID, Orchestration: row.Name, CodeVersion: row.CodeVersion,
			})
		}
		return nil
	})
	return res, err
}

// compareRefs compares two tasks in the order of ListTasks.
func compareRefs(a, b provider.TaskRef) int {
	return cmp.Or(slices.Compare(a.Key[:], b.Key[:]), cmp.Compare(a.Execution, b.Execution), cmp.Compare(a.EventID, b.EventID))
}

func readTaskCursor(s string) (ref provider.TaskRef, err error) {
	parts := strings.Split(s+"//", "/")
	for n, to := range []*int64{&ref.Execution, &ref.EventID} {
		if err == nil {
			*to, err = strconv.ParseInt(parts[n+1], 10, 64)
		}
	}
	if err == nil {
		err = ref.Key.UnmarshalText([]byte(parts[0]))
	}
	if err != nil {
		return ref, fmt.Errorf("list tasks: Cursor: %w: use ListTasksResult.Cursor of the previous page", provider.ErrInvalid)
	}
	return ref, nil
}
