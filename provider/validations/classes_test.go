package validations

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/provider"
)

// The classes of mistakes. Each applies to a method, or there is a reason why not.
const (
	refuses = "a refusal leaves a trace"
	races   = "another writer comes between a read and its write"
	waits   = "a wait misses its event"
	seconds = "the second item, child or queue"
	orders  = "keys disagree with insertion"
	exact   = "exactly at a boundary"
	leaves  = "a deletion leaves a row"
	keeps   = "what a request leaves out is lost"
	limits  = "a limit counts what a call looks at, or one kind of several"
	detours = "a way that few tests take loses a field, or an earlier call leaves something behind"
)

// classTable names, for each class and method, the cases that cover it, or the reason why the class does not apply after "no: ".
func classTable() map[string]map[string]string {
	const reads, calls, one, unordered, validated = "no: it changes nothing", "no: it does not wait", "no: it has one item",
		"no: its result has no order", "limits/names"
	return map[string]map[string]string{
		refuses: {
			"Create": "classes/refused-create classes/refused-messages classes/refused-parent classes/refused-replacement", "Get": reads, "Steer": "classes/refused-steer", "FetchTurns": "fetch-turns/others-are-not-counted",
			"CommitTurn": "classes/refused-commit classes/refused-start settled/used-event settled/used-event-of-a-close", "ReleaseTurns": "classes/refused-release",
			"FetchTasks": "max-leased/places", "ReportTasks": "classes/refused-report", "RenewTasks": "classes/refused-renewal",
			"Send": "classes/refused-send", "Ask": "ask/unknown", "FetchAsks": "ask/capabilities", "Answer": "ask/answered-once",
			"ReadHistory": reads, "List": reads, "Count": reads, "Stats": reads, "Delete": "classes/refused-delete",
			"Prune": "classes/grandchild-keeps-the-tree", "DeadLetters": "classes/refused-redrive", "Lease": "settled/named-lease-of-another",
			"Record": "classes/refused-record", "SteerTask": "steer-task/other-attempt steer-task/other-state steer-task/not-pending", "Close": "wait/closed",
		},
		races: {
			"Create": "classes/race-of-creates classes/race-at-one-instance", "Get": reads,
			"Steer":      "classes/race-of-commits-and-operators classes/race-at-one-instance classes/race-of-deletes-and-resets",
			"FetchTurns": "fetch-turns/racing-fetchers", "CommitTurn": "classes/race-of-closes-and-sends classes/race-at-one-instance fence/racing-commits",
			"ReleaseTurns": "classes/race-at-one-instance fetch-turns/racing-for-an-expired-lease", "FetchTasks": "tasks/racing-fetchers",
			"ReportTasks": "classes/race-of-completions classes/race-at-one-task", "RenewTasks": "classes/race-of-renewals-and-closes report/racing-with-renewals",
			"Send": "classes/race-of-closes-and-sends classes/race-at-one-instance", "SteerTask": "classes/race-of-task-steering",
			"Ask": "classes/race-of-answers", "FetchAsks": "classes/race-of-answers", "Answer": "classes/race-of-answers",
			"ReadHistory": reads, "List": reads, "Count": reads, "Stats": reads, "Delete": "classes/race-of-deletes-and-resets clean/delete-races-with-children",
			"Prune": "classes/race-of-deletes-and-resets clean/delete-races-with-children", "DeadLetters": "classes/race-of-redrives", "Lease": "classes/race-of-named-leases",
			"Record": "classes/race-of-records", "Close": "classes/close-waits",
		},
		waits: {
			"Create": calls, "Get": "classes/awaited-ends classes/awaited-ends-at-once classes/awaited-end-of-the-blocked classes/awaited-end-of-the-replaced", "Steer": calls,
			"FetchTurns": "classes/awaited-turns classes/awaited-turns-at-once classes/awaited-turns-behind", "CommitTurn": calls, "ReleaseTurns": calls,
			"FetchTasks": "classes/awaited-tasks classes/awaited-tasks-at-once classes/awaited-tasks-behind", "ReportTasks": calls, "RenewTasks": calls, "Send": calls,
			"Ask": "classes/awaited-answers-at-once", "FetchAsks": "ask/question-wakes classes/awaited-questions-at-once", "Answer": calls,
			"ReadHistory": calls, "List": calls, "Count": calls, "Stats": calls, "Delete": calls, "Prune": calls, "DeadLetters": calls,
			"Lease": calls, "Record": calls, "SteerTask": calls, "Close": "classes/close-waits wait/close-ends-waits ask/close-ends-questions",
		},
		seconds: {
			"Create": one, "Get": one, "Steer": "classes/every-child-is-told classes/second-execution",
			"FetchTurns": "fetch-turns/up-to-max", "CommitTurn": "classes/second-of-each-part classes/second-completion",
			"ReleaseTurns": "classes/one-release-of-a-token classes/all-releases-of-a-token", "FetchTasks": "classes/other-queue classes/sessions-within-one-fetch classes/limit-within-one-fetch",
			"ReportTasks": "classes/second-of-each-batch classes/one-report-of-a-token classes/all-tasks-of-a-token",
			"RenewTasks":  "classes/second-of-each-batch classes/details-outlive-a-lease", "Send": one, "Ask": one, "FetchAsks": "ask/up-to-max", "Answer": one,
			"ReadHistory": "classes/second-execution", "List": "read/list-order-and-pages", "Count": one, "Stats": "read/stats",
			"Delete": "classes/refused-delete clean/delete-cascades", "Prune": "classes/grandchild-keeps-the-tree",
			"DeadLetters": "classes/second-of-each-batch", "Lease": one, "Record": "shared/record-scan", "SteerTask": one, "Close": one,
		},
		orders: {
			"Create": unordered, "Get": "settled/attributes-by-name", "Steer": "settled/attributes-by-name",
			"FetchTurns": "classes/messages-against-their-ids classes/turns-against-keys", "CommitTurn": "settled/letters-of-a-close",
			"ReleaseTurns": unordered, "FetchTasks": "classes/tasks-against-keys classes/equal-ranks-against-keys classes/released-ranks-against-keys classes/late-tasks-against-keys",
			"ReportTasks": unordered, "RenewTasks": unordered, "Send": "send/visible-order", "Ask": unordered, "FetchAsks": unordered, "Answer": unordered,
			"ReadHistory": "read/history-range", "List": "classes/instances-against-keys", "Count": unordered, "Stats": unordered, "Delete": unordered,
			"Prune": "classes/pruned-against-keys", "DeadLetters": "classes/letters-against-keys", "Lease": unordered, "Record": "shared/record-scan",
			"SteerTask": "steer-task/retry-waiting", "Close": unordered,
		},
		exact: {
			"Create": validated, "Get": validated, "Steer": validated, "FetchTurns": "classes/exact-messages classes/exact-level",
			"CommitTurn": "limits/rows-of-a-commit", "ReleaseTurns": "limits/batch", "FetchTasks": "classes/exact-limits",
			"ReportTasks": "limits/batch", "RenewTasks": "limits/batch", "Send": "limits/largest-payload send/inbox-full send/inbox-full-of-bytes", "Ask": "ask/wait-is-positive",
			"FetchAsks": "ask/up-to-max", "Answer": "limits/payload", "ReadHistory": "classes/exact-history",
			"List": "classes/exact-pages classes/exact-times classes/last-page classes/last-page-of-rows", "Count": "classes/exact-times", "Stats": "no: it has no limit",
			"Delete": validated, "Prune": "clean/prune-default", "DeadLetters": "clean/letters-default-page", "Lease": "limits/lease",
			"Record": "classes/exact-pages", "SteerTask": validated, "Close": "no: it has no limit",
		},
		leaves: except("no: it removes no instance", map[string]string{
			"Create": "classes/deleted-key-again", "Steer": "classes/deleted-child", "Stats": "classes/deleted-letters",
			"Delete": "classes/deleted-rows classes/deleted-letters", "Prune": "classes/deleted-rows classes/deleted-letters",
		}),
		keeps: except("no: no field of it keeps what is stored", map[string]string{
			"CommitTurn": "commit/custom-status commit/attributes", "ReportTasks": "classes/details-and-failure settled/release-all-with-details",
			"RenewTasks": "classes/renewed-details",
		}),
		limits: except("no: no limit chooses among items", map[string]string{
			"FetchTurns": "classes/turns-behind-others classes/turns-of-all-names", "FetchTasks": "classes/tasks-behind-others classes/tasks-of-all-kinds",
			"FetchAsks": "classes/questions-behind-others classes/questions-of-all-names", "List": "classes/instances-behind-others",
			"Count": "classes/instances-behind-others", "Prune": "classes/ends-behind-others classes/executions-behind-others",
			"DeadLetters": "classes/letters-behind-others", "Record": "classes/records-behind-others", "Stats": "read/stats-most-running",
			"ReadHistory": "read/history-bytes",
		}),
		detours: except("no: it moves nothing that another call has stored", map[string]string{
			"Create": "classes/fields-on-each-way classes/begun-without-a-request", "Steer": "classes/fields-on-each-way classes/task-on-each-way classes/notices-of-a-reset-to-itself",
			"FetchTurns": "classes/fetched-twice", "CommitTurn": "classes/fields-on-each-way classes/exact-claim-ahead", "ReleaseTurns": "classes/delay-of-an-earlier-release",
			"FetchTasks": "classes/fetched-twice classes/task-on-each-way", "ReportTasks": "classes/fields-on-each-way classes/task-on-each-way classes/turns-after-a-release",
			"Send": "classes/fields-on-each-way", "FetchAsks": "classes/fetched-twice", "DeadLetters": "settled/redriven-message-keeps classes/redrive-of-a-pending-task",
			"SteerTask": "classes/fields-on-each-way classes/task-on-each-way",
		}),
	}
}

