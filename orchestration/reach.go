package orchestration

import (
	"fmt"

	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// Instance names an instance: by Key, or by ID if Key is empty. An ID may be that of a successor by now; a key never is.
type Instance struct {
	ID  string `json:"id"`
	Key string `json:"key,omitempty"`
}

// Raise sends an event to the instance that the ID names, in the commit of the turn. See [Instance.Raise].
func Raise(ctx *Context, id, event string, payload any) Future[None] {
	return Instance{ID: id}.Raise(ctx, event, payload)
}

// CancelInstance asks the instance that the ID names to stop in its own way, in the commit of the turn. See [Instance.Cancel].
func CancelInstance(ctx *Context, id, reason string) Future[None] {
	return Instance{ID: id}.Cancel(ctx, reason)
}

// Raise sends an event to the instance, in the commit of the turn: see [Events]. The future ends when the event is in the inbox of the
// instance, which takes it at its next turn. It fails with ErrNotFound if there is no such instance, with ErrEnded if that has ended,
// and with ErrInboxFull if too many messages wait there. Events of one sender come in their order.
//
// Cancelling the future gives up only the wait. If this execution ends or continues as new in the same turn, the event goes out, too,
// and a refusal is lost. It goes to the dead letters if the execution ends.
func (i Instance) Raise(ctx *Context, event string, payload any) Future[None] {
	scope := ctx.engine()
	key, err := i.check(scope)
	if err == nil {
		err = check.Name("event name", event)
	}
	if err != nil {
		return Future[None]{f: scope.Failed(refused("raising event", event, err))}
	}
	data, err := encodeInput(scope, "event", event, payload)
	if err != nil {
		return Future[None]{f: scope.Failed(err)}
	}
	return Future[None]{f: scope.SendEvent(&history.EventSent{ID: i.ID, Key: key, Name: event, Payload: data})}
}

// Cancel asks the instance to stop in its own way, in the commit of the turn. The future ends when the request is in the inbox of
// the instance, and fails as that of [Instance.Raise] does. The reason has at most 4 KiB of UTF-8 without NUL.
func (i Instance) Cancel(ctx *Context, reason string) Future[None] {
	scope := ctx.engine()
	key, err := i.check(scope)
	if err == nil {
		err = checkReason(reason)
	}
	if err != nil {
		return Future[None]{f: scope.Failed(refused("cancelling", i.ID, err))}
	}
	return Future[None]{f: scope.SendCancel(&history.CancelSent{ID: i.ID, Key: key, Reason: reason})}
}

// maxReason bounds the reason of a cancellation, in bytes.
const maxReason = 4 << 10

func checkReason(reason string) error {
	if len(reason) > maxReason {
		return fmt.Errorf("the reason has %d bytes: shorten it to %d", len(reason), maxReason)
	}
	return check.Text("reason", reason)
}

// check returns the key of the instance, zero for none.
func (i Instance) check(scope *replay.Scope) (key provider.UUID, err error) {
	if err := mayReach(scope, "", i.ID); err != nil {
		return key, err
	}
	if i.Key == "" {
		return key, check.Name("instance ID", i.ID)
	}
	if err := key.UnmarshalText([]byte(i.Key)); err != nil || key.IsZero() {
		return key, fmt.Errorf("instance key %s is no UUID: use the Key of an Instance or of Info", check.Quote(i.Key))
	}
	return key, check.OptionalName("instance ID", i.ID)
}
