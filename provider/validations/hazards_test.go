package validations

import (
	"slices"
	"strings"
	"testing"
)

// holds runs cases of the suite against memory, in virtual time. They state the rules for the storage. The same cases run against
// every provider.
func holds(t *testing.T, names ...string) {
	t.Helper()
	all := cases()
	for _, name := range names {
		found := slices.DeleteFunc(slices.Clone(all), func(c testCase) bool { return !strings.HasPrefix(c.group+"/"+c.name, name) })
		if len(found) == 0 {
			t.Errorf("there is no case %s", name)
		}
		for _, c := range found {
			t.Run(c.group+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				for _, f := range attempt(t, c, sound, false) {
					t.Error(f)
				}
			})
		}
	}
}

// Questions use no message, no lease of the instance and no fence, and live no longer than the caller waits. Updates are not in
// the contract: their outcomes are events.
func TestHazard28_AsksStandBesideTheInbox(t *testing.T) {
	t.Parallel()
	holds(t, "ask/")
}

func TestHazard29_StorageContinuesAsNew(t *testing.T) {
	t.Parallel()
	holds(t, "execution/", "close/continuing-is-not-closing")
}

func TestHazard32_FetchesCommitsAndInboxesAreBounded(t *testing.T) {
	t.Parallel()
	holds(t, "send/more-by", "send/inbox-full", "limits/payload", "limits/refused-before-stored", "read/history-bytes")
}

func TestHazard37_OrderAndConsumption(t *testing.T) {
	t.Parallel()
	holds(t, "commit/consumes-what-it-names", "fence/consumed-is-gone", "send/visible-order", "send/timers-in-order", "send/first-in-first-out",
		"commit/timer", "commit/cancel-timer", "commit/cancel-consumed-timer")
}

func TestHazard39_DeleteAndCreate(t *testing.T) {
	t.Parallel()
	holds(t, "clean/delete", "clean/no-child-of-a-deleted-parent", "clean/nothing-resurrects", "fence/deleted")
}

// These cases check the storage's part only. The engine's part, a node that sticks to its cache, has its own tests.
func TestHazard23_OnlyTheOwnerFetchesWhatSticks(t *testing.T) {
	t.Parallel()
	holds(t, "fetch-turns/sticky", "edges/released-stickiness", "edges/unstick")
}

func TestHazard31_StateOfEachItem(t *testing.T) {
	t.Parallel()
	holds(t, "renew/", "tasks/cancelled", "report/missing", "report/discard-running")
}

// The engine's part, messages that name their level, has its own tests.
func TestHazard62_MessageStallsNoOldNode(t *testing.T) {
	t.Parallel()
	holds(t, "send/raises-the-level", "send/level-keeps-old-nodes-away", "deliver/raises-the-level", "execution/level-of-what-waits")
}

func TestStartMessagesAreDeliveredOnce(t *testing.T) {
	t.Parallel()
	holds(t, "create/messages-repeated", "create/messages-race-of-one-request", "create/messages-to-an-ended-instance")
}

// The engine's part, schedules that know which of their runs have ended, has its own tests.
func TestHazard64_EveryEndIsTold(t *testing.T) {
	t.Parallel()
	holds(t, "deliver/listener-", "clean/listener-", "steer/notices", "steer/terminate-tells")
}

// The engine's part, futures for what code sends, has its own tests.
func TestHazard84_SendersLearnWhatBecameOfAMessage(t *testing.T) {
	t.Parallel()
	holds(t, "deliver/reply", "clean/reply-")
}
