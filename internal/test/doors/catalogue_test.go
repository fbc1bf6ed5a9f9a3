package doors_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

// A sentinel is an error that callers compare with.
type sentinel struct {
	kinds []kind // one error may have several names
	code  string // never changes: programs compare with it
	means string
	again string // reports how repeating the call helps
	who   string
	do    string
}

// A group of sentinels has the same readers.
type group struct {
	title     string
	sentinels []sentinel
}

func k(name string, err error) kind { return kind{name, err} }

// catalogue returns all sentinels that the public packages export.
func catalogue() []group {
	return []group{
		{"Errors of clients, orchestrations and operators", []sentinel{
			{
				[]kind{
					k("client.ErrInvalid", client.ErrInvalid), k("orchestration.ErrInvalid", orchestration.ErrInvalid),
					k("runtime.ErrInvalid", runtime.ErrInvalid), k("provider.ErrInvalid", provider.ErrInvalid),
				},
				"invalid",
				"an argument, option or name is not allowed; nothing was stored, recorded or started", "no", "the author of the call", "Fix what the text names.",
			},
			{
				[]kind{
					k("client.ErrTooLarge", client.ErrTooLarge), k("orchestration.ErrTooLarge", orchestration.ErrTooLarge),
					k("provider.ErrTooLarge", provider.ErrTooLarge),
				},
				"too-large",
				"a payload, another argument or the number of pending operations exceeds its [limit](limits.md); nothing was stored or recorded", "no; pending operations: after some have ended", "the author of the call", "Store the data elsewhere and pass a reference; wait before you schedule more.",
			},
			{
				[]kind{k("client.ErrNotFound", client.ErrNotFound), k("orchestration.ErrNotFound", orchestration.ErrNotFound), k("provider.ErrNotFound", provider.ErrNotFound)},
				"not-found",
				"no instance has that ID or key", "no, unless it is started", "the caller", "Check ID and store; deleted instances are gone.",
			},
			{
				[]kind{
					k("client.ErrExists", client.ErrExists), k("orchestration.ErrExists", orchestration.ErrExists), k("provider.ErrExists", provider.ErrExists),
				},
				"exists",
				"the instance ID is in use; in a client `errors.As` finds a `*client.ExistsError` that names the instance", "no", "the caller", "The work has often been started already. Otherwise use another ID, or an ID policy; include the parent's ID in that of a child.",
			},
			{
				[]kind{k("client.ErrEnded", client.ErrEnded), k("orchestration.ErrEnded", orchestration.ErrEnded), k("provider.ErrEnded", provider.ErrEnded)},
				"ended",
				"the instance has ended and accepts nothing more; for an update, its handler has not run", "no", "the caller", "Decide what a late event means, or start a new instance.",
			},
			{
				[]kind{k("client.ErrForbidden", client.ErrForbidden)},
				"forbidden",
				"the principal of the client may not do that; nothing was stored", "no", "the caller", "Ask someone with the role that the text names.",
			},
			{
				[]kind{k("client.ErrInboxFull", client.ErrInboxFull), k("orchestration.ErrInboxFull", orchestration.ErrInboxFull), k("provider.ErrInboxFull", provider.ErrInboxFull)},
				"inbox-full",
				"too many messages wait for the instance; nothing was stored", "yes, later", "the operator", "Check that a node runs its code and that it is not blocked; send less.",
			},
			{
				[]kind{k("client.ErrOverloaded", client.ErrOverloaded)},
				"overloaded",
				"more work waits in the store than `MaxBacklog` allows; nothing was stored; `errors.As` finds a `*client.OverloadedError`", "yes, after its `RetryAfter`", "the caller, or the operator",
				"Let your own caller retry later, or block; run more nodes. The text names most of the backlog: check that a node runs it.",
			},
			{
				[]kind{k("client.ErrOutcomeUnknown", client.ErrOutcomeUnknown), k("orchestration.ErrOutcomeUnknown", orchestration.ErrOutcomeUnknown)},
				"outcome-unknown",
				"the storage failed or the time ran out, but the call may have been stored", "yes, with the same IDs", "the caller",
				"Repeat the call as the text says: with `WithID` and `WithRequestID` nothing is stored twice.",
			},
			{
				[]kind{k("client.ErrBusy", client.ErrBusy)},
				"busy",
				"`Move` or `Reset`: the instance stored a turn each of five times while its history was replayed", "yes, later", "the caller",
				"Suspend the instance, or give `SuspendToMove`. See [Run versions side by side](../how-to/run-versions-side-by-side.md).",
			},
			{
				[]kind{k("client.ErrNoNode", client.ErrNoNode)},
				"no-node",
				"no node of the store runs [schedules](../how-to/run-on-a-schedule.md), or none has run this one yet; nothing was stored", "yes, when a node runs", "the operator", "Start a node of a release that has schedules.",
			},
			{
				[]kind{k("client.ErrHistoryFile", client.ErrHistoryFile)},
				"history-file",
				"`ReadHistories` or `runtime.Replay`: no history file, one that was cut off, or one of a newer release; the text says where", "no", "the caller",
				"Export the history again. See [Check a deploy by replay](../how-to/check-a-deploy-by-replay.md).",
			},
			{
				[]kind{k("client.ErrNotEnded", client.ErrNotEnded)},
				"not-ended",
				"`Result`: the instance runs, and has no result yet", "yes, later", "the caller", "Wait with `Handle.Wait`, or follow the instance.",
			},
			{
				[]kind{k("client.ErrEncrypted", client.ErrEncrypted)},
				"encrypted",
				"what the call would return is [encrypted](../how-to/encrypt-payloads.md), and this process has no codec with its key; the text names the key",
				"no, unless it gets the key", "the operator", "Give the client the codec of the nodes, or the key.",
			},
			{
				[]kind{k("client.ErrNotSet", client.ErrNotSet)},
				"not-set",
				"`StatusOf` or `Value`: the code has set nothing, or has cleared it", "yes, later", "the caller", "Show that nothing is known yet.",
			},
			{
				[]kind{k("client.ErrNotStored", client.ErrNotStored)},
				"not-stored",
				"`StatusOf` or `Value`: what the code has set last is too large or cannot be encoded; the text says why", "yes, after the code has set it again",
				"the author of the orchestration", "Show less, or a reference. See [Show progress](../how-to/show-progress.md).",
			},
			{
				[]kind{k("client.ErrFailed", client.ErrFailed)},
				"failed",
				"`Wait`: the instance ended without an output; the error wraps the cause", "no", "the author of the orchestration", "Check the cause with `errors.Is` and `errors.As`; a new start is a new instance.",
			},
			{
				[]kind{k("client.ErrBlocked", client.ErrBlocked)},
				"blocked",
				"`Wait` or `Update` with `OrBlocked`: the instance cannot make a turn; the error is a `*client.BlockedError`", "the engine does", "the author, or the operator",
				"Deploy fixed code; `perdure unblock` skips the delay. See [Release blocked instances](../how-to/release-blocked-instances.md).",
			},
			{
				[]kind{k("client.ErrUnknownQuery", client.ErrUnknownQuery)},
				"unknown-query",
				"`Query`: the orchestration has registered no handler of that name; the error is a `*client.UnknownQueryError` with the names that there are", "no, unless the code registers it later", "the caller, or the author of the orchestration", "Use a name that the error lists, or register the handler before the code first waits. See [Ask a running orchestration](../how-to/ask-a-running-orchestration.md).",
			},
			{
				[]kind{k("client.ErrUnserved", client.ErrUnserved)},
				"unserved",
				"`Query`, `Reset` or `Fork`: no node has answered while the caller waited: none runs the orchestration, all have older code than the history, all are busy, or the code has not begun", "yes, later", "the operator", "Check that a node runs the orchestration; wait longer.",
			},
			{
				[]kind{k("client.ErrQueryFailed", client.ErrQueryFailed)},
				"query-failed",
				"`Query`: the handler returned an error, which the error wraps", "as the cause says", "the caller", "Check the cause with `errors.Is` and `errors.As`.",
			},
			{
				[]kind{k("client.ErrQueryRefused", client.ErrQueryRefused)},
				"query-refused",
				"`Query`: the handler called what none may call, took too long three times within a minute, or three calls that took too long still run", "too long: after a minute, when they have returned", "the author of the orchestration", "Let the handler only read variables, and call `Now`, `Info`, `Err` and `Logger`.",
			},
			{
				[]kind{k("client.ErrQueryPanicked", client.ErrQueryPanicked)},
				"query-panicked",
				"`Query`: the handler panicked; the text has the stack, and the instance is not affected", "no", "the author of the orchestration", "Fix the handler.",
			},
			{
				[]kind{k("client.ErrQueryTimeout", client.ErrQueryTimeout)},
				"query-timeout",
				"`Query`: the handler did not return within 2 s or while the caller waited; the instance is not affected", "maybe", "the author of the orchestration", "Let the handler return at once: it must not wait for anything. `Runtime.LeakedQueries` shows where it is.",
			},
			{
				[]kind{k("client.ErrRejected", client.ErrRejected)},
				"rejected",
				"`Update`: the validator refused the update, or its input could not be decoded; the error wraps the reason", "as the reason says", "the caller", "Check the reason with `errors.Is` and `errors.As`.",
			},
			{
				[]kind{k("client.ErrUnknownUpdate", client.ErrUnknownUpdate)},
				"unknown-update",
				"`Update`: the orchestration has registered no handler of that name; the error is a `*client.UnknownUpdateError` with the names that there are", "no", "the caller, or the author of the orchestration", "Use a name that the error lists, or register the handler before the code first waits. See [Handle events and updates](../how-to/handle-events-and-updates.md#call-an-update).",
			},
			{
				[]kind{k("client.ErrPanicked", client.ErrPanicked)},
				"panicked",
				"`Update`: the validator or the handler panicked as it began; nothing of it is stored, and the log has the stack", "no", "the author of the orchestration", "Fix the handler, and send the update with another ID.",
			},
			{
				[]kind{k("client.ErrClosing", client.ErrClosing)},
				"closing",
				"`Update`: the orchestration's function has returned, and the instance takes nothing new", "no", "the caller", "Start another instance, or handle updates longer.",
			},
			{
				[]kind{k("client.ErrUpdateFailed", client.ErrUpdateFailed)},
				"update-failed",
				"`Update`: the handler returned an error, which the error wraps", "as the cause says", "the caller", "Check the cause with `errors.Is` and `errors.As`; use another ID to try again.",
			},
			{
				[]kind{k("client.ErrAbandoned", client.ErrAbandoned)},
				"abandoned",
				"`Update`: the instance ended, or was terminated, while the handler ran or waited for its turn", "no", "the caller", "The handler may have had effects: look before you repeat it elsewhere.",
			},
			{
				[]kind{k("client.ErrNotCarried", client.ErrNotCarried)},
				"not-carried",
				"`Update`: the handler has run, and its output comes with the error; the code had made the input of the next execution before, which lacks what the handler changed in its variables", "no", "the author of the orchestration",
				"Do not repeat what the handler has done outside. Continue with `ContinueAsNewAfterHandlers`. See [Handle events and updates](../how-to/handle-events-and-updates.md#the-end).",
			},
			{
				[]kind{k("client.ErrOutcomeGone", client.ErrOutcomeGone)},
				"outcome-gone",
				"`Update`: the instance has taken the update before, and its outcome is no longer kept; or a fork has it in its prefix", "no", "the caller", "Ask sooner; see [limits](limits.md#updates).",
			},
			{
				[]kind{k("client.ErrDiscarded", client.ErrDiscarded)},
				"discarded",
				"`Update`: the instance was reset to a point before the update, which had an outcome", "no", "the caller",
				"Look at the instance. Send the update with another ID if it is still wanted. See [Reset and fork](../how-to/reset-and-fork.md).",
			},
			{
				[]kind{k("client.ErrUpdateDiffers", client.ErrUpdateDiffers)},
				"update-differs",
				"`Update`: another update with that ID has another name or input", "no", "the caller", "Use another ID.",
			},
			{
				[]kind{k("client.ErrNotFinished", client.ErrNotFinished)},
				"upgrade-not-finished",
				"`Update`, `Reset` or `Fork`: nodes of an older release may still use the store", "yes, when the upgrade is finished", "the operator", "Run `perdure upgrade --finish`. See [Upgrade perdure](../how-to/upgrade-perdure.md).",
			},
			{
				[]kind{k("client.ErrNotReplayed", client.ErrNotReplayed)},
				"not-replayed",
				"`Query`, `Reset` or `Fork`: the call needs a replay of the history, and the code of the node does not match it", "no", "the author of the orchestration", "Deploy the code that wrote the history. A handler that changes variables causes this, too.",
			},
			{
				[]kind{k("client.ErrBadPoint", client.ErrBadPoint)},
				"bad-point",
				"`Reset` or `Fork`: no execution can open at that event; the text names the nearest events at which one can", "no", "the caller", "Use an event that the text names. See [Reset and fork](../how-to/reset-and-fork.md).",
			},
			{
				[]kind{k("client.ErrNoPoint", client.ErrNoPoint)},
				"no-point",
				"`FindPoint`, or a reset or fork that finds its event: the history of the execution has no such point; a time before the execution began is none, too", "no, unless the history grows", "the caller", "Look at the history, and choose an event or another kind of point. See [Reset and fork](../how-to/reset-and-fork.md#choose-the-point).",
			},
			{
				[]kind{k("client.ErrSuperseded", client.ErrSuperseded)},
				"superseded",
				"`Reset`, `Fork` or `Restart`: the execution is over by now, or the ID was given to another instance; a repeated `Reset`: it was made, and its execution is not stored any more", "no", "the caller", "Read the history of the current execution and choose an event of it.",
			},
			{
				[]kind{k("client.ErrConflict", client.ErrConflict)},
				"conflict",
				"the act names what its caller has seen, such as an attempt, and that has changed since; nothing was stored", "no", "the caller", "Look again, and decide anew. See [Pause and drain](../how-to/pause-and-drain.md#one-activity).",
			},
			{
				[]kind{k("client.ErrClosed", client.ErrClosed), k("provider.ErrClosed", provider.ErrClosed)},
				"closed",
				"the store was closed", "no", "the author of the service", "Close the store last.",
			},
			{
				[]kind{k("client.ErrForeignTx", client.ErrForeignTx), k("provider.ErrForeignTx", provider.ErrForeignTx)},
				"foreign-tx",
				"the caller's transaction is on another database than the store; nothing was stored", "no", "the author of the service",
				"Begin the transaction on the store's database. See [Use your own transactions](../how-to/use-your-own-transactions.md).",
			},
			{
				[]kind{k("provider.ErrNotStore", provider.ErrNotStore)},
				"not-a-store",
				"the file or database is no store, or is damaged; it was not changed", "no", "the operator", "Check the path; migrate, or restore a backup.",
			},
			{
				[]kind{k("provider.ErrNewerSchema", provider.ErrNewerSchema)},
				"newer-schema",
				"a newer release wrote the store, and this one cannot serve it", "no", "the operator", "Upgrade this program.",
			},
			{
				[]kind{k("provider.ErrReadOnly", provider.ErrReadOnly), k("sqlite.ErrReadOnly", sqlite.ErrReadOnly)},
				"store-read-only",
				"the store was opened with `ReadOnly`; nothing was stored", "no", "the author of the service", "Open the file without `ReadOnly` to write to it.",
			},
			{
				[]kind{k("runtime.ErrRegistration", runtime.ErrRegistration)},
				"registration",
				"the registry refused a function or an error", "no", "the author of the registration", "Fix what the text names.",
			},
			{
				[]kind{k("runtime.ErrLeaked", runtime.ErrLeaked)},
				"leaked",
				"`Shutdown`: user code still runs after its time limit; the text names it", "no", "the author of the activity", "Let the activity obey its context, or [interrupt](../how-to/stop-activities-that-do-not-obey.md) it; end the process.",
			},
			{
				[]kind{k("runtime.ErrCodec", runtime.ErrCodec)},
				"codec",
				"`Health.Codec`: the node cannot [encrypt or decrypt](../how-to/encrypt-payloads.md) payloads: its codec does not answer, or it has no key for what is stored",
				"it does so itself", "the operator", "Mend the key service, or give the node the key. What it concerns waits.",
			},
			{
				[]kind{k("runtime.ErrTooManyLeaks", runtime.ErrTooManyLeaks)},
				"too-many-leaks",
				"`Leaks.OnFatal`, `Health.Fatal`, and `Shutdown` of a node that `Leaks.OnFatal` has ended: more than `Leaks.MaxInstances` instances have code that does not return", "no", "the operator, then the author", "Restart the process; the log and `Leaked` show where the code is.",
			},
		}},
		{"Errors of orchestrations only", []sentinel{
			{[]kind{k("orchestration.ErrCancelled", orchestration.ErrCancelled)}, "cancelled", "the instance or the scope was cancelled", "no", "the orchestration", "Clean up in a detached scope and return the error."},
			{[]kind{k("orchestration.ErrTimeout", orchestration.ErrTimeout)}, "timeout", "an attempt, a wait or a scope took longer than allowed; `TimeoutKind` returns the limit of an activity", "yes; attempts by the retry policy", "the orchestration", "Decide what to do without the result."},
			{[]kind{k("orchestration.ErrPoisoned", orchestration.ErrPoisoned)}, "poisoned", "the activity was lost with its node more often than the poison limit allows; a copy is in the dead letters", "no", "the operator", "Find out why it kills nodes (memory?) before you start the work again."},
			{[]kind{k("orchestration.ErrWorkerLost", orchestration.ErrWorkerLost)}, "worker-lost", "the node of an activity called with AtMostOnce was lost or shut down before the result; the activity may or may not have had its effect", "no", "the orchestration", "Look for the effect where it would be visible, then decide."},
			{[]kind{k("orchestration.ErrTerminated", orchestration.ErrTerminated)}, "terminated", "the instance was terminated from outside", "no", "the operator", "Read the reason in the history."},
			{[]kind{k("orchestration.ErrForked", orchestration.ErrForked)}, "forked", "the code waits for a child that the origin of a fork has started", "no", "the orchestration", "Start the child again if the fork needs it, under another ID."},
			{[]kind{k("orchestration.ErrPanic", orchestration.ErrPanic)}, "panic", "an activity panicked", "yes, by the retry policy", "the author of the activity", "Fix it; the stack is in the log."},
			{[]kind{k("orchestration.ErrPayload", orchestration.ErrPayload)}, "payload", "a value cannot be encoded, or bytes cannot be decoded into the requested type", "no", "the author", "Use the same type on both sides."},
			{[]kind{k("orchestration.ErrHistoryFull", orchestration.ErrHistoryFull)}, "history-full", "the history has reached its limit", "no", "the author", "[Continue as new](../how-to/children-and-continue-as-new.md) earlier."},
			{[]kind{k("orchestration.ErrNotRegistered", orchestration.ErrNotRegistered)}, "not-registered", "a function is not registered under its name on this node; the turn fails and the instance is blocked", "the engine does", "the operator", "Register it and deploy, or call it by name."},
		}},
		{"Causes that end the context of an activity", []sentinel{
			{[]kind{k("activity.ErrOrchestrationEnded", activity.ErrOrchestrationEnded)}, "orchestration-ended", "the orchestration has ended, so nothing waits for the result", "no", "the activity", "Stop; undo what is half done."},
			{[]kind{k("activity.ErrOrchestrationMissing", activity.ErrOrchestrationMissing)}, "orchestration-missing", "the orchestration was deleted; a notice that arrives first gives ErrOrchestrationEnded", "no", "the activity", "Stop."},
			{[]kind{k("activity.ErrCancelled", activity.ErrCancelled)}, "activity-cancelled", "the orchestration cancelled this activity", "no", "the activity", "Stop; undo what is half done."},
			{[]kind{k("activity.ErrTimeout", activity.ErrTimeout)}, "activity-timeout", "a timeout of the activity has passed; errors.As finds a `*activity.TimeoutError` with its kind: `StartToClose`, `NoHeartbeat`, `ScheduleToStart` or `ScheduleToClose`", "by the retry policy", "the activity", "Stop; the next attempt may run already."},
			{[]kind{k("activity.ErrLeaseLost", activity.ErrLeaseLost)}, "lease-lost", "the lease expired and another node may run the activity; for a call with a token: the token is void", "the other node does", "the activity, or the caller that ends it", "Stop at once: the work runs elsewhere, with another token."},
			{[]kind{k("activity.ErrShutdown", activity.ErrShutdown)}, "shutdown", "this node shuts down", "another node does", "the activity", "Report the progress by `Heartbeat` and return."},
		}},
		{"Activities that end later", []sentinel{
			{[]kind{k("activity.ErrPending", activity.ErrPending)}, "pending", "returned by an activity: its result comes later, and its slot stays taken", "no", "the activity", "End it by its completer or its token. See [Complete activities later](../how-to/complete-activities-later.md)."},
			{[]kind{k("activity.ErrParked", activity.ErrParked)}, "parked", "returned by an activity: its result comes later, and its slot is released; also returned by a completer of this activity", "no", "the activity", "End it by its token."},
			{[]kind{k("activity.ErrAlreadyCompleted", activity.ErrAlreadyCompleted)}, "already-completed", "the activity has its result or its failure", "no", "the caller that ends it", "Treat it as done: the first end counts."},
			{[]kind{k("activity.ErrNotCancelled", activity.ErrNotCancelled)}, "not-cancelled", "an activity that was not cancelled cannot end as cancelled", "no", "the caller that ends it", "Complete it, or let it fail."},
		}},
		{"Errors between providers and the engine", []sentinel{
			{[]kind{k("provider.ErrConflict", provider.ErrConflict)}, "conflict", "the stored state has changed since the caller read it", "with the state stored now", "the engine", "It evicts the execution and runs it again."},
			{[]kind{k("provider.ErrLeaseLost", provider.ErrLeaseLost)}, "lease-not-held", "the token does not hold the lease", "no", "the engine", "It drops its result."},
			{[]kind{k("provider.ErrInboxNotEmpty", provider.ErrInboxNotEmpty)}, "inbox-not-empty", "messages wait that the closing turn did not read", "with these messages", "the engine", "It runs the turn again with them."},
			{[]kind{k("client.ErrRunning", client.ErrRunning), k("provider.ErrRunning", provider.ErrRunning)}, "running", "the instance, or one below it, has not ended", "after its end", "the caller", "Terminate it, wait, or delete it with `client.Force`."},
			{[]kind{k("client.ErrMoved", client.ErrMoved), k("provider.ErrMoved", provider.ErrMoved)}, "moved", "the instance is sealed, because it moves to another store", "at the other store", "the caller", "Use the store that it has moved to. See [Move to another store](../how-to/move-to-another-store.md)."},
			{[]kind{k("operate.ErrClockBehind", operate.ErrClockBehind), k("provider.ErrClockBehind", provider.ErrClockBehind)}, "clock-behind", "the clock of the target of a move is behind", "yes", "the caller", "Set the clock, and repeat the import."},
			{[]kind{k("operate.ErrDamagedFile", operate.ErrDamagedFile)}, "damaged-file", "the file of an import is cut off, was changed, or is no export", "no", "the caller", "Take the whole file, or export again."},
			{[]kind{k("operate.ErrNewerFile", operate.ErrNewerFile)}, "newer-file", "a newer release wrote the file of an import", "with a newer release", "the caller", "Import it with that release."},
			{[]kind{k("operate.ErrUnsound", operate.ErrUnsound)}, "unsound", "an import found damage in what it has stored", "no", "the caller", "Run `perdure doctor` at the source and at the target. The instances stay suspended."},
			{[]kind{k("provider.ErrNoAnswer", provider.ErrNoAnswer)}, "no-answer", "no node replied to an ask in time", "yes", "the caller", "Check that a node runs the instance's code."},
		}},
	}
}

