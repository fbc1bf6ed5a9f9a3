package operate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/bulk"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/provider"
)

const (
	bulkPrefix = reserved.IDPrefix + "bulk/"
	// maxBulkID and maxBulkJob bound what a job stores of itself.
	maxBulkID = 256
	// bulkActName and bulkMaxName are attributes of a job.
	bulkActName = "act"
	bulkMaxName = "max"
	maxBulkJob  = 32 << 10
	// MaxBulkRate is the highest rate of a bulk job, in instances a second.
	MaxBulkRate = 10_000
)

// bulkFilter checks a filter of a job. An empty one would match the whole store, which a job has to say.
func (o *Operator) bulkFilter(f *client.Filter) (provider.Filter, error) {
	if f.System || reserved.Named(f.IDPrefix) {
		return provider.Filter{}, fmt.Errorf("%w: a bulk job leaves the instances of perdure itself alone: use the calls for schedules and bulk jobs",
			client.ErrInvalid)
	}
	stored, _, err := o.caller.Filter(f)
	return stored, err
}

// BulkJob is what a bulk job does. The arguments are for the acts named behind them.
type BulkJob struct {
	ID     string        // "" for a random one; a start that is repeated under the same ID returns client.ErrExists
	Act    client.Act    // one of BulkActs
	Filter client.Filter // of client.ActRetryNow: with Retrying, which StartBulk sets
	// Before leaves out instances created later, by the storage's clock: BulkPreview.At. Zero: those created after the start.
	Before time.Time
	// Max is the most instances to act on: BulkPreview.Count. It is required.
	Max int64
	// Rate is instances a second, at most MaxBulkRate; 0: as fast as they go. For client.ActRetryNow it is activities a second, and is required.
	Rate float64

	// Text and AllTexts are for a Filter with FailureGroup, whose instances may have failed with different texts. Text leaves out those with another
	// one, which do not count: see BulkPreview.Texts and Only. It is a whole text of at most 256 bytes, because lists have no more, and some instance
	// must have it. AllTexts takes all. A job on a group needs one of them.
	Text     string
	AllTexts bool

	Reason  string // cancel, terminate, restart, reset, fork
	Event   string // raise
	Payload any    // raise
	Version string // move
	Force   bool   // delete: also those that run
	Point   int64  // reset, fork: the event of each history to go back to, as client.Reset takes it; 1 is the beginning
	// To is for reset and fork, in place of Point: the kind of point to go back to in each history, such as client.BeforeLastFailure. The job stores the
	// event and the execution of each before it acts. It skips instances without such a point, and those that are in another execution by then. It needs
	// nodes of this release: those of earlier ones leave it alone. See PreviewBulkTo.
	To        client.PointKind
	DropLater bool   // reset: forget the events that came after the point
	Prefix    string // fork: the ID of each new instance is that of its origin behind this
}

// Bulk is a bulk job. It is a plain value: many goroutines may copy, compare and use it at once.
type Bulk struct {
	c *access.Caller // that of the client, which all its operators share
	t access.Target
}

// BulkPhase is where a bulk job stands.
type BulkPhase string

// The phases of a bulk job.
const (
	BulkWaiting BulkPhase = "waiting" // for a node that runs bulk jobs
	BulkRunning BulkPhase = bulk.PhaseRunning
	BulkStopped BulkPhase = bulk.PhaseStopped // until Resume; it is given up after 30 days
	BulkDone    BulkPhase = bulk.PhaseDone
	BulkRefused BulkPhase = bulk.PhaseRefused // BulkInfo.Problem says why
	BulkGivenUp BulkPhase = bulk.PhaseGivenUp
	BulkFailed  BulkPhase = "failed" // or terminated
)

