package history

// frame is the size of an event without its texts and payloads.
const frame = 32

// Size returns what an event counts towards the limit on the bytes of a history. It is roughly the length of the
// encoding, and costs a few additions. Code sees that limit, so the formula must give the same for a stored event for
// ever.
func Size(b Body) int64 {
	switch b := b.(type) {
	case *ExecutionStarted:
		own := len(b.Name) + len(b.CodeVersion) + len(b.Input) + len(b.Parent.ID) + len(b.RequestID) + len(b.Updates)
		return frame + int64(own) + listSize(b.Seen) + PreviousSize(b.Previous)
	case *ActivityCompleted:
		return frame + int64(len(b.Output)) + attemptsSize(b.Attempts)
	case *ActivityFailed:
		return frame + failureSize(&b.Failure) + attemptsSize(b.Attempts)
	case *LocalEnded:
		return frame + int64(len(b.Name)+len(b.Output)) + failureSize(b.Failure)
	case *ForkPoint: // without Seen: code sees sizes, and releases that do not know that field see the same ones
		return frame + int64(len(b.Seed)+len(b.ID)+len(b.Reason)+len(b.RequestID)+len(b.Updates))
	case *LocalQueued:
		return frame + int64(len(b.Name))
	case *EventReceived:
		return frame + int64(len(b.Name)+len(b.Payload)+len(b.RequestID))
	case *ChildCompleted:
		return frame + int64(len(b.Output))
	case *ChildFailed:
		return frame + failureSize(&b.Failure)
	case *CancelRequested:
		return frame + int64(len(b.Reason)+len(b.RequestID))
	case *ActivityScheduled:
		return frame + int64(len(b.Name)+len(b.Queue)+len(b.Input)+len(b.FairnessKey)+len(b.Session)) + retrySize(b.Retry)
	case *ChildStarted:
		return frame + int64(len(b.Name)+len(b.CodeVersion)+len(b.ID)+len(b.Input)) + attributesSize(b.Attributes)
	case *SideEffectRecorded:
		return frame + int64(len(b.Value)) + failureSize(b.Failure)
	case *MainReturned:
		size := frame + int64(len(b.Output)) + failureSize(b.Failure)
		if n := b.Next; n != nil {
			size += int64(len(n.Name) + len(n.CodeVersion) + len(n.Input))
		}
		return size
	case *PatchMarked:
		return frame + int64(len(b.ID))
	default:
		return frame + updateSize(b) + reachSize(b)
	}
}

// reachSize returns the size of the texts and payloads of what reaches other instances. Other events have none.
func reachSize(b Body) int64 {
	switch b := b.(type) {
	case *DetachedStarted:
		return int64(len(b.Name)+len(b.CodeVersion)+len(b.ID)+len(b.Input)+len(b.RequestID)+len(b.EndEvent)) +
			attributesSize(b.Attributes) + firstEventsSize(b.Events)
	case *EventSent:
		return int64(len(b.ID) + len(b.Name) + len(b.Payload))
	case *CancelSent:
		return int64(len(b.ID) + len(b.Reason))
	}
	return 0
}

// updateSize returns the size of the texts and payloads of an update. Ends, and events that only have a few numbers, have none.
func updateSize(b Body) int64 {
	switch b := b.(type) {
	case *UpdateReceived:
		return int64(len(b.Name) + len(b.ID) + len(b.Input))
	case *UpdateRejected:
		return failureSize(b.Failure)
	case *UpdateCompleted:
		return int64(len(b.Output)) + failureSize(b.Failure)
	}
	return 0
}

func retrySize(p *RetryPolicy) int64 {
	if p == nil {
		return 0
	}
	return frame + listSize(p.NonRetryable)
}

func failureSize(f *Failure) int64 {
	if f == nil {
		return 0
	}
	size := frame + int64(len(f.Type)+len(f.Message)+len(f.Details)+len(f.Code))
	for i := range f.Causes {
		size += failureSize(&f.Causes[i])
	}
	return size
}

func listSize(list [][]byte) int64 {
	size := int64(0)
	for _, item := range list {
		size += int64(len(item)) + 2
	}
	return size
}