// except adds a reason for all methods to which a class does not apply.
func except(reason string, cases map[string]string) map[string]string {
	for _, method := range storeMethods() {
		if cases[method] == "" {
			cases[method] = reason
		}
	}
	return cases
}

// storeMethods lists the methods of the core and of the interfaces that most stores have.
func storeMethods() (list []string) {
	for _, part := range []reflect.Type{
		reflect.TypeFor[provider.Provider](), reflect.TypeFor[provider.Asker](), reflect.TypeFor[provider.Lister](), reflect.TypeFor[provider.Meter](),
		reflect.TypeFor[provider.Cleaner](), reflect.TypeFor[provider.Redriver](), reflect.TypeFor[provider.Keeper](), reflect.TypeFor[provider.TaskSteerer](),
	} {
		for n := range part.NumMethod() {
			list = append(list, part.Method(n).Name)
		}
	}
	return list
}

// The table has no hole: each class names cases that exist, or a reason, for each method of the contract. Each case of the group is in it.
func TestClassesCoverEachMethod(t *testing.T) {
	t.Parallel()
	var known, named []string
	for _, c := range cases() {
		known = append(known, c.group+"/"+c.name)
	}
	methodsOfContract := storeMethods()
	for class, methods := range classTable() {
		for _, method := range methodsOfContract {
			if methods[method] == "" {
				t.Errorf("%s: nothing covers %s", class, method)
			}
		}
		for method, list := range methods {
			if !slices.Contains(methodsOfContract, method) {
				t.Errorf("%s: there is no method %s", class, method)
			}
			if strings.HasPrefix(list, "no: ") {
				continue
			}
			for name := range strings.FieldsSeq(list) {
				if !slices.Contains(known, name) {
					t.Errorf("%s of %s: there is no case %s", class, method, name)
				}
				named = append(named, name)
			}
		}
	}
	for _, name := range known {
		if strings.HasPrefix(name, "classes/") && !slices.Contains(named, name) {
			t.Errorf("%s is in no class", name)
		}
	}
}
