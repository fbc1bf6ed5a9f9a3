package validations

import (
	"slices"
	"testing"
)

// settled lists what an independent author and the reference once understood differently, and the cases that decide it now.
func settled() map[string][]string {
	return map[string][]string{
		"1 the order of attributes":                           {"settled/attributes-by-name"},
		"2 a key in use":                                      {"settled/key-in-use"},
		"3 Terminate and deliveries":                          {"settled/terminate-ends-the-lease"},
		"4 an expired lease in Get":                           {"settled/expired-lease-is-shown-as-queued"},
		"5 a second Reset and ReadyAt":                        {"settled/second-reset"},
		"6 Reset and the turn lease":                          {"settled/reset-ends-the-lease", "settled/reset-frees"},
		"7 a closing commit with a used event":                {"settled/used-event", "settled/used-event-of-a-close"},
		"8 a lease without visible messages":                  {"settled/lease-becomes-a-claim-ahead"},
		"9 dead letters of a close":                           {"settled/letters-of-a-close"},
		"10 release of one's own expired named lease":         {"settled/expired-named-lease", "settled/named-lease-of-another"},
		"11 a redriven task and its fairness key":             {"settled/redriven-task-keeps"},
		"12 Park without Limit":                               {"settled/parked-without-a-limit"},
		"13 a close under another lease":                      {"settled/close-ends-any-lease"},
		"14 Reset, then Terminate, and ReadyAt":               {"settled/ended-is-never-ready"},
		"15 the order of turns that were held back":           {"settled/order-after-a-commit"},
		"16 an expired turn lease and Steer":                  {"settled/expired-turn-lease"},
		"17 which Idle of a session counts":                   {"settled/idle-of-a-session"},
		"18 Expired and NotBefore":                            {"settled/past-its-time-before-not-before"},
		"19 the lease that the readiness of Reset overtakes":  {"settled/lease-of-a-ready-instance", "settled/reset-of-a-ready-instance"},
		"20 Idle of a later fetch":                            {"settled/idle-of-a-session"},
		"21 CancelTask of an expired lease":                   {"settled/cancelled-after-its-lease", "settled/cancelled-while-parked"},
		"22 a redriven task, its session and priority":        {"settled/redriven-task-keeps"},
		"23 Release with Begun of a late task":                {"settled/released-begun-past-its-time"},
		"25 an undelayed task and NotBefore":                  {"settled/not-before"},
		"26 Reset and the moment of its timers":               {"settled/reset-of-a-ready-instance"},
		"27 Retry and Hold of an expired lease":               {"settled/steered-expired-lease"},
		"28 a commit that does not name an expired lease":     {"settled/order-after-an-expired-lease"},
		"29 ReleaseAll and Details":                           {"settled/release-all-with-details"},
		"30 the order of what Terminate delivers":             {"settled/order-of-a-termination"},
		"31 a hand-off that is released":                      {"settled/released-hand-off"},
		"32 a parked task and Release, Park and Discard":      {"settled/parked-task-and-its-token"},
		"34 a replaced instance whose successor is deleted":   {"settled/replaced-for-good"},
		"35 a lease that a commit does not name, and timers":  {"settled/lease-overtaken-within-a-commit"},
		"36 a Reset of a replaced instance with Expected":     {"settled/replaced-before-expected"},
		"37 ReadyAt within one commit":                        {"settled/lease-overtaken-by-a-refusal", "settled/lease-outlives-timers"},
		"33 letters: their Reason, and when they are visible": {"settled/reason-of-a-letter", "settled/redriven-message"},
		"38 nil and empty payloads":                           {"settled/nil-and-empty"},
		"39 an act on an instance that is being deleted":      {"settled/steer-of-the-missing"},
		"40 what ends the delay of a release":                 {"settled/commit-ends-a-delay", "settled/unblock-ends-a-delay"},
		"41 ReleaseToken that holds nothing, and its Delay":   {"settled/release-of-a-token-with-delay"},
		"42 ChildNotice and children of earlier executions":   {"settled/children-of-an-earlier-execution"},
		"43 the lease of a renewed parked task":               {"settled/renewed-while-parked"},
		"44 Max of a prune and larger trees":                  {"settled/prune-counts-trees"},
		"45 figures of what is held back":                     {"settled/stats-of-what-is-held", "settled/stats-of-held-tasks"},
		"46 the oldest of several in the figures":             {"settled/stats-oldest-turn", "settled/stats-oldest-task"},
		"47 two timers of one commit and a claim ahead":       {"settled/timers-of-one-commit"},
		"48 what a redriven message keeps":                    {"settled/redriven-message-keeps"},
		"49 numbers after a list was empty":                   {"settled/numbers-of-letters", "settled/numbers-of-messages"},
		"50 timers and messages of a prefix at one moment":    {"settled/timer-before-a-carried-message"},
		"51 the execution in a child's link and a Reset":      {"settled/link-of-an-earlier-execution"},
		"24 Release without Begun after one with it":          {"tasks/released-begun-and-released", "tasks/released-before-it-began"},
	}
}

func TestEachDifferenceIsSettled(t *testing.T) {
	t.Parallel()
	const differences = 51
	if n := len(settled()); n != differences {
		t.Errorf("%d differences are listed, want %d", n, differences)
	}
	var named []string
	for question, list := range settled() {
		for _, name := range list {
			if !slices.ContainsFunc(cases(), func(c testCase) bool { return c.group+"/"+c.name == name }) {
				t.Errorf("%s: there is no case %s", question, name)
			}
		}
		named = append(named, list...)
	}
	for _, c := range cases() {
		if c.group == "settled" && !slices.Contains(named, c.group+"/"+c.name) {
			t.Errorf("%s/%s settles no difference of the table", c.group, c.name)
		}
	}
}
