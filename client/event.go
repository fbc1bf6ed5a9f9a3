package client

import (
	"encoding/json"
	"math"
	"time"

	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// HistoryEvent is an event of a history in a readable form. All kinds share one flat struct. Fields that do not apply
// are zero.
type HistoryEvent struct {
	ID   int64     `json:"id"`
	Time time.Time `json:"time,omitzero"` // by the storage's clock; a command has that of the message before it
	Kind string    `json:"kind"`          // such as "ActivityScheduled"; see HistoryKinds
	// Name of the orchestration, activity or event, or the ID of a patch.
	Name        string `json:"name,omitempty"`
	CodeVersion string `json:"codeVersion,omitempty"`
	// Ref is the event that this one is the result of, or cancels, such as the ActivityScheduled of an ActivityCompleted.
	Ref int64 `json:"ref,omitempty"`
	// Input is the input of an orchestration or activity, or the payload of an event.
	Input json.RawMessage `json:"input,omitempty"`
	// Output is a result, also of a side effect.
	Output  json.RawMessage `json:"output,omitempty"`
	Failure *Failure        `json:"failure,omitempty"`
	// Queue and Attempt are of an activity.
	Queue   string `json:"queue,omitempty"`
	Attempt int64  `json:"attempt,omitempty"`
	// Attempts are the last ones of an activity that has ended, at most ten, if there was more than one.
	Attempts []Attempt `json:"attempts,omitempty"`
	// Timeout bounds one attempt of an activity, in nanoseconds.
	Timeout time.Duration `json:"timeoutNanos,omitempty"`
	// Duration is the length of a timer, the delay of a start, or the pause before the next attempt of a local activity, in
	// nanoseconds. Due is when a timer fires.
	Duration time.Duration `json:"durationNanos,omitempty"`
	Due      time.Time     `json:"due,omitzero"`
	// Instance and InstanceKey name the instance that is started, cancelled or sent an event.
	Instance    string        `json:"instance,omitempty"`
	InstanceKey provider.UUID `json:"instanceKey,omitzero"`
	// Cancellation says what giving up a child does, and ClosePolicy what the end of its parent does, if that is not the default. Attributes
	// are those with which it begins.
	Cancellation string         `json:"cancellation,omitempty"` // "wait" or "abandon"
	ClosePolicy  string         `json:"closePolicy,omitempty"`  // "abandon"
	Attributes   map[string]any `json:"attributes,omitempty"`
	// Parent started this execution as a child.
	Parent *Parent `json:"parent,omitempty"`
	// Origin is the execution that a reset or fork has copied the events before this one from, and the event at which it stopped.
	Origin *Parent `json:"origin,omitempty"`
	// Reason of a cancellation, termination, reset or fork. It also says how an update ended, such as "rejected", and what became of a
	// start or message, such as "accepted".
	Reason    string `json:"reason,omitempty"`
	RequestID string `json:"requestId,omitempty"`
	Continued bool   `json:"continued,omitempty"` // an execution that another one continued as
	// Header of a start, an event, an update or a request to cancel. Activities and children have that of the start, which is not
	// repeated in their events. A ChildStarted has what the call adds to it.
	Header map[string]string `json:"header,omitempty"`
	// NewerVersion says that the code learns of a newer version of itself with this message: see orchestration.Info.
	NewerVersion bool `json:"newerVersion,omitempty"`
	// EncryptedWith is the ID of the key with which the values of the event are encrypted, if the client cannot decrypt them: they are left out.
	// "": they are plain, or were decrypted.
	EncryptedWith string `json:"encryptedWith,omitempty"`
	// Execution has the event in its history. It is 0 in a history file.
	Execution int64 `json:"execution,omitempty"`
}

// describeEvent turns a stored event into a HistoryEvent.
func describeEvent(e history.Event) HistoryEvent {
	h := HistoryEvent{ID: e.ID, Time: provider.Time(e.At).Std(), Kind: e.Body.Kind().String(), NewerVersion: e.Newer}
	if !h.describeMessage(e.Body) && !h.describeCommand(e.Body) && !h.describeReach(e.Body) {
		h.describeEnd(e.Body)
	}
	return h
}

// describeMessage fills in an event that came from outside, and reports whether it was one.
func (h *HistoryEvent) describeMessage(body history.Body) bool {
	switch b := body.(type) {
	case *history.ExecutionStarted:
		h.Name, h.CodeVersion, h.Input = b.Name, b.CodeVersion, rawJSON(b.Input)
		h.RequestID, h.Continued, h.Duration, h.Header = b.RequestID, b.Continued, micros(b.Delay), history.DecodeHeader(b.Header)
		if p := &b.Parent; p.Key != [16]byte{} {
			h.Parent = &Parent{ID: p.ID, Key: p.Key, Execution: p.Execution, EventID: p.EventID}
		}
	case *history.ExecutionOpened:
	case *history.ActivityCompleted:
		h.Ref, h.Output, h.Attempt, h.Attempts = b.Scheduled, rawJSON(b.Output), b.Attempt, describeAttempts(b.Attempts)
	case *history.ActivityFailed:
		h.Ref, h.Failure, h.Attempt, h.Attempts = b.Scheduled, describeFailure(&b.Failure), b.Attempt, describeAttempts(b.Attempts)
	case *history.LocalEnded:
		h.Name, h.Output, h.Failure, h.Attempt = b.Name, rawJSON(b.Output), describeFailure(b.Failure), b.Attempt
	case *history.LocalQueued:
		h.Name, h.Attempt, h.Duration = b.Name, b.Attempts, micros(b.Delay)
	case *history.ForkPoint:
		h.Reason, h.RequestID = b.Reason, b.RequestID
		h.Origin = &Parent{ID: b.ID, Key: b.Key, Execution: b.Execution, EventID: b.Event}
	case *history.TimerFired:
		h.Ref = b.Timer
	case *history.EventReceived:
		h.Name, h.Input, h.RequestID = b.Name, rawJSON(b.Payload), b.RequestID
		h.Header = history.DecodeHeader(b.Header)
	case *history.UpdateReceived:
		h.Name, h.Input, h.RequestID = b.Name, rawJSON(b.Input), b.ID
		h.Header = history.DecodeHeader(b.Header)
	case *history.ChildCompleted:
		h.Ref, h.Output = b.Started, rawJSON(b.Output)
	case *history.ChildFailed:
		h.Ref, h.Failure = b.Started, describeFailure(&b.Failure)
	case *history.CancelRequested:
		h.Reason, h.RequestID, h.Header = b.Reason, b.RequestID, history.DecodeHeader(b.Header)
	case *history.ExecutionTerminated:
		h.Reason = b.Reason
	case *history.ReplyReceived:
		h.Ref, h.Reason = b.Command, replyOutcome(b.Outcome)
	default:
		return false
	}
	return true
}

// replyOutcome returns the name of what became of a command that reaches another instance.
func replyOutcome(outcome int64) string {
	switch outcome {
	case history.ReplyAccepted:
		return "accepted"
	case history.ReplyExists:
		return "exists"
	case history.ReplyGone:
		return "gone"
	case history.ReplyEnded:
		return "ended"
	case history.ReplyFull:
		return "inbox full"
	case history.ReplyForked:
		return "forked"
	default:
		return "unknown"
	}
}

// describeReach fills in an event that reaches an instance which is no child, and reports whether it was one.
func (h *HistoryEvent) describeReach(body history.Body) bool {
	switch b := body.(type) {
	case *history.DetachedStarted:
		h.Name, h.CodeVersion, h.Input, h.RequestID = b.Name, b.CodeVersion, rawJSON(b.Input), b.RequestID
		h.Instance, h.InstanceKey = b.ID, b.Key
		h.describeAttributes(b.Attributes)
	case *history.EventSent:
		h.Name, h.Input, h.Instance, h.InstanceKey = b.Name, rawJSON(b.Payload), b.ID, b.Key
	case *history.CancelSent:
		h.Reason, h.Instance, h.InstanceKey = b.Reason, b.ID, b.Key
	default:
		return false
	}
	return true
}

// describeChild fills in the options of a child.
func (h *HistoryEvent) describeChild(b *history.ChildStarted) {
	h.Cancellation = map[int64]string{history.CancelWait: "wait", history.CancelAbandon: "abandon"}[b.Cancellation]
	if b.Close == history.CloseAbandon {
		h.ClosePolicy = "abandon"
	}
	h.Header = history.DecodeHeader(b.Header)
	h.describeAttributes(b.Attributes)
}

// describeAttributes fills in the attributes with which an instance begins.
func (h *HistoryEvent) describeAttributes(list []history.Attribute) {
	for i := range list {
		if h.Attributes == nil {
			h.Attributes = make(map[string]any, len(list))
		}
		a := &list[i]
		h.Attributes[a.Name] = bind.AttributeValue(&provider.Attribute{Kind: provider.AttributeKind(a.Kind), Text: a.Text, Number: a.Number})
	}
}

// describeCommand fills in an event of the orchestration's code, and reports whether it was one.
func (h *HistoryEvent) describeCommand(body history.Body) bool {
	switch b := body.(type) {
	case *history.ActivityScheduled:
		h.Name, h.Queue, h.Input, h.Timeout = b.Name, b.Queue, rawJSON(b.Input), micros(b.StartToClose)
	case *history.ActivityCancelRequested:
		h.Ref = b.Scheduled
	case *history.TimerCreated:
		h.Due, h.Duration = provider.Time(b.Due).Std(), micros(b.Duration)
	case *history.TimerCancelled:
		h.Ref = b.Timer
	case *history.ChildStarted:
		h.Name, h.CodeVersion, h.Input = b.Name, b.CodeVersion, rawJSON(b.Input)
		h.Instance, h.InstanceKey = b.ID, b.Key
		h.describeChild(b)
	case *history.ChildCancelRequested:
		h.Ref, h.InstanceKey = b.Started, b.Key
	case *history.MainReturned:
		h.Output, h.Failure, h.Duration = rawJSON(b.Output), describeFailure(b.Failure), micros(b.Grace)
		if n := b.Next; n != nil {
			h.Name, h.CodeVersion, h.Input = n.Name, n.CodeVersion, rawJSON(n.Input)
		}
	case *history.UpdateAccepted:
		h.Ref = b.Received
	case *history.UpdateRejected:
		h.Ref, h.Failure, h.Reason = b.Received, describeFailure(b.Failure), updateStage(b.Outcome)
	case *history.UpdateCompleted:
		h.Ref, h.Output, h.Failure, h.Reason = b.Received, rawJSON(b.Output), describeFailure(b.Failure), updateStage(b.Outcome)
	case *history.PatchMarked:
		h.Name = b.ID
	case *history.SideEffectRecorded:
		h.Output, h.Failure = rawJSON(b.Value), describeFailure(b.Failure)
	default:
		return false
	}
	return true
}

// describeEnd fills in the last event of an execution.
func (h *HistoryEvent) describeEnd(body history.Body) {
	switch b := body.(type) {
	case *history.ExecutionCompleted:
		h.Output = rawJSON(b.Output)
	case *history.ExecutionFailed:
		h.Failure = describeFailure(&b.Failure)
	case *history.ExecutionCancelled:
		h.Failure = describeFailure(&b.Failure)
	case *history.ContinuedAsNew:
		h.Name, h.CodeVersion, h.Input = b.Name, b.CodeVersion, rawJSON(b.Input)
	}
}

// micros converts microseconds; the longest duration was rounded up when it was stored.
func micros(n int64) time.Duration {
	if n > math.MaxInt64/int64(time.Microsecond) {
		return math.MaxInt64
	}
	return time.Duration(n) * time.Microsecond
}
