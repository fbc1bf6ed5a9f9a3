package operate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/amount"
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
	for _, a := range slices.Concat(stops, lookNoNode(in.NoNode), resumePaused(in.Queues)) {
		same := func(b IncidentAct) bool { return a.Command == b.Command }
		if !slices.ContainsFunc(in.Acts, same) && len(in.Acts) < incidentRows {
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
		n := g.Count
		switch {
		case g.Recent.Last != nil:
			n = g.Recent.Last.Count
		case g.FailureGroup.Last.Before(r.now.Add(-time.Hour)):
			n = 0
		}
		if n == 0 {
			continue
		}
		a := IncidentAct{Instances: n, Group: g.Group}
		activity := ""
		if g.Excerpt != nil {
			activity = g.Excerpt.Activity
		}
		if queue := r.queueOf(activity); queue != "" {
			a.pause(queue, fmt.Sprintf("%s of %s failed by activity %s within the last hour", amount.Of(n, "instance"), g.Orchestration, activity))
		} else {
			a.suspend(g.Orchestration, false, fmt.Sprintf("%s of %s failed within the last hour", amount.Of(n, "instance"), g.Orchestration))
		}
		acts = append(acts, a)
	}
	return acts
}

// queueOf returns the queue in which nodes serve an activity; "": none or several do.
func (r *incidentReader) queueOf(activity string) (queue string) {
	if activity == "" {
		return ""
	}
	if r.in.Retrying != nil {
		for i := range r.in.Retrying.Items {
			if a := &r.in.Retrying.Items[i]; a.Activity == activity {
				return a.Queue
			}
		}
	}
	for i := range r.served {
		for _, q := range r.served[i].Queues {
			switch {
			case !slices.Contains(q.Activities, activity), q.Queue == queue:
			case queue != "":
				return ""
			default:
				queue = q.Queue
			}
		}
	}
	return queue
}

// stopRetrying pauses the queues in which most is tried again.
func (r *incidentReader) stopRetrying() (acts []IncidentAct) {
	if r.in.Retrying == nil {
		return nil
	}
	for i := range r.in.Retrying.Items {
		t := &r.in.Retrying.Items[i]
		a := IncidentAct{Instances: t.Count}
		a.pause(t.Queue, fmt.Sprintf("%s of activity %s %s tried again, at attempt %d", amount.Of(t.Count, "call"), t.Activity, isOrAre(t.Count), t.Attempt))
		acts = append(acts, a)
	}
	return acts
}

// stopBlocked suspends what is blocked: mended code lets it go on, and until then each try costs a turn.
func stopBlocked(b *IncidentBlocks) (acts []IncidentAct) {
	if b == nil {
		return nil
	}
	for i := range b.Items {
		one := &b.Items[i]
		a := IncidentAct{Instances: one.Count}
		a.suspend(one.Orchestration, true, fmt.Sprintf("%s of %s %s blocked (%s): suspended, nothing is tried until mended code is deployed",
			amount.Of(one.Count, "instance"), one.Orchestration, isOrAre(one.Count), one.Reason))
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
		acts = append(acts, IncidentAct{
			Verb: IncidentLook, Instances: v.Running, Orchestration: v.Orchestration, Command: "perdure versions " + shellName(v.Orchestration),
			Why: fmt.Sprintf("no node has %s of %s, which %s run: start a node that has it", code, v.Orchestration, amount.Of(v.Running, "instance")),
		})
	}
	return acts
}

// resumePaused lets queues go on in which something waits.
func resumePaused(q *IncidentQueues) (acts []IncidentAct) {
	if q == nil {
		return nil
	}
	for i := range q.Items {
		if one := &q.Items[i]; one.Paused != nil && one.Waiting > 0 {
			acts = append(acts, IncidentAct{
				Verb: IncidentResume, Instances: one.Waiting, Queue: one.Queue, Command: "perdure queue resume " + shellName(one.Queue),
				Why: fmt.Sprintf("%s %s in queue %s, which is paused: resume it when the cause is gone",
					amount.Of(one.Waiting, "activity"), map[bool]string{true: "waits", false: "wait"}[one.Waiting == 1], one.Queue),
			})
		}
	}
	return acts
}

func (a *IncidentAct) pause(queue, why string) {
	a.Verb, a.Queue, a.Why = IncidentPause, queue, why
	a.Command = "perdure queue pause --reason incident " + shellName(queue)
}

func (a *IncidentAct) suspend(orchestration string, blocked bool, why string) {
	a.Verb, a.Orchestration, a.Blocked, a.Why = IncidentSuspend, orchestration, blocked, why
	a.Command = "perdure bulk start suspend --name " + shellWord(orchestration)
	if blocked {
		a.Command += " --blocked"
	} else {
		a.Command += " --status Running"
	}
}

func isOrAre(n int64) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// shellName is shellWord for an argument behind all flags: one that begins like a flag is none.
func shellName(s string) string {
	if strings.HasPrefix(s, "-") {
		return "-- " + shellWord(s)
	}
	return shellWord(s)
}

// shellWord quotes a word for a POSIX shell.
func shellWord(s string) string {
	const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@"
	if s != "" && strings.Trim(s, safe) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