// BulkInfo says how far a bulk job has come.
type BulkInfo struct {
	ID        string        `json:"id"`
	Key       provider.UUID `json:"key"`
	Act       client.Act    `json:"act"`
	Phase     BulkPhase     `json:"phase"`
	Max       int64         `json:"max"`
	Done      int64         `json:"done"`
	Skipped   int64         `json:"skipped"` // the filter did not match any more, or there was nothing to do
	Failed    int64         `json:"failed"`  // see Bulk.Failures
	Rate      float64       `json:"rate,omitempty"`
	Principal string        `json:"principal,omitempty"`
	Problem   string        `json:"problem,omitempty"` // why it ended early, or what holds it up
	CreatedAt time.Time     `json:"createdAt"`
	LookedAt  time.Time     `json:"lookedAt,omitzero"` // at the end of the last step
	EndedAt   time.Time     `json:"endedAt,omitzero"`
}

// Over reports whether the job will not go on.
func (i *BulkInfo) Over() bool {
	return i.Phase != BulkWaiting && i.Phase != BulkRunning && i.Phase != BulkStopped
}

// BulkFailure is an instance on which the act of a job failed. Long texts are cut.
type BulkFailure struct {
	ID    string        `json:"id"`
	Key   provider.UUID `json:"key"`
	Error string        `json:"error"`
}

// StartBulk begins a job that does an act on all instances that match a filter, one after the other. The job is stored: it goes on after
// crashes, on any node. It acts on instances by key, checks the filter again before each, and acts on each once, however often it
// is interrupted.
//
// Its counts are exact after a crash, too. Two things are told by what is left: an instance that is gone counts as deleted by the job, and
// one without dead letters as redriven, if somebody else did that just when the job was interrupted.
//
// The job stores the principal of the client and acts with its rights: client.ErrForbidden says that it lacks client.ActBulk or the act itself. The audit
// has the job, and not each instance. Other errors: client.ErrInvalid, client.ErrTooLarge, client.ErrExists, client.ErrOutcomeUnknown, or the error of ctx.
func (o *Operator) StartBulk(ctx context.Context, j BulkJob) (Bulk, error) {
	const op = "starting a bulk job"
	if err := o.usable(ctx); err != nil {
		return Bulk{}, fmt.Errorf("%s: %w", op, err)
	}
	if j.ID == "" {
		j.ID = uuid.Must(uuid.NewV7()).String()
	}
	job, err := o.bulkJob(ctx, op, &j)
	if err != nil {
		return Bulk{}, err
	}
	t, err := o.caller.StartSystem(ctx, access.SystemStart{
		Name: reserved.Bulk, ID: bulkPrefix + j.ID, Version: job.Form(), Policy: provider.IDReject, Input: bulk.State{Job: job},
		Attributes: []provider.Attribute{ // those of a job that no node has taken
			{Name: bulkActName, Kind: provider.AttributeText, Text: string(j.Act)}, {Name: bulkMaxName, Kind: provider.AttributeInt, Number: j.Max},
		},
		Act: string(client.ActBulk), Detail: fmt.Sprintf("%s on at most %d instances", j.Act, j.Max),
	})
	return Bulk{o.caller, t}, err
}

// CheckBulk returns the error with which StartBulk would refuse a job, so that nobody is asked to confirm one that cannot start. Max may be 0:
// it is not known before the preview. Nothing is stored, and a job that is not refused may still fail to start.
func (o *Operator) CheckBulk(ctx context.Context, j BulkJob) error {
	const op = "starting a bulk job"
	if err := o.usable(ctx); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	j.ID, j.Max = cmp.Or(j.ID, "any"), cmp.Or(j.Max, 1)
	if err := o.caller.May(&access.Act{Kind: string(client.ActBulk), Op: op}); err != nil {
		return err
	}
	_, err := o.bulkJob(ctx, op, &j)
	return err
}

