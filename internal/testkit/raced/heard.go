package raced

import (
	"errors"
	"fmt"

	"github.com/perdure/perdure/provider"
)

// said returns what a caller hears: an error of the contract, or parts of the result.
func said(err error, parts ...any) string {
	if err == nil {
		return "ok " + fmt.Sprintln(parts...)
	}
	for _, sentinel := range []error{
		provider.ErrConflict, provider.ErrLeaseLost, provider.ErrInboxNotEmpty, provider.ErrInboxFull, provider.ErrMoved, provider.ErrNotFound, provider.ErrExists,
		provider.ErrEnded, provider.ErrRunning,
	} {
		if errors.Is(err, sentinel) {
			return sentinel.Error() + "\n"
		}
	}
	return fmt.Sprintf("failed, %s: %v\n", provider.OutcomeOf(err), err)
}

// row returns the parts of an instance that calls return.
func row(in *provider.Instance) string {
	return fmt.Sprint(in.Status, in.Deleting, in.Execution, in.HistoryLength, in.EngineLevel, in.Blocked != nil, in.ReadyAt != 0, in.InboxMessages, in.Deliveries)
}
