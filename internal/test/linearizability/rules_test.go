package linearizability

import (
	"math"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/perdure/perdure/client"
)

// made is a call with its result.
type made struct {
	call   call
	result result
}

// Short forms of calls.
func started(request, key string, policy client.IDPolicy) made {
	return made{call{kind: starting, entry: request, policy: policy}, result{outcome: succeeded, key: key}}
}

func on(k kind, entry string, o outcome) made {
	return made{call{kind: k, key: "k1", entry: entry}, result{outcome: o}}
}

func outcomeOf(entry string, entries ...string) made {
	return made{call{kind: awaiting, key: "k1", entry: entry}, result{outcome: succeeded, entries: entries}}
}

func answer(after string, execution int64, entries ...string) made {
	return made{call{kind: querying, key: "k1", entry: after}, result{outcome: succeeded, execution: execution, entries: entries}}
}

func described(key, request string, status client.Status, execution int64) made {
	return made{call{kind: describing}, result{outcome: succeeded, key: key, request: request, status: status, execution: execution}}
}

// The model accepts what the client promises, and nothing else. Each case is a history of calls one after the other.
func TestModel(t *testing.T) {
	begin := started("q1", "k1", client.Reject)
	for name, c := range map[string]struct {
		legal bool
		calls []made
	}{
		"an update shows the events before it": {true, []made{
			begin, on(raising, "e1", succeeded), on(sending, "u1", succeeded), outcomeOf("u1", "e1", "u1"), answer("", 1, "e1", "u1"),
		}},
		"an update lacks an event before it": {false, []made{
			begin, on(raising, "e1", succeeded), on(sending, "u1", succeeded), outcomeOf("u1", "u1"),
		}},
		"an update shows an event that came while it waited": {true, []made{
			begin, on(sending, "u1", succeeded), on(raising, "e1", succeeded), outcomeOf("u1", "e1", "u1"),
		}},
		"a query is late": {true, []made{begin, on(raising, "e1", succeeded), answer("", 1)}},
		"a query after an event is late": {false, []made{
			begin, on(raising, "e1", succeeded), answer("e1", 1),
		}},
		"an answer is from the past": {false, []made{
			begin, on(raising, "e1", succeeded), answer("", 1, "e1"), answer("", 1),
		}},
		"an execution is from the past": {false, []made{
			begin, on(raising, "r1", succeeded), described("k1", "q1", client.StatusRunning, 2), described("k1", "q1", client.StatusRunning, 1),
		}},
		"nothing asked for another execution": {false, []made{begin, described("k1", "q1", client.StatusRunning, 2)}},
		"events change their order": {false, []made{
			begin, on(raising, "e1", succeeded), on(raising, "e2", succeeded), answer("", 1, "e2"),
		}},
		"an event is taken twice":     {false, []made{begin, on(raising, "e1", succeeded), answer("", 1, "e1", "e1")}},
		"an event was never raised":   {false, []made{begin, answer("", 1, "e1")}},
		"an event may have come":      {true, []made{begin, on(raising, "e1", unknown), answer("", 1, "e1")}},
		"an event may not have come":  {true, []made{begin, on(raising, "e1", unknown), on(sending, "u1", succeeded), outcomeOf("u1", "u1")}},
		"a repeated event comes once": {true, []made{begin, on(raising, "e1", unknown), on(raising, "e1", succeeded), answer("e1", 1, "e1")}},
		"a repeated update runs again": {false, []made{
			begin, on(sending, "u1", succeeded), outcomeOf("u1", "u1"), on(sending, "u1", succeeded), outcomeOf("u1", "u1", "u1"),
		}},
		"a repeated update has another outcome": {false, []made{
			begin, on(sending, "u1", succeeded), outcomeOf("u1", "u1"), on(raising, "e1", succeeded), outcomeOf("u1", "e1", "u1"),
		}},
		"a termination cuts off an update": {true, []made{
			begin, on(sending, "u1", succeeded), on(ending, "", succeeded), on(awaiting, "u1", over), answer("", 1),
		}},
		"a refused update has run": {false, []made{
			begin, on(sending, "u1", succeeded), on(ending, "", succeeded), on(awaiting, "u1", over), answer("", 1, "u1"),
		}},
		"an update is refused while the instance runs": {false, []made{begin, on(sending, "u1", succeeded), on(awaiting, "u1", over)}},
		"an ended instance takes an event":             {false, []made{begin, on(ending, "", succeeded), on(raising, "e1", succeeded)}},
		"an ended instance has taken an update": {true, []made{
			begin, on(sending, "u1", succeeded), outcomeOf("u1", "u1"), on(ending, "", succeeded), on(sending, "u1", succeeded), outcomeOf("u1", "u1"),
		}},
		"an instance ends by itself":     {false, []made{begin, on(raising, "e1", over)}},
		"an instance is stopped":         {true, []made{begin, on(raising, "s1", succeeded), on(raising, "e1", over), answer("", 1, "s1")}},
		"it is cancelled without a call": {false, []made{begin, on(raising, "s1", succeeded), described("k1", "q1", client.StatusCancelled, 1)}},
		"a stop loses an event": {false, []made{
			begin, on(raising, "e1", succeeded), on(raising, "s1", succeeded), answer("", 1, "s1"),
		}},
		"it completes without its stop": {false, []made{
			begin, on(raising, "s1", succeeded), described("k1", "q1", client.StatusCompleted, 1), answer("", 1),
		}},
		"an ended instance goes on": {false, []made{
			begin, on(raising, "e1", succeeded), on(ending, "", succeeded), answer("", 1), answer("", 1, "e1"),
		}},
		"a status changes": {false, []made{
			begin, on(cancelling, "", succeeded), described("k1", "q1", client.StatusCancelled, 1), described("k1", "q1", client.StatusRunning, 1),
		}},
		"a terminated instance is terminated again": {false, []made{begin, on(ending, "", succeeded), on(ending, "", succeeded)}},
		"it is terminated between two executions": {true, []made{
			begin, on(sending, "u1", succeeded), on(raising, "r1", succeeded), on(ending, "", succeeded), on(querying, "", noSuchQuery),
			outcomeOf("u1", "u1"), on(querying, "", noSuchQuery),
		}},
		"it answers between two executions": {false, []made{
			begin, on(raising, "r1", succeeded), on(ending, "", succeeded), on(querying, "", noSuchQuery), answer("", 2, "r1"),
		}},
		"it is terminated within an execution": {false, []made{
			begin, on(raising, "e1", succeeded), answer("", 1, "e1"), on(ending, "", succeeded), on(querying, "", noSuchQuery),
		}},
		"a start repeats":                      {true, []made{begin, begin}},
		"two starts make one instance":         {false, []made{begin, started("q2", "k1", client.Reject)}},
		"two starts make two instances":        {false, []made{begin, started("q2", "k2", client.Reject)}},
		"a start takes the existing one":       {true, []made{begin, started("q2", "k1", client.UseExisting)}},
		"a start makes another one":            {false, []made{begin, started("q2", "k2", client.UseExisting)}},
		"a start replaces a running one":       {false, []made{begin, started("q2", "k2", client.ReplaceEnded)}},
		"a start replaces an ended one":        {true, []made{begin, on(ending, "", succeeded), started("q2", "k2", client.ReplaceEnded)}},
		"a start replaces one that may end":    {true, []made{begin, on(cancelling, "", succeeded), started("q2", "k2", client.ReplaceEnded)}},
		"a key is used again":                  {false, []made{begin, on(ending, "", succeeded), started("q2", "k1", client.ReplaceEnded)}},
		"a start brings its event":             {false, []made{started("w1", "k1", client.UseExisting), on(sending, "u1", succeeded), outcomeOf("u1", "u1")}},
		"a start brings its event once":        {true, []made{started("w1", "k1", client.UseExisting), started("w1", "k1", client.UseExisting), answer("", 1, "ew1")}},
		"a later start brings its event":       {true, []made{begin, started("w1", "k1", client.UseExisting), answer("", 1, "ew1")}},
		"an instance is there before it is":    {false, []made{described("k1", "q1", client.StatusRunning, 1), begin}},
		"a deleted instance is there":          {false, []made{begin, on(ending, "", succeeded), on(deleting, "", succeeded), answer("", 1)}},
		"a deleted instance is gone":           {true, []made{begin, on(ending, "", succeeded), on(deleting, "", succeeded), on(raising, "e1", notFound), started("q2", "k2", client.Reject)}},
		"a running instance is deleted":        {false, []made{begin, on(deleting, "", succeeded)}},
		"a start of unknown outcome happened":  {true, []made{{call{kind: starting, entry: "q1"}, result{outcome: unknown}}, described("k1", "q1", client.StatusRunning, 1)}},
		"a start of unknown outcome may not":   {true, []made{{call{kind: starting, entry: "q1"}, result{outcome: unknown}}, {call{kind: lookingUp}, result{outcome: notFound}}}},
		"an instance is not found":             {false, []made{begin, {call{kind: lookingUp}, result{outcome: notFound}}}},
		"a restart of a running one":           {false, []made{begin, {call{kind: restarting, entry: "q2"}, result{outcome: succeeded, key: "k2"}}}},
		"a restart of an ended one":            {true, []made{begin, on(ending, "", succeeded), {call{kind: restarting, entry: "q2"}, result{outcome: succeeded, key: "k2"}}}},
		"a restart of what was never started":  {false, []made{{call{kind: restarting, entry: "q2"}, result{outcome: succeeded, key: "k2"}}}},
		"a restart of a deleted one":           {true, []made{begin, on(ending, "", succeeded), on(deleting, "", succeeded), {call{kind: restarting, entry: "q2"}, result{outcome: succeeded, key: "k2"}}}},
		"a replacement of unknown outcome":     {true, []made{begin, on(cancelling, "", succeeded), {call{kind: starting, entry: "q2", policy: client.ReplaceEnded}, result{outcome: unknown}}, described("k2", "q2", client.StatusRunning, 1)}},
		"a replacement that may have had none": {true, []made{begin, on(cancelling, "", succeeded), {call{kind: starting, entry: "q2", policy: client.ReplaceEnded}, result{outcome: unknown}}, described("k1", "q1", client.StatusRunning, 1)}},
	} {
		var history []porcupine.Operation
		for at, m := range c.calls {
			op := porcupine.Operation{Input: m.call, Output: m.result, Call: int64(2 * at), Return: int64(2*at + 1)}
			if m.result.outcome == unknown {
				op.Return = math.MaxInt64
			}
			history = append(history, op)
		}
		if got := porcupine.CheckOperations(model(), history); got != c.legal {
			t.Errorf("%s: linearizable is %v", name, got)
		}
		if got := porcupine.CheckOperations(model(), reduced(history)); got != c.legal {
			t.Errorf("%s: with fewer calls, linearizable is %v", name, got)
		}
	}
}