// exported returns the error variables that a public package exports.
func exported(t *testing.T, pkg string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../../..", pkg, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files of %s: %v", pkg, err)
	}
	var found []string
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok || decl.Tok != token.VAR {
				continue
			}
			for _, spec := range decl.Specs {
				for _, name := range spec.(*ast.ValueSpec).Names {
					if strings.HasPrefix(name.Name, "Err") {
						found = append(found, filepath.Base(pkg)+"."+name.Name)
					}
				}
			}
		}
	}
	return found
}

// The catalogue names each exported error once, and nothing else.
func TestCatalogueIsComplete(t *testing.T) {
	listed := map[string]error{}
	for _, g := range catalogue() {
		for _, s := range g.sentinels {
			for _, k := range s.kinds {
				if listed[k.name] != nil {
					t.Errorf("%s stands twice", k.name)
				}
				if listed[k.name] = k.err; k.err == nil || !errors.Is(k.err, s.kinds[0].err) {
					t.Errorf("%s is not %s", k.name, s.kinds[0].name)
				}
			}
		}
	}
	var all []string
	for _, pkg := range []string{"client", "operate", "orchestration", "activity", "runtime", "provider", "provider/sqlite", "provider/memory"} {
		all = append(all, exported(t, pkg)...)
	}
	slices.Sort(all)
	if names := slices.Sorted(maps.Keys(listed)); !slices.Equal(names, all) {
		t.Errorf("the catalogue has\n\t%v\nthe packages export\n\t%v", names, all)
	}
}