// bulkJob checks a job and the rights to it, and returns it in the form of its orchestration.
func (o *Operator) bulkJob(ctx context.Context, op string, j *BulkJob) (bulk.Job, error) {
	job, err := j.stored(ctx, o)
	if err != nil {
		return job, fmt.Errorf("%s: %w", op, err)
	}
	if p := o.caller.Principal; p != nil {
		if err := o.caller.May(&access.Act{Kind: string(j.Act), Op: op}); err != nil {
			return job, err
		}
		job.Principal = &bulk.Principal{Name: p.Name, Role: p.Role}
	}
	if err := o.hasText(ctx, op, &job); err != nil {
		return job, fmt.Errorf("%s: %w", op, err)
	}
	return job, nil
}

// stored checks a job and returns it in the form of its orchestration.
func (j *BulkJob) stored(ctx context.Context, o *Operator) (bulk.Job, error) {
	job := bulk.Job{ID: j.ID, Act: string(j.Act), Max: j.Max, Rate: j.Rate, Text: j.Text}
	a, err := o.bulkActOf(j.Act)
	if err != nil {
		return job, err
	}
	if err := j.check(a.Tasks != nil); err != nil {
		return job, err
	}
	j.Filter.Retrying = j.Filter.Retrying || a.Tasks != nil
	job.Args = bulk.Args{
		Reason: j.Reason, Event: j.Event, Version: j.Version, Force: j.Force, Point: j.Point, Drop: j.DropLater, Prefix: j.Prefix,
	}
	if j.To.String() != "" {
		to, err := j.To.MarshalText()
		if err != nil {
			return job, err
		}
		if a.Point == nil {
			return job, fmt.Errorf("%w: %s looks for no point in a history: that is for reset and fork", client.ErrInvalid, j.Act)
		}
		job.Args.To = string(to)
	}
	if j.Payload != nil {
		if job.Args.Payload, err = access.Encode("event", j.Payload); err != nil {
			return job, err
		}
	}
	if a.Check != nil {
		if err := a.Check(&job.Args); err != nil {
			return job, err
		}
	}
	if job.Filter, err = o.bulkFilter(&j.Filter); err != nil {
		return job, err
	}
	if err := o.bulkServed(&job); err != nil {
		return job, err
	}
	if err := j.textChosen(); err != nil {
		return job, err
	}
	if err := j.bound(ctx, o, &job); err != nil {
		return job, err
	}
	text, err := json.Marshal(job)
	if err == nil && len(text) > maxBulkJob {
		err = fmt.Errorf("%w: filter and payload have more than %d bytes: shorten them", client.ErrTooLarge, maxBulkJob)
	}
	return job, err
}

// check refuses what no filter can mend. onTasks reports that the act is on tasks.
func (j *BulkJob) check(onTasks bool) error {
	for _, err := range []error{checkBulkID(j.ID), access.Reason(j.Reason), access.Invalid(check.OptionalName("version", j.Version))} {
		if err != nil {
			return err
		}
	}
	switch {
	case j.Max < 1:
		return fmt.Errorf("%w: the most instances are %d: give the count of a preview, or the most that the job may act on", client.ErrInvalid, j.Max)
	case !(j.Rate >= 0 && j.Rate <= MaxBulkRate):
		return fmt.Errorf("%w: rate %v: give instances a second, at most %d, or 0 for no limit", client.ErrInvalid, j.Rate, MaxBulkRate)
	case onTasks && j.Rate == 0:
		return fmt.Errorf("%w: %s has no rate: give activities a second, so that what they call is not overrun", client.ErrInvalid, j.Act)
	}
	return nil
}

// textChosen refuses a choice of texts without a group, and a group without a choice.
func (j *BulkJob) textChosen() error {
	switch group := j.Filter.FailureGroup != ""; {
	case !group && j.AllTexts:
		return errTextAlone()
	case group && (j.Text != "") == j.AllTexts:
		return fmt.Errorf("%w: a group may have several texts: choose one that a preview has shown, or all of them", client.ErrInvalid)
	}
	return nil
}

