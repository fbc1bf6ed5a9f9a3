package provider

import "context"

// Asker is implemented by providers that carry questions to a running instance and its answers back. A question is no message:
// it is stored outside the inbox and changes nothing.
type Asker interface {
	// Ask stores a question outside the inbox. It blocks until the question is answered, Wait has passed
	// ([ErrNoAnswer]) or the context is done. An instance accepts questions in any status. The question is removed
	// when the call returns or Wait has passed. If there is no such instance, or it is being deleted, the call returns
	// [ErrNotFound]. An instance that is removed during the call ends it with ErrNotFound, too. An AskID
	// that a waiting call of the same process has returns [ErrExists], and that call goes on.
	//
	// With As, the question goes to nodes with that capability instead of the instance's own. The engine level of the
	// instance still counts.
	Ask(ctx context.Context, req AskRequest) (AskResult, error)

	// FetchAsks takes up to Max open questions to instances of the given capabilities, in any status.
	// A taken question is hidden from other fetches for Lease. The call blocks up to Wait.
	//
	// With an Owner, a question is left alone for [AskHome] if the instance sticks to another owner. So the node that
	// has the instance in memory answers it, unless that node is slow or dead.
	FetchAsks(ctx context.Context, req FetchAsksRequest) (FetchAsksResult, error)

	// Answer answers a question. It returns [ErrNotFound] if the question is gone or was answered before.
	// It wakes the call that asked, and no other.
	Answer(ctx context.Context, req AnswerRequest) error
}
