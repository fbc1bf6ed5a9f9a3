package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/order"
)

// slack is the time that a restart may take in addition to the lease.
const slack = time.Second

// storedSteps is how many steps of packing are stored when the demo kills the worker, at least.
const storedSteps = 2

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

// proof judges a run of the demo.
type proof struct {
	out     io.Writer
	lease   time.Duration
	restart restart
	receipt order.Receipt
	events  []client.HistoryEvent
	entries []order.Entry
}

// conclude prints what the orchestration observed and what the activities did, and returns an error that lists every broken promise.
func (p *proof) conclude() error {
	rows := observe(p.events, p.entries)
	if err := p.print(rows); err != nil {
		return err
	}
	faults := append(judgeHistory(p.events, rows), p.judgeRestart()...)
	faults = append(faults, p.judgeEnd()...)
	if len(faults) > 0 {
		return fmt.Errorf("the demo has faults: %w", errors.Join(faults...))
	}
	fmt.Fprintln(p.out, "\nEvery outcome was observed once and every effect applied once.")
	return nil
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

func (p *proof) print(rows []*observed) error {
	fmt.Fprint(p.out, "\nOutcomes that the orchestration observed, and effects of the activities:\n\n")
	return writeTable(p.out, func(w io.Writer) {
		row(w, "EVENT", "ACTIVITY", "OUTCOMES", "RUNS STARTED", "EFFECTS TRIED", "EFFECTS APPLIED")
		for _, o := range rows {
			row(w, o.event, o.activity, fmt.Sprintf("%d (%s)", o.outcomes, o.outcome), o.attempts, o.tried, len(o.effects))
		}
	})
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
func (p *proof) judgeRestart() (faults []error) {
	limit, r := p.lease+slack, p.restart
	if r.turn == 0 || r.taken == 0 {
		return []error{errors.New("the second worker ran no turn or did not resume packing")}
	}
	turn, taken := r.turn-r.restarted, r.taken-r.restarted
	fmt.Fprintf(p.out, "\nPacking resumed after step %d of %d; the killed worker had done %d.\n", r.resumedAt, order.PackSteps, r.packed)
	fmt.Fprintf(p.out, "Restart to the first resumed turn: %.3fs. Restart to the resumed activity: %.3fs. Limit: lease + %v = %v.\n",
		turn.Seconds(), taken.Seconds(), slack, limit)
	if turn > limit || taken > limit {
		fmt.Fprintf(p.out, "The restart took longer than %v: this machine is busy.\n", limit)
	}
	if r.resumedAt < storedSteps {
		faults = append(faults, fmt.Errorf("packing resumed after step %d, but the heartbeat of step %d was stored", r.resumedAt, storedSteps))
	}
	return faults
}

// judgeEnd checks that the order ended as its content demands.
func (p *proof) judgeEnd() []error {
	var o order.Order
	if len(p.events) == 0 {
		return []error{errors.New("the order has no history")}
	}
	if err := json.Unmarshal(p.events[0].Input, &o); err != nil {
		return []error{fmt.Errorf("the order cannot be read: %w", err)}
	}
	if p.receipt.Status == order.Refused != (o.Decline || o.Total() >= order.ApprovalLimit) {
		return []error{fmt.Errorf("the order was %s, which is the wrong outcome", p.receipt.Status)}
	}
	return nil
}