// bound leaves out what is created after the preview.
func (j *BulkJob) bound(ctx context.Context, o *Operator, job *bulk.Job) error {
	var before provider.Time
	if err := access.TimeBound(&before, "Before", j.Before); err != nil {
		return err
	}
	if before == 0 {
		now, err := o.caller.Store.Now(ctx)
		if err != nil {
			return err
		}
		before = now + 1
	}
	if job.Filter.CreatedBefore == 0 || before < job.Filter.CreatedBefore {
		job.Filter.CreatedBefore = before
	}
	return nil
}

// checkBulkID checks the ID of a job.
func checkBulkID(id string) error {
	if err := access.Name("bulk job ID", id); err != nil {
		return err
	}
	if len(id) > maxBulkID {
		return fmt.Errorf("%w: bulk job ID %s has %d bytes: shorten it to %d", client.ErrInvalid, check.Quote(id), len(id), maxBulkID)
	}
	return nil
}

// Bulk returns the job of an ID, and client.ErrNotFound if there is none.
func (o *Operator) Bulk(ctx context.Context, id string) (Bulk, error) {
	op := fmt.Sprintf("looking up bulk job %s", check.Quote(id))
	err := o.usable(ctx)
	if err == nil {
		err = checkBulkID(id)
	}
	if err != nil {
		return Bulk{}, fmt.Errorf("%s: %w", op, err)
	}
	t, _, err := o.caller.Store.Resolve(ctx, access.Target{ID: bulkPrefix + id}, op)
	return Bulk{o.caller, t}, err
}

// Bulks returns a page of the bulk jobs, newest first. Cursor is "" on the last page.
func (o *Operator) Bulks(ctx context.Context, page client.Page) (jobs []BulkInfo, cursor string, err error) {
	if err := o.usable(ctx); err != nil {
		return nil, "", fmt.Errorf("listing bulk jobs: %w", err)
	}
	list, err := o.client.List(ctx, client.Filter{IDPrefix: bulkPrefix}, page)
	if err != nil {
		return nil, "", err
	}
	nodes := new(fleet)
	for i := range list.Items {
		info, err := (Bulk{o.caller, access.Target{ID: list.Items[i].ID, Key: list.Items[i].Key}}).describe(ctx, nodes)
		if errors.Is(err, client.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, "", err
		}
		jobs = append(jobs, info)
	}
	return jobs, list.Cursor, nil
}

// ID returns the job's ID.
func (b Bulk) ID() string { return strings.TrimPrefix(b.t.ID, bulkPrefix) }

var errNoJob = errors.New("there is no job: take one from Operator.StartBulk or Bulk")

// usable refuses a job that no method has made.
func (b Bulk) usable(ctx context.Context) error {
	err := access.Invalid(check.Context(ctx))
	if b.c == nil {
		err = access.Invalid(errNoJob)
	}
	if err != nil {
		return fmt.Errorf("using a bulk job: %w", err)
	}
	return nil
}

// Describe says how far the job has come.
func (b Bulk) Describe(ctx context.Context) (BulkInfo, error) { return b.describe(ctx, new(fleet)) }

