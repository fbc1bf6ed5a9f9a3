package turn

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// reportLeftovers logs and counts what an ended execution has left behind. The dead letters are the events that its last commit
// moved to the dead letters and that this node has seen.
func (c *committer) reportLeftovers(x replay.View, deadLetters []string) {
	left := x.Leftovers()
	if left == nil && len(deadLetters) == 0 {
		return
	}
	info := x.Info()
	of := []any{"instance", info.ID, "execution", info.Execution, "orchestration", info.Name}
	if left == nil {
		left = &replay.Leftovers{}
	}
	if len(deadLetters)+len(left.Unread) > 0 {
		c.Count.EventsBuried.Add(int64(len(deadLetters)))
		c.Count.EventsUnread.Add(int64(len(left.Unread)))
		c.Config.Logger.Warn("instance ended before its code took all events", append(of,
			"dead_letters", len(deadLetters), "unread", len(left.Unread), "events", counted(slices.Concat(deadLetters, left.Unread)))...)
	}
	c.Count.ErrorsUnread.Add(int64(left.Lost))
	for _, text := range left.Errors {
		c.Config.Logger.Warn("error of a coroutine that nobody read", append(of, "err", text)...)
	}
	if left.Coroutines > 0 {
		c.Config.Logger.Info("execution ended before its coroutines", append(of, "coroutines", left.Coroutines)...)
	}
}

// maxNamedEvents limits the names of events in a log line.
const maxNamedEvents = 10

// counted returns the names with their numbers.
func counted(names []string) string {
	numbers := make(map[string]int)
	for _, name := range names {
		numbers[name]++
	}
	sorted := slices.Sorted(maps.Keys(numbers))
	parts := make([]string, 0, maxNamedEvents)
	for i, name := range sorted {
		if i == maxNamedEvents {
			parts = append(parts, fmt.Sprintf("and %d more names", len(sorted)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%q: %d", name, numbers[name]))
	}
	return strings.Join(parts, ", ")
}

// deadLetterNames returns the names of the events that a closing commit did not consume.
func deadLetterNames(messages []provider.Message, consumed []int64) (names []string) {
	if len(consumed) == len(messages) {
		return nil
	}
	for i := range messages {
		if slices.Contains(consumed, messages[i].ID) {
			continue
		}
		if e, err := history.Decode(0, messages[i].Payload); err == nil {
			if event, ok := e.Body.(*history.EventReceived); ok {
				names = append(names, event.Name)
			}
		}
	}
	return names
}
