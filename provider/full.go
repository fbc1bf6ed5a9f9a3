package provider

import (
	"context"
	"errors"
	"fmt"
)

// Full is a provider with all of its optional calls. A call of an interface that the provider lacks returns an
// error that wraps [errors.ErrUnsupported] and names the call and the interface.
type Full struct {
	Provider
	Asker
	Lister
	Meter
	Cleaner
	Redriver
	Keeper
	Opener
	TaskSteerer
	TaskLister
	FailureGrouper
}

// FullOf returns p with all of its optional calls.
func FullOf(p Provider) *Full {
	if f, ok := p.(*Full); ok {
		return f
	}
	f := &Full{
		Provider: p, Asker: noAsker{}, Lister: noLister{}, Meter: noMeter{}, Cleaner: noCleaner{}, Redriver: noRedriver{}, Keeper: noKeeper{},
		Opener: noOpener{}, TaskSteerer: noTaskSteerer{}, TaskLister: noTaskLister{}, FailureGrouper: noFailureGrouper{},
	}
	find(p, &f.Asker)
	find(p, &f.Lister)
	find(p, &f.Meter)
	find(p, &f.Cleaner)
	find(p, &f.Redriver)
	find(p, &f.Keeper)
	find(p, &f.Opener)
	find(p, &f.TaskSteerer)
	find(p, &f.TaskLister)
	find(p, &f.FailureGrouper)
	return f
}

// Features implements [Featured], so that what embeds a Full promises what the provider does.
func (f *Full) Features() Features { return FeaturesOf(f.Provider) }

// find sets in to the interface of p, if p has it.
func find[T any](p Provider, in *T) {
	if t, ok := As[T](p); ok {
		*in = t
	}
}

// Lacking returns the error of a call that needs an optional interface, such as "Lister", of a provider without it.
func Lacking(call, name string) error {
	return &Error{Op: call, Outcome: OutcomeNothing, Err: fmt.Errorf("%w: the store has no provider.%s", errors.ErrUnsupported, name)}
}

type (
	noAsker    struct{}
	noLister   struct{}
	noMeter    struct{}
	noCleaner  struct{}
	noRedriver struct{}
	noKeeper   struct{}
	noOpener   struct{}

	noTaskSteerer    struct{}
	noTaskLister     struct{}
	noFailureGrouper struct{}
)

func (noTaskLister) ListTasks(context.Context, ListTasksRequest) (ListTasksResult, error) {
	return ListTasksResult{}, Lacking("list tasks", "TaskLister")
}

func (noFailureGrouper) FailureGroups(context.Context, FailureGroupsRequest) (FailureGroupsResult, error) {
	return FailureGroupsResult{}, Lacking("failure groups", "FailureGrouper")
}

func (noAsker) Ask(context.Context, AskRequest) (AskResult, error) {
	return AskResult{}, Lacking("ask", "Asker")
}

func (noAsker) FetchAsks(context.Context, FetchAsksRequest) (FetchAsksResult, error) {
	return FetchAsksResult{}, Lacking("fetch asks", "Asker")
}

func (noAsker) Answer(context.Context, AnswerRequest) error { return Lacking("answer", "Asker") }

func (noLister) List(context.Context, ListRequest) (ListResult, error) {
	return ListResult{}, Lacking("list", "Lister")
}

func (noLister) Count(context.Context, CountRequest) (CountResult, error) {
	return CountResult{}, Lacking("count", "Lister")
}

func (noMeter) Stats(context.Context, StatsRequest) (StatsResult, error) {
	return StatsResult{}, Lacking("stats", "Meter")
}

func (noCleaner) Delete(context.Context, DeleteRequest) (DeleteResult, error) {
	return DeleteResult{}, Lacking("delete", "Cleaner")
}

func (noCleaner) Prune(context.Context, PruneRequest) (PruneResult, error) {
	return PruneResult{}, Lacking("prune", "Cleaner")
}

func (noRedriver) DeadLetters(context.Context, DeadLettersRequest) (DeadLettersResult, error) {
	return DeadLettersResult{}, Lacking("dead letters", "Redriver")
}

func (noKeeper) Lease(context.Context, LeaseRequest) (LeaseResult, error) {
	return LeaseResult{}, Lacking("lease", "Keeper")
}

func (noKeeper) Record(context.Context, RecordRequest) (RecordResult, error) {
	return RecordResult{}, Lacking("record", "Keeper")
}

func (noOpener) Reset(context.Context, ResetRequest) (SteerResult, error) {
	return SteerResult{}, Lacking("reset", "Opener")
}

func (noOpener) Fork(context.Context, ForkRequest) (CreateResult, error) {
	return CreateResult{}, Lacking("fork", "Opener")
}

func (noTaskSteerer) SteerTask(context.Context, SteerTaskRequest) (SteerTaskResult, error) {
	return SteerTaskResult{}, Lacking("steer task", "TaskSteerer")
}
