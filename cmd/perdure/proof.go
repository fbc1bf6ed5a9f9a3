package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/order"
)

// slack is the time that a restart may take in addition to the lease.
const slack = time.Second

// observed is the content of history and ledger for one scheduled activity.
type observed struct {
	event    int64
	activity string
	outcomes int // completions and failures in the history
	outcome  string
	attempts int // times its code started, in all processes
	tried    int // effects attempted
	effects  map[string]int
}

// conclude prints how the order ended and checks what the demo promises.
func (p *demoRun) conclude(ctx context.Context, receipt order.Receipt) error {
	p.printReceipt(receipt)
	var events []client.HistoryEvent
	for e, err := range p.handle.History(ctx, 0) {
		if err != nil {
			return fmt.Errorf("checking the history: %w", err)
		}
		events = append(events, e)
	}
	entries, err := p.ledger.Read(p.id)
	if err != nil {
		return fmt.Errorf("checking the effects: %w", err)
	}
	rows := observe(events, entries)
	if err := p.printProof(rows); err != nil {
		return err
	}
	p.drainProgress()
	return p.judge(receipt, events, rows)
}

func (p *demoRun) printReceipt(r order.Receipt) {
	fmt.Fprintf(p.out, "\nThe order was %s", r.Status)
	for _, part := range []struct{ name, value string }{
		{"", r.Reason}, {"payment ", r.Payment}, {"tracking ", r.Tracking}, {"undone: ", strings.Join(r.Undone, ", then ")},
	} {
		if part.value != "" {
			fmt.Fprintf(p.out, "; %s%s", part.name, plain(part.value))
		}
	}
	fmt.Fprintln(p.out, ".")
}

// observe counts outcomes and effects of each scheduled activity, in order of the history.
func observe(events []client.HistoryEvent, entries []order.Entry) []*observed {
	var rows []*observed
	byEvent := make(map[int64]*observed)
	for _, e := range events {
		switch e.Kind {
		case "ActivityScheduled":
			byEvent[e.ID] = &observed{event: e.ID, activity: e.Name, effects: make(map[string]int)}
			rows = append(rows, byEvent[e.ID])
		case "ActivityCompleted", "ActivityFailed":
			if o := byEvent[e.Ref]; o != nil {
				o.outcomes++
				o.outcome = strings.ToLower(strings.TrimPrefix(e.Kind, "Activity"))
			}
		}
	}
	for _, e := range entries {
		o := byEvent[e.Event]
		switch {
		case o == nil:
		case e.What == order.EntryAttempt:
			o.attempts++
		default:
			o.tried++
			applied := 0
			if e.What == order.EntryEffect {
				applied = 1
			}
			o.effects[e.Key] += applied
		}
	}
	return rows
}

func (p *demoRun) printProof(rows []*observed) error {
	fmt.Fprint(p.out, "\nOutcomes that the orchestration observed, and effects of the activities:\n\n")
	return writeTable(p.out, func(w *grid) {
		row(w, "EVENT", "ACTIVITY", "OUTCOMES", "RUNS STARTED", "EFFECTS TRIED", "EFFECTS APPLIED")
		for _, o := range rows {
			row(w, o.event, o.activity, fmt.Sprintf("%d (%s)", o.outcomes, o.outcome), o.attempts, o.tried, len(o.effects))
		}
	})
}

// drainProgress finds when the second worker resumed packing.
func (p *demoRun) drainProgress() {
	for {
		select {
		case n := <-p.progress:
			if n.Progress.Started && n.Progress.Activity == packActivity && p.taken.IsZero() {
				p.taken, p.resumedAt = n.At, n.Progress.Step
			}
		default:
			return
		}
	}
}

// judge returns an error that lists every broken promise.
func (p *demoRun) judge(receipt order.Receipt, events []client.HistoryEvent, rows []*observed) error {
	faults := append(judgeHistory(events, rows), p.judgeRestart(events)...)
	if receipt.Status == order.Refused != (p.order.Decline || p.order.Total() >= order.ApprovalLimit) {
		faults = append(faults, fmt.Errorf("the order was %s, which is the wrong outcome", receipt.Status))
	}
	if len(faults) > 0 {
		return fmt.Errorf("the demo found faults: %w", errors.Join(faults...))
	}
	fmt.Fprintln(p.out, "\nEvery outcome was observed once and every effect applied once.")
	return nil
}

// judgeHistory checks that nothing is missing or duplicated.
func judgeHistory(events []client.HistoryEvent, rows []*observed) (faults []error) {
	for i, e := range events {
		if e.ID != int64(i)+1 {
			faults = append(faults, fmt.Errorf("event %d of the history has the ID %d", i+1, e.ID))
		}
	}
	for _, o := range rows {
		if o.outcomes != 1 {
			faults = append(faults, fmt.Errorf("%s (event %d) has %d outcomes", o.activity, o.event, o.outcomes))
		}
		for key, applied := range o.effects {
			// 0 is possible: the process may die between an effect and its line in the ledger.
			if applied > 1 {
				faults = append(faults, fmt.Errorf("%s (event %d) applied %s %d times", o.activity, o.event, key, applied))
			}
		}
	}
	return faults
}

// judgeRestart checks where the second worker resumed packing, and prints how soon. A slow restart is not a fault,
// since the machine may be busy.
func (p *demoRun) judgeRestart(events []client.HistoryEvent) (faults []error) {
	limit := p.lease + slack
	if int64(len(events)) <= p.killed || p.taken.IsZero() {
		return []error{errors.New("the second worker ran no turn or did not resume packing")}
	}
	turn, taken := events[p.killed].Time.Sub(p.restarted), p.taken.Sub(p.restarted)
	fmt.Fprintf(p.out, "\nPacking resumed after step %d of %d; the killed worker had done %d.\n", p.resumedAt, order.PackSteps, p.packed)
	fmt.Fprintf(p.out, "Restart to the first resumed turn: %.3fs. Restart to the resumed activity: %.3fs. Limit: lease + %v = %v.\n",
		turn.Seconds(), taken.Seconds(), slack, limit)
	if turn > limit || taken > limit {
		fmt.Fprintf(p.out, "The restart took longer than %v: this machine is busy.\n", limit)
	}
	if p.resumedAt < killAfterStored {
		faults = append(faults, fmt.Errorf("packing resumed after step %d, but the heartbeat of step %d was stored", p.resumedAt, killAfterStored))
	}
	return faults
}
