package operate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/amount"
	"github.com/perdure/perdure/internal/shell"
)

// suggest says which acts would stop what goes wrong. It only decides; whoever asks does the act.
//
// An act that stops something comes before one that lets something go on, since somebody may have paused a queue for a reason.
func (r *incidentReader) suggest() {
	in := r.in
	var stops []IncidentAct
	for _, acts := range [][]IncidentAct{r.stopFailing(), r.stopRetrying(), stopBlocked(in.Blocked)} {
		stops = append(stops, acts...)
	}
	stops = slices.DeleteFunc(stops, func(a IncidentAct) bool { return a.Verb == IncidentPause && r.paused(a.Queue) })
	slices.SortStableFunc(stops, func(a, b IncidentAct) int { return cmp.Compare(b.Instances, a.Instances) })
	for _, a := range slices.Concat(stops, lookNoNode(in.NoNode), r.resumePaused()) {
		at := slices.IndexFunc(in.Acts, func(b IncidentAct) bool { return a.Command == b.Command })
		switch {
		case at >= 0 && in.Acts[at].Group != "" && a.Group == "":
			in.Acts[at] = a // who may not see groups gets the act nevertheless
		case at < 0 && len(in.Acts) < incidentRows:
			in.Acts = append(in.Acts, a)
		}
	}
}

// paused reports whether a queue is known to be paused.
func (r *incidentReader) paused(queue string) bool {
	return r.in.Queues != nil && slices.ContainsFunc(r.in.Queues.Items, func(q QueueInfo) bool { return q.Queue == queue && q.Paused != nil })
}

// stopFailing pauses the queue of the activity that fails, or suspends the instances of an orchestration that fails by itself. Groups that have not
// failed in the last hour need no act.
func (r *incidentReader) stopFailing() (acts []IncidentAct) {
	if r.in.Failing == nil {
		return nil
	}
	for i := range r.in.Failing.Items {
		g := &r.in.Failing.Items[i]
		n := client.Counted{Count: 1} // of the last hour
		switch {
		case g.Recent.Last != nil:
			n = *g.Recent.Last
		case g.FailureGroup.Last.Before(r.now.Add(-time.Hour)):
			n.Count = 0
		}
		if n.Count == 0 {
			continue
		}
		a := IncidentAct{Instances: n.Count, AtLeast: !n.Exact, Group: g.Group}
		activity := ""
		if g.Excerpt != nil {
			activity = g.Excerpt.Activity
		}
		if queue := r.queueOf(activity); queue != "" {
			a.pause(queue, fmt.Sprintf("%s of %s failed by activity %s within the last hour", a.amount("instance"), g.Orchestration, activity))
		} else {
			a.suspend(g.Orchestration, false, fmt.Sprintf("%s of %s failed within the last hour", a.amount("instance"), g.Orchestration))
		}
		acts = append(acts, a)
	}
	return acts
}

// queueOf returns the queue of an activity: the one in which nodes serve it and its calls are tried again; "": there is none, or several are.
func (r *incidentReader) queueOf(activity string) string {
	if activity == "" {
		return ""
	}
	queues := map[string]bool{}
	if r.in.Retrying != nil {
		for i := range r.in.Retrying.Items {
			if a := &r.in.Retrying.Items[i]; a.Activity == activity {
				queues[a.Queue] = true
			}
		}
	}
	for i := range r.served {
		for _, q := range r.served[i].Queues {
			if slices.Contains(q.Activities, activity) {
				queues[q.Queue] = true
			}
		}
	}
	for queue := range queues {
		if len(queues) == 1 {
			return queue
		}
	}
	return ""
}

// stopRetrying pauses the queues in which most is tried again.
func (r *incidentReader) stopRetrying() (acts []IncidentAct) {
	if r.in.Retrying == nil {
		return nil
	}
	for i := range r.in.Retrying.Items {
		t := &r.in.Retrying.Items[i]
		a := IncidentAct{Instances: t.Count, AtLeast: r.in.Retrying.AtLeast}
		a.pause(t.Queue, fmt.Sprintf("%s of activity %s %s tried again, at attempt %d", a.amount("call"), t.Activity, isOrAre(t.Count), t.Attempt))
		acts = append(acts, a)
	}
	return acts
}

// stopBlocked suspends what is blocked and runs: each try costs a turn. What is suspended already needs no act.
func stopBlocked(b *IncidentBlocks) (acts []IncidentAct) {
	if b == nil {
		return nil
	}
	for i := range b.Items {
		one := &b.Items[i]
		if one.running == 0 {
			continue
		}
		a := IncidentAct{Instances: one.running, AtLeast: b.AtLeast}
		them, theyAre := "them", "they are"
		if one.running == 1 {
			them, theyAre = "it", "it is"
		}
		a.suspend(one.Orchestration, true, fmt.Sprintf("%s of %s %s blocked (%s): suspend %s, so that nothing is tried until %s resumed",
			a.amount("instance"), one.Orchestration, isOrAre(one.running), one.Reason, them, theyAre))
		acts = append(acts, a)
	}
	return acts
}

// lookNoNode leads to versions that no node has: only a deploy or a move helps.
func lookNoNode(n *IncidentNoNode) (acts []IncidentAct) {
	if n == nil {
		return nil
	}
	for i := range n.Items {
		v := &n.Items[i]
		code := "code without a version"
		if v.Version != "" {
			code = "code version " + v.Version
		}
		a := IncidentAct{
			Verb: IncidentLook, Instances: v.Running, AtLeast: v.More, Orchestration: v.Orchestration, Command: "perdure versions " + shell.Name(v.Orchestration),
		}
		a.Why = fmt.Sprintf("no node has %s of %s, which %s run: start a node that has it", code, v.Orchestration, a.amount("instance"))
		acts = append(acts, a)
	}
	return acts
}

// resumePaused lets queues go on in which something waits, but not before it is known what fails and retries.
func (r *incidentReader) resumePaused() (acts []IncidentAct) {
	q := r.in.Queues
	if q == nil || r.in.Failing == nil && !errors.Is(r.unknown["failing"], errors.ErrUnsupported) ||
		r.in.Retrying == nil && !errors.Is(r.unknown["retrying"], errors.ErrUnsupported) {
		return nil
	}
	for i := range q.Items {
		if one := &q.Items[i]; one.Paused != nil && one.Waiting > 0 {
			acts = append(acts, IncidentAct{
				Verb: IncidentResume, Instances: one.Waiting, Queue: one.Queue, Command: "perdure queue resume " + shell.Name(one.Queue),
				Why: fmt.Sprintf("%s %s in queue %s, which is paused: resume it when the cause is gone",
					amount.Of(one.Waiting, "activity"), map[bool]string{true: "waits", false: "wait"}[one.Waiting == 1], one.Queue),
			})
		}
	}
	return acts
}

func (a *IncidentAct) pause(queue, why string) {
	a.Verb, a.Queue, a.Why = IncidentPause, queue, why
	a.Command = "perdure queue pause --reason incident " + shell.Name(queue)
}

func (a *IncidentAct) suspend(orchestration string, blocked bool, why string) {
	a.Verb, a.Orchestration, a.Blocked, a.Why = IncidentSuspend, orchestration, blocked, why
	a.Command = "perdure bulk start suspend --name " + shell.Word(orchestration)
	if blocked {
		a.Command += " --blocked"
	}
	a.Command += " --status Running"
}

// amount says how many the trouble hits.
func (a *IncidentAct) amount(noun string) string {
	text := amount.Of(a.Instances, noun)
	if a.AtLeast {
		text = "at least " + text
	}
	return text
}

func isOrAre(n int64) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
