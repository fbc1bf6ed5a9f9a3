package task

import (
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// MaxOrigins bounds the bytes that the origins of one commit have besides headers.
const MaxOrigins = replay.MaxHeaders * 3 / 4

// Of makes the task of a scheduled activity. The payload is the encoded event.
func Of(event int64, call *history.ActivityScheduled, payload []byte) provider.NewTask {
	return provider.NewTask{
		EventID: event, Queue: call.Queue, Name: call.Name, Payload: payload, NotBefore: time.Duration(call.Delay) * time.Microsecond,
		Priority: int(call.Priority), FairnessKey: call.FairnessKey, Session: call.Session,
		StartBy: Span(call.ScheduleToStart), Deadline: Span(call.ScheduleToClose),
	}
}
