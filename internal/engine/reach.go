package engine

import (
	"cmp"
	"fmt"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// reach adds the effects of an event on instances that are no children.
func (d *decider) reach(e history.Event) {
	switch b := e.Body.(type) {
	case *history.DetachedStarted:
		d.Request.Starts = append(d.Request.Starts, d.startDetached(e.ID, b))
	case *history.EventSent:
		d.Request.Sends = append(d.Request.Sends, d.sendEvent(e.ID, b))
	case *history.CancelSent:
		d.Request.Sends = append(d.Request.Sends, d.sendCancel(e.ID, b))
	}
}

// startDetached starts an instance without a parent. Its end is told to whichever execution of this instance is current then.
func (d *decider) startDetached(event int64, b *history.DetachedStarted) provider.Start {
	id := cmp.Or(b.RequestID, provider.UUID(b.Key).String())
	started := &history.ExecutionStarted{
		Name: b.Name, CodeVersion: b.CodeVersion, Input: b.Input, Settings: d.policy.Settings, RequestID: id,
		Header: d.added.header(), HasListener: b.EndEvent != "",
	}
	start := provider.Start{
		Create: provider.CreateRequest{
			ID: b.ID, Key: b.Key, Name: b.Name, CodeVersion: b.CodeVersion, EngineLevel: replay.LevelOf(started),
			RequestID: id, Message: Message(started, 0, 0),
		},
		Refused:  reply(event, b.Key, history.ReplyExists),
		Accepted: new(reply(event, b.Key, history.ReplyAccepted)),
	}
	start.Create.Attributes = attributesOf(b.Attributes)
	for i, e := range b.Events {
		start.Create.Messages = append(start.Create.Messages, Message(&history.EventReceived{
			Name: e.Name, Payload: e.Payload, RequestID: fmt.Sprintf("start:%s:%d", id, i),
		}, 0, 0))
	}
	if b.EndEvent != "" {
		// Without a request ID it counts each time: an instance may end again after a reset.
		start.Create.Listener = &provider.Listener{Key: d.info.Key, Message: Message(&history.EventReceived{
			Name: b.EndEvent, Payload: history.EncodeEnded(history.Ended{ID: b.ID, Key: provider.UUID(b.Key).String(), RequestID: b.RequestID}),
		}, 0, 0)}
	}
	return start
}

// sendEvent sends an event. Its request ID makes a repeated delivery harmless.
func (d *decider) sendEvent(event int64, b *history.EventSent) provider.OutMessage {
	return send(event, b.ID, b.Key, b.Message, &history.EventReceived{
		Name: b.Name, Payload: b.Payload, RequestID: provider.UUID(b.Message).String(), Header: d.added.header(),
	})
}

// sendCancel asks another instance to stop.
func (d *decider) sendCancel(event int64, b *history.CancelSent) provider.OutMessage {
	return send(event, b.ID, b.Key, b.Message, &history.CancelRequested{
		Reason: b.Reason, RequestID: provider.UUID(b.Message).String(), Header: d.added.header(),
	})
}

// send returns a message whose fate the sender is told. The message counts towards the limits of the receiver's inbox.
func send(event int64, id string, key, message provider.UUID, body history.Body) provider.OutMessage {
	if !key.IsZero() {
		id = "" // it is for people
	}
	return provider.OutMessage{ID: id, Key: key, Message: Message(body, 0, 0), Replies: &provider.Replies{
		Accepted: reply(event, message, history.ReplyAccepted), Gone: reply(event, message, history.ReplyGone),
		Ended: reply(event, message, history.ReplyEnded), Full: reply(event, message, history.ReplyFull),
	}}
}

// reply makes the reply to a command. It is for any execution: a reset may have opened the next one with the command pending.
func reply(event int64, message provider.UUID, outcome int64) provider.NewMessage {
	return Message(&history.ReplyReceived{Command: event, Message: message, Outcome: outcome}, 0, event)
}
