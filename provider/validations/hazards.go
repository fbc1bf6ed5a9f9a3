package validations

// A hazard is a known way in which a storage loses, duplicates, corrupts or blocks work. The numbers are those of the tests
// named TestHazardNN in this module.
type hazard struct {
	number int
	title  string
	cases  []string // "group/name", or "group/" for the whole group; none where only a provider's own test can show it
}

// hazards lists the hazards of storage.
func hazards() []hazard {
	return []hazard{
		{4, "a message that was accepted while the closing turn was stored is lost", []string{
			"send/race-with-close", "close/waiting-message", "close/invisible-message", "close/continuing-is-not-closing", "close/dead-letters",
			"execution/messages-stay",
		}},
		{5, "no fetch ever finds a waiting message", []string{
			"commit/ready-at-message", "commit/ready-at-timer", "commit/ready-never", "wait/message-wakes", "wait/due-message-wakes", "read/stats",
			"send/race-with-a-commit",
		}},
		{14, "Missing or Terminal from a stale view destroys work", []string{
			"report/missing", "report/discard-running", "report/complete-after-end", "renew/missing", "renew/terminal", "tasks/racing-with-creation",
		}},
		{15, "a repeated start starts twice", []string{
			"create/repeated-request", "create/race-of-one-request", "create/first-turn-repeated", "create/first-turn-race-of-one-request",
			"unknown/create-with-a-first-turn", "deliver/once", "fence/racing-repeats",
		}},
		{16, "commits that are stored together store a conflicting one, deadlock, or fail each other", []string{
			"commit/groups-are-invisible", "fence/racing-commits", "deliver/nothing-of-a-refused-commit", "deliver/crossed-sends",
		}},
		{17, "one failed member of a group of writes, or one caller that gives up, fails the others", []string{
			"commit/groups-are-invisible", "report/each-for-itself", "release-turns/each-for-itself", "renew/batch",
		}},
		{18, "a second process on the same file starves", nil},
		{26, "a lease expires too early or too late because clocks differ", []string{
			"fetch-turns/lease-expires", "tasks/lease-expires", "shared/lease-expires", "renew/extends", "ask/lease-ends",
			"sessions/lease-over", "max-leased/lease-expires",
		}},
		{27, "an effect of a commit on other instances fails the commit, or is lost", []string{"deliver/"}},
		{31, "an activity does not learn that its execution has ended", []string{
			"renew/", "tasks/cancelled-unstarted", "tasks/cancelled-leased", "tasks/cancelled-removed", "close/removes-work", "execution/removes-work",
		}},
		{35, "a transaction of the user stops the engine", []string{"transactions/"}},
		{36, "an operator's feature needs another method of every provider", []string{
			"shared/", "commit/attributes", "read/list-attributes", "tasks/order", "tasks/not-before", "tasks/past-deadline",
			"max-leased/", "sessions/",
		}},
		{37, "messages come out of order, and a commit consumes one that it does not name", []string{
			"commit/consumes-what-it-names", "fence/consumed-is-gone", "send/visible-order", "send/timers-in-order", "send/first-in-first-out", "send/race-with-turns",
			"commit/timer", "commit/cancel-timer", "commit/cancel-consumed-timer",
		}},
		{38, "one process does not notice the writes of another", nil},
		{39, "a delete races with a create and leaves orphans, or a commit restores a deleted instance", []string{
			"clean/delete-ended", "clean/delete-running", "clean/delete-unknown", "clean/delete-cascades", "clean/delete-frees-the-id",
			"clean/no-child-of-a-deleted-parent", "clean/delete-races-with-children", "clean/nothing-resurrects", "clean/delete-replaced",
			"clean/races-at-one-id", "fence/deleted", "create/only-create-inserts",
		}},
		{41, "a migration breaks the nodes of the previous release", nil},
	}
}

// covers reports whether the case guards against the hazard.
func (h hazard) covers(c testCase) bool {
	for _, name := range h.cases {
		if name == c.group+"/"+c.name || name == c.group+"/" {
			return true
		}
	}
	return false
}
