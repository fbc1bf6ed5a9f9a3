package orchestrationtest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/client"
)

const (
	shownInstances = 20
	shownEvents    = 8
	shownWaits     = 10 // of an instance; as many coroutines
	shownFrames    = 3
)

// clock is how the timeline writes moments.
const clock = "2006-01-02 15:04:05"

// timeline says of each instance that has not ended what it waits for, and since when.
type timeline struct {
	repeats *repeats
	began   time.Time
}

// moment describes a moment of the run.
func (t *timeline) moment(at time.Time) string {
	return fmt.Sprintf("%s, %v after the test began", at.UTC().Format(clock), at.Sub(t.began))
}

// text returns the timeline under a head.
func (t *timeline) text(ctx context.Context, head string) string {
	var b strings.Builder
	b.WriteString(head)
	shown := 0
	all := client.Filter{Statuses: []client.Status{client.StatusRunning, client.StatusSuspended}}
	for d, err := range t.repeats.stored.client.All(ctx, all) {
		if err != nil {
			fmt.Fprintf(&b, "\nThe instances cannot be listed: %v", err)
			break
		}
		if shown++; shown > shownInstances {
			b.WriteString("\nThere are more instances.")
			break
		}
		t.instance(ctx, &b, &d)
	}
	if shown == 0 {
		b.WriteString("\nAll instances have ended: the test waits for something else.")
	}
	return b.String()
}

// instance describes one instance.
func (t *timeline) instance(ctx context.Context, b *strings.Builder, listed *client.Description) {
	fmt.Fprintf(b, "\ninstance %q of %s, execution %d, since %s", listed.ID, listed.Orchestration, listed.Execution, listed.UpdatedAt.Format(clock))
	h := client.HandleOf[any](t.repeats.stored.client, listed.ID, listed.Key)
	d, err := h.Describe(ctx)
	if err != nil {
		fmt.Fprintf(b, "\n\tcannot be described: %v", err)
		return
	}
	var v view
	if d.Blocked != nil {
		blocked := client.BlockedError{ID: d.ID, Key: d.Key, Blocked: *d.Blocked}
		fmt.Fprintf(b, "\n\tis blocked since %s: %s", d.Blocked.Since.Format(clock), blocked.Error())
	} else if v, err = t.repeats.look(ctx, d.Key); err != nil {
		fmt.Fprintf(b, "\n\tcannot be replayed: %v", err)
	}
	for i, wait := range waitsOf(&d, v.waiting) {
		if i == shownWaits {
			b.WriteString("\n\tand for more")
			break
		}
		fmt.Fprintf(b, "\n\twaits for %s", wait)
	}
	for _, name := range slices.Sorted(maps.Keys(v.unread)) {
		fmt.Fprintf(b, "\n\tunread events %q: %d", name, v.unread[name])
	}
	frames(b, v.stacks)
	t.events(ctx, b, h)
}

// waitsOf says what an instance waits for, given the names of the events for which its code waits.
func waitsOf(d *client.Description, events []string) (waits []string) {
	for _, name := range events {
		waits = append(waits, fmt.Sprintf("event %q", name))
	}
	for i := range d.Waits {
		w := &d.Waits[i]
		switch {
		case w.Kind == client.WaitRelease && d.Blocked != nil:
		case w.Kind != client.WaitEvent:
			waits = append(waits, w.Text+since(d, w))
		case len(events) == 0:
			waits = append(waits, "an event, an update or a condition")
		}
	}
	return waits
}

// since returns when a pending activity was scheduled.
func since(d *client.Description, w *client.Wait) string {
	if w.Kind != client.WaitActivity {
		return ""
	}
	for i := range d.Activities {
		if a := &d.Activities[i]; a.EventID == w.EventID {
			return ", since " + a.ScheduledAt.Format(clock)
		}
	}
	return ""
}

// frames writes the innermost places at which the coroutines of code wait.
func frames(b *strings.Builder, stacks string) {
	coroutines, left := 0, 0
	function := ""
	for line := range strings.Lines(stacks) {
		line = strings.TrimRight(line, "\n")
		place, indented := strings.CutPrefix(line, "\t")
		switch {
		case !indented && strings.HasPrefix(line, "coroutine "):
			if coroutines++; coroutines > shownWaits {
				b.WriteString("\n\tmore coroutines wait")
				return
			}
			left = shownFrames
			fmt.Fprintf(b, "\n\t%s waits at", strings.TrimSuffix(line, ":"))
		case !indented:
			function = line
		case left > 0 && !ofEngine(function):
			left--
			fmt.Fprintf(b, "\n\t\t%s (%s)", function, place)
		}
	}
}

// events writes the last events of an instance.
func (t *timeline) events(ctx context.Context, b *strings.Builder, h client.Handle[any]) {
	var last []client.HistoryEvent
	for e, err := range h.History(ctx, 0) {
		if err != nil {
			fmt.Fprintf(b, "\n\tthe history cannot be read: %v", err)
			return
		}
		if last = append(last, e); len(last) > shownEvents {
			last = last[1:]
		}
	}
	for i := range last {
		e := &last[i]
		fmt.Fprintf(b, "\n\t%s event %d: %s", e.Time.UTC().Format(clock), e.ID, e.Kind)
		if e.Name != "" {
			fmt.Fprintf(b, " %s", e.Name)
		}
		if e.Failure != nil {
			fmt.Fprintf(b, ": %s", e.Failure.Message)
		}
	}
}
