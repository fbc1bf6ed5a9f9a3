package provider

import "context"

// Lister is implemented by providers that find instances by their fields.
type Lister interface {
	// List returns the instances that match the filter, a page at a time. The newest creation comes first, then
	// keys descend. A page continues after Cursor, so that instances created or ended between two pages neither
	// repeat nor hide others.
	//
	// A listed instance has no Result. A page ends before its custom statuses and messages of Blocked exceed
	// [MaxFetchBytes]. It may also end once the provider has looked at [MinRows] rows, even without an instance. Its
	// Cursor then continues after the last row.
	List(ctx context.Context, req ListRequest) (ListResult, error)

	// Count returns how many instances match the filter. With Max, it stops at that many matches. It may then also
	// stop once it has looked at [MinRows] rows. With Filter.Retrying, it may stop once it has looked at 5,000 such tasks. Exact reports that
	// it counted all matches.
	Count(ctx context.Context, req CountRequest) (CountResult, error)
}

// Meter is implemented by providers that measure waiting work.
type Meter interface {
	// Stats returns figures about waiting work, for health and metrics. They may be some seconds stale.
	// With Waiting or Running, it returns what these name and need not count anything else.
	Stats(ctx context.Context, req StatsRequest) (StatsResult, error)
}

// Cleaner is implemented by providers that remove instances.
type Cleaner interface {
	// Delete removes an instance and its children, with everything stored under their keys.
	//
	// It first marks the instance and its children as deleting: that writes new Versions, and fetches, sends and
	// creates under them are refused. It then removes bottom-up until nothing with that parent link is left. An
	// interrupted Delete continues when it is repeated. It returns ErrNotFound for an unknown instance. Unless Force is
	// set, it returns [ErrRunning] if the instance or one below it is running.
	Delete(ctx context.Context, req DeleteRequest) (DeleteResult, error)

	// Prune deletes up to Max instances that ended before a given age, oldest first, and returns how many. Children
	// go with their parent, never alone before it. A child of an execution that its parent has left goes as if it had
	// no parent. Names and Statuses choose among those that may go; what goes with a parent need not match. ExceptNames
	// leaves out those that it names. A parent with a running child stays and does not count towards Max. An instance
	// in Spare stays, and so does what it is below.
	//
	// Prune may also stop once it has looked at [MinRows] ended instances. Its Cursor then continues after the last one.
	//
	// With Look, Prune removes nothing. Trees has those that it would remove, Instances counts them, and Cursor continues behind them.
	Prune(ctx context.Context, req PruneRequest) (PruneResult, error)
}

// Redriver is implemented by providers that keep dead letters.
type Redriver interface {
	// DeadLetters lists items that could not be delivered or processed, puts them back where they came from (redrive) or
	// discards them. Items are taken in the order in which they are named. A redriven task begins anew, with its
	// first attempt and without a deadline. It keeps its queue, name, payload, priority, fairness key and session. A
	// redriven message is visible at once. It keeps its kind, execution and event, and is a timer again if its execution is the
	// current one. An item that cannot go back stays and is not counted.
	DeadLetters(ctx context.Context, req DeadLettersRequest) (DeadLettersResult, error)
}