// Each sentinel has one code, which no other has, also where another error wraps it. Codes of other errors are none of a sentinel.
func TestCodesOfSentinels(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	taken := map[string]error{
		"storage": &provider.Error{}, "unsupported": errors.ErrUnsupported,
		"request-timeout": context.DeadlineExceeded, "request-cancelled": context.Canceled, // of package dashboard
	}
	for _, g := range catalogue() {
		for _, s := range g.sentinels {
			if !form.MatchString(s.code) {
				t.Errorf("the code %q of %s is not words joined by hyphens", s.code, s.kinds[0].name)
			}
			if other := taken[s.code]; other != nil && other != s.kinds[0].err { //nolint:errorlint // the value itself
				t.Errorf("%s has the code %q of another error: %v", s.kinds[0].name, s.code, other)
			}
			taken[s.code] = s.kinds[0].err
			for _, k := range s.kinds {
				if got := client.Code(k.err); got != s.code {
					t.Errorf("%s has the code %q, want %q: codes never change", k.name, got, s.code)
				}
				if got := client.Code(fmt.Errorf("doing: %w: %w", errors.Join(io.EOF, k.err), client.ErrBusy)); got != s.code {
					t.Errorf("%s in another error has the code %q, want %q", k.name, got, s.code)
				}
				if got := client.Code(fmt.Errorf("doing: %w: %w", isError{k.err}, client.ErrBusy)); got != s.code {
					t.Errorf("an error whose method Is names %s has the code %q, want %q", k.name, got, s.code)
				}
			}
		}
	}
}

