package provider

import "context"

// Asker is implemented by providers that carry questions to a running instance and its answers back. A question is no message:
// it is stored outside the inbox and changes nothing.
type Asker interface {
	// Ask stores a question outside the inbox. It blocks until the question is answered, Wait has passed
	// ([ErrNoAnswer]) or the context is done. An instance accepts questions in any status. The question is removed
	// when the call returns or Wait has passed.
	Ask(ctx context.Context, req AskRequest) (AskResult, error)

	// FetchAsks takes up to Max open questions to instances of the given capabilities, in any status.
	// A taken question is hidden from other fetches for Lease. The call blocks up to Wait.
	FetchAsks(ctx context.Context, req FetchAsksRequest) (FetchAsksResult, error)

	// Answer answers a question. It returns [ErrNotFound] if the question is gone or was answered before.
	Answer(ctx context.Context, req AnswerRequest) error
}
