package provider

import (
	"context"
	"time"
)

// Trimmer is implemented by providers that remove old executions of instances that go on.
type Trimmer interface {
	// Trim removes up to Max executions that ended before a given age, with their histories, and returns how many. It
	// never removes the current execution of an instance, nor the Keep executions before it. No execution goes before an
	// older one of its instance. A removed execution reads as one that never existed.
	//
	// Trim may also stop once it has looked at [MinRows] executions. A call with its Cursor continues there.
	//
	// With Look, Trim removes no execution. Found has those that it would remove, Executions counts them, and Cursor continues behind them.
	Trim(ctx context.Context, req TrimRequest) (TrimResult, error)
}

// TrimRequest removes executions that ended at least Age ago, at most Max (0: 1,000). An execution that is not the current one
// ended when the next one opened. If an older release has not noted that, it may count from the first Trim with an Age.
type TrimRequest struct {
	Age    time.Duration
	Keep   int    // executions before the current one that stay, at most MaxBatch; 0: one
	Max    int    // of executions
	Cursor string // "" to begin, else TrimResult.Cursor
	Look   bool   // remove nothing
}

// TrimResult says how many executions were removed. Cursor is "" once all executions were looked at. After Max it may lead to
// nothing more.
type TrimResult struct {
	Executions int64
	Cursor     string
	Found      []OldExecution // with Look
}

// OldExecution names an execution that is not the current one of its instance.
type OldExecution struct {
	Key       UUID
	Execution int64
}

// Compactor is implemented by providers whose files do not shrink by themselves.
type Compactor interface {
	// Compact returns free space of the store to the file system, in steps that hold no other caller up for long. It
	// gives back at least Bytes, unless less is free.
	Compact(ctx context.Context, req CompactRequest) (CompactResult, error)
}

// CompactRequest asks for space. With Rebuild, the store is written anew without any gap. Other callers wait until that
// is done, and the store needs as much free space again on its disk.
type CompactRequest struct {
	Bytes   int64 // 0: only look
	Rebuild bool
}

// CompactResult says what was given back. Fixed reports that the store can give back space only by a rebuild.
type CompactResult struct {
	Freed int64 // bytes
	Free  int64 // bytes that are still free inside the store
	Size  int64 // bytes of the store
	Fixed bool
}
