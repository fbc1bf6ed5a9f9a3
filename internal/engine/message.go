package engine

import (
	"math"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// Message returns a body encoded for an inbox.
func Message(b history.Body, execution, event int64) provider.NewMessage {
	return provider.NewMessage{
		Kind: provider.MessageKind(b.Kind()), Execution: execution, EventID: event,
		EngineLevel: replay.LevelOfMessage(b), Payload: history.Encode(nil, history.Event{Body: b}),
	}
}

// MaxOrigins bounds the bytes that the origins of one commit have besides headers.
const MaxOrigins = replay.MaxHeaders * 3 / 4

// NewTask makes the task of a scheduled activity. The payload is the encoded event.
func NewTask(event int64, call *history.ActivityScheduled, payload []byte) provider.NewTask {
	return provider.NewTask{
		EventID: event, Queue: call.Queue, Name: call.Name, Payload: payload, NotBefore: time.Duration(call.Delay) * time.Microsecond,
		Priority: int(call.Priority), FairnessKey: call.FairnessKey, Session: call.Session,
		StartBy: Span(call.ScheduleToStart), Deadline: Span(call.ScheduleToClose),
	}
}

// MaxDelay is the longest delay that does not overflow and that every storage accepts.
const MaxDelay = math.MaxInt64 / 4000 * time.Microsecond

// Span converts stored microseconds. It limits the result so that neither the duration nor a time computed from it overflows.
func Span(micros int64) time.Duration {
	return time.Duration(min(micros, int64(MaxDelay/time.Microsecond))) * time.Microsecond
}

// attributesOf returns attributes in the form of the contract.
func attributesOf(list []history.Attribute) (all []provider.Attribute) {
	for _, a := range list {
		all = append(all, provider.Attribute{Name: a.Name, Kind: provider.AttributeKind(a.Kind), Text: a.Text, Number: a.Number})
	}
	return all
}
