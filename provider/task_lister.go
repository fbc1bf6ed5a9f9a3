package provider

import "context"

// TaskLister is implemented by providers that list pending tasks of all instances, for people who look for trouble. Its calls change nothing,
// and take no lease. A provider that implements it also applies Filter.Retrying and declares [Features].Retrying.
type TaskLister interface {
	// ListTasks returns pending tasks, a page at a time, in the order of key, execution and event ID. A page continues
	// after Cursor. So a task that begins, ends or is tried again between two pages hides no other, and none comes twice. A page ends before
	// its Details and Failures exceed [MaxFetchBytes], and may end once the provider has looked at [MinRows] rows, even without a task. An
	// instance that is being deleted has no tasks here.
	ListTasks(ctx context.Context, req ListTasksRequest) (ListTasksResult, error)
}

// ListTasksRequest asks for a page of pending tasks: of all queues and activities unless Queue or Name is set.
type ListTasksRequest struct {
	Queue    string
	Name     string
	Retrying bool   // only tasks whose Attempt or Deliveries is above 1
	Cursor   string // "" for the first page, else ListTasksResult.Cursor
	Max      int    // 1 to MaxPage; 0: MaxPage
}

// ListTasksResult is a page. Cursor is "" after the last one.
type ListTasksResult struct {
	Tasks  []ListedTask
	Cursor string
	Now    Time
}

// ListedTask is a pending task with its instance.
type ListedTask struct {
	TaskInfo
	InstanceID    string
	Orchestration string
	CodeVersion   string // of the orchestration
}