// A doubtful write has the code of the doubt: the last try was refused, and one before it may have been stored.
func TestCodeOfADoubt(t *testing.T) {
	t.Parallel()
	for _, refused := range []error{provider.ErrClosed, provider.ErrInboxFull, client.ErrUnserved, errors.ErrUnsupported, &provider.Error{Err: io.EOF}} {
		doubt := access.Doubt(refused, true, "repeat it")
		if got := client.Code(doubt); got != "outcome-unknown" || !errors.Is(doubt, refused) {
			t.Errorf("%v has the code %q", doubt, got)
		}
		if got, want := doubt.Error(), refused.Error()+"; it may have been stored all the same: repeat it"; got != want {
			t.Errorf("the text is %q, want %q", got, want)
		}
		if sure := access.Doubt(refused, false, "repeat it"); client.Code(sure) != client.Code(refused) {
			t.Errorf("%v has the code %q without doubt", sure, client.Code(sure))
		}
	}
}

// isError is another error by its method Is, as UnknownQueryError is.
type isError struct{ sentinel error }

func (e isError) Error() string { return "some text" }

func (e isError) Is(target error) bool { return target == e.sentinel }

func (g group) write(page *strings.Builder) {
	fmt.Fprintf(page, "\n## %s\n\n| error | code | meaning | again? | who acts | what to do |\n| --- | --- | --- | --- | --- | --- |\n", g.title)
	for _, s := range g.sentinels {
		names := make([]string, len(s.kinds))
		for i, k := range s.kinds {
			names[i] = "`" + k.name + "`"
		}
		fmt.Fprintf(page, "| %s: %s | `%s` | %s | %s | %s | %s |\n", strings.Join(names, ", "), cell(s.kinds[0].err.Error()), s.code, s.means, s.again, s.who, s.do)
	}
}
