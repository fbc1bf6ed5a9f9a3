package orchestration

// SleepOption is an option of [Context.Sleep], and of all other waits.
type SleepOption interface {
	ReceiveOption
	applySleep(o *sleepOptions) error
}

type sleepOptions struct{ waiting string }

type waitingText string

// Waiting says in words for people what the code waits for, as an option of [Mailbox.Receive], [Context.Await] and [Context.Sleep]:
//
//	approval, err := orchestration.Events[Approval](ctx, "approval").Receive(ctx, orchestration.Waiting("approve a refund of 120 EUR?"))
//
// Descriptions show the text and since when it holds, and lists can be filtered by whether there is one: see client.Filter. If several coroutines
// wait, the longest wait counts. The text is stored when it changes, with the turn, and makes no event. It has at most 200 bytes; a
// longer one is cut. It counts as a payload: whoever may not see payloads does not see it.
func Waiting(text string) SleepOption { return waitingText(text) }

func (w waitingText) applyReceive(o *receiveOptions) error {
	o.waiting = string(w)
	return nil
}

func (w waitingText) applySleep(o *sleepOptions) error {
	o.waiting = string(w)
	return nil
}