func (b Bulk) describe(ctx context.Context, nodes *fleet) (BulkInfo, error) {
	if err := b.usable(ctx); err != nil {
		return BulkInfo{}, err
	}
	op := fmt.Sprintf("describing bulk job %q", b.ID())
	res, err := access.Read(ctx, b.c.Store, op, b.c.Store.Get, provider.GetRequest{Key: b.t.Key, Value: bulk.ValueKey, WithTasks: true})
	if err != nil {
		return BulkInfo{}, access.Explain(op, 0, err)
	}
	i := &res.Instance
	info := BulkInfo{ID: b.ID(), Key: i.Key, Phase: BulkWaiting, CreatedAt: i.CreatedAt.Std(), EndedAt: i.EndedAt.Std()}
	if i.HistoryLength > 0 {
		info.Phase = BulkRunning
	}
	for n := range i.Attributes {
		switch a := &i.Attributes[n]; a.Name {
		case bulkActName:
			info.Act = client.Act(a.Text)
		case bulkMaxName:
			info.Max = a.Number
		}
	}
	if res.Value != nil {
		var v bulk.View
		if err := json.Unmarshal(res.Value.Value, &v); err != nil {
			return info, fmt.Errorf("%s: %w", op, err)
		}
		info.Phase, info.Act, info.Max, info.Rate, info.Problem = BulkPhase(v.Phase), client.Act(v.Job.Act), v.Job.Max, v.Job.Rate, v.Problem
		info.Done, info.Skipped, info.Failed, info.LookedAt = v.Counts.Done, v.Counts.Skipped, v.Counts.Failed, v.Looked
		if v.Job.Principal != nil {
			info.Principal = v.Job.Principal.Name
		}
	}
	if i.Status.Ended() && i.Status != provider.StatusCompleted {
		info.Phase, info.Problem = BulkFailed, i.Status.String()
	}
	if info.Problem == "" && !i.Status.Ended() && info.Phase != BulkStopped {
		info.Problem = b.problem(ctx, op, nodes, i, res.Tasks)
	}
	return info, nil
}

// Stop stops the job behind the instance, or the few, on which it acts now. It stays until Resume. A stopped job is given up after 30 days.
// Errors are those of client.Handle.Raise.
func (b Bulk) Stop(ctx context.Context) error { return b.control(ctx, bulk.ControlStop) }

// Resume lets a stopped job go on. It needs the rights that starting the job needs: those to client.ActBulk and to the act of the job.
// Errors are those of client.Handle.Raise.
func (b Bulk) Resume(ctx context.Context) error {
	if err := b.usable(ctx); err != nil {
		return err
	}
	if b.c.Principal != nil {
		info, err := b.Describe(ctx)
		if err != nil {
			return err
		}
		if err := b.c.May(&access.Act{Kind: string(info.Act), Op: fmt.Sprintf("resume of bulk job %q", b.ID())}); err != nil {
			return err
		}
	}
	return b.control(ctx, bulk.ControlResume)
}

func (b Bulk) control(ctx context.Context, request string) error {
	if err := b.usable(ctx); err != nil {
		return err
	}
	payload, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("steering bulk job %q: %w", b.ID(), err)
	}
	a := access.Act{
		Kind: string(client.ActBulk), Op: fmt.Sprintf("%s of bulk job %q", request, b.ID()), On: b.t, Detail: request, RequestID: uuid.NewString(), System: true,
	}
	return b.c.Perform(ctx, &a, func(ctx context.Context) error {
		return b.c.Store.Post(ctx, &a.On, a.Op, "repeat it, which does no harm",
			engine.Message(&history.EventReceived{Name: bulk.Control, Payload: payload, RequestID: a.RequestID}, 0, 0))
	})
}

// Failures ranges over the last 10,000 instances on which the act failed, in no particular order. It ends after the first error.
func (b Bulk) Failures(ctx context.Context) iter.Seq2[BulkFailure, error] {
	return func(yield func(BulkFailure, error) bool) {
		if err := b.usable(ctx); err != nil {
			yield(BulkFailure{}, err)
			return
		}
		op := fmt.Sprintf("reading the failures of bulk job %q", b.ID())
		for chunk := range int64(bulk.Chunks) {
			res, err := access.Read(ctx, b.c.Store, op, b.c.Store.Get, provider.GetRequest{Key: b.t.Key, Value: bulk.FailuresKey(chunk)})
			if err == nil && res.Value == nil {
				return
			}
			var list []bulk.Failure
			if err == nil {
				err = json.Unmarshal(res.Value.Value, &list)
			}
			if err != nil {
				yield(BulkFailure{}, access.Explain(op, 0, err))
				return
			}
			for f := range slices.Values(list) {
				if !yield(BulkFailure(f), nil) {
					return
				}
			}
		}
	}
}
