package operate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/bulk"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/provider"
)

// stepBulk makes a step for perdure's own activity: it acts on the next instances of a job. heartbeat is called with the plan of the step, which
// it must store before it returns, and after each instance. The operator of a principal gets client.ErrForbidden: the request says in whose
// name the step acts.
func (o *Operator) stepBulk(
	ctx context.Context, req bulk.StepRequest, from *bulk.Stepped, heartbeat func(bulk.Stepped, bool) error,
) (bulk.Stepped, error) {
	if err := o.ofService(ctx, "making a step of a bulk job"); err != nil {
		return bulk.Stepped{}, err
	}
	s := bulkStep{o: o, req: &req, heartbeat: heartbeat, done: bulk.Stepped{To: req.From, More: true}, until: time.Now().Add(bulk.StepTime)}
	if from != nil {
		s.done = *from
	}
	if refused := s.allowed(); refused != nil {
		s.done.Refused = refused.Error()
		return s.done, nil //nolint:nilerr // the job ends with it
	}
	if s.repeated = len(s.done.Plan) > 0; s.repeated {
		return s.done, s.follow(ctx)
	}
	op := fmt.Sprintf("bulk job %q", req.Job.ID)
	for s.done.More && !s.over() {
		page, err := access.Read(ctx, o.caller.Store, op, o.caller.Store.List, provider.ListRequest{
			Filter: req.Job.Filter, Cursor: s.done.To.Cursor, Max: bulk.MaxStep,
			Omit: []provider.ListField{provider.ListAttributes, provider.ListCustomStatus, provider.ListBlockedMessage},
		})
		if err != nil {
			return s.done, access.Explain(op, 0, err)
		}
		rest, err := s.plan(ctx, &page)
		if err != nil {
			return s.done, err
		}
		planned := len(s.done.Plan) > 0
		if err := s.follow(ctx); err != nil {
			return s.done, err
		}
		if len(s.done.Plan) == 0 && !rest {
			s.done.To, s.done.More = bulk.Position{Cursor: page.Cursor}, page.Cursor != ""
		}
		if planned {
			break // a later plan could be overwritten in the store by a heartbeat of this one
		}
	}
	s.done.Plan = nil
	return s.done, nil
}

// A bulkStep is one step of a job.
type bulkStep struct {
	o         *Operator
	req       *bulk.StepRequest
	heartbeat func(done bulk.Stepped, store bool) error
	act       access.BulkAct
	done      bulk.Stepped
	repeated  bool // an attempt before had the same plan, and was lost
	until     time.Time
	paced     bool // the attempt has come to a task: the next one waits for the rate
}

// over reports whether the step has done enough.
func (s *bulkStep) over() bool {
	return s.done.Total() >= int64(s.req.Max) || time.Now().After(s.until)
}

// maxPlannedNames bounds the IDs of a plan, in bytes: as JSON they may be six times as long, and must fit into a heartbeat.
const maxPlannedNames = 32 << 10

// maxPlannedTasks bounds the tasks of a plan, unless they are of one instance.
const maxPlannedTasks = 1_000

// plan stores on which instances of a page the step acts, so that no attempt loses count of them. rest reports that the page has others.
func (s *bulkStep) plan(ctx context.Context, page *provider.ListResult) (rest bool, err error) {
	names, tasks := 0, 0
	for n := range page.Instances {
		i := &page.Instances[n]
		if s.done.To.Passed(i) || reserved.ID(i.ID) {
			continue
		}
		// One with another text is left out, so that it does not count. Of one whose text cannot be read, the act says so.
		if other, err := s.o.otherText(&s.req.Job, i); err == nil && other {
			continue
		}
		if s.done.Total()+int64(len(s.done.Plan)) >= int64(s.req.Max) {
			rest = true
			break
		}
		p := bulk.Planned{Key: i.Key, At: i.CreatedAt}
		if s.act.Named {
			if names += len(i.ID); names > maxPlannedNames {
				rest = true
				break
			}
			p.ID = i.ID
		}
		if s.act.Tasks != nil {
			if p.Tasks, err = s.tasksOf(ctx, i.Key); err != nil {
				return rest, err
			}
			if len(p.Tasks) == 0 { // nothing waits for its next attempt any more, or all that does is paused
				continue
			}
			if tasks += len(p.Tasks); tasks > maxPlannedTasks && len(s.done.Plan) > 0 {
				rest = true
				break
			}
		}
		if s.act.Due != nil {
			if p.Due, err = s.act.Due(ctx, i.Key); err != nil {
				return rest, err
			}
		}
		if s.finds() {
			if rest, err = s.planPoint(ctx, &p); err != nil {
				return rest, err
			}
			if rest {
				break
			}
		}
		s.done.Plan = append(s.done.Plan, p)
	}
	s.searched()
	if len(s.done.Plan) > 0 {
		err = s.heartbeat(s.done, true)
	}
	return rest, err
}

// follow acts on the instances of the plan. A plan of a lost attempt is followed to its end, because only this attempt can count it.
func (s *bulkStep) follow(ctx context.Context) error {
	for len(s.done.Plan) > 0 && (s.repeated || !s.over()) {
		p := s.done.Plan[0]
		if err := s.actOn(ctx, p); err != nil {
			if !s.repeated {
				s.done.Plan = s.done.Plan[:1] // nothing was done on the others
			}
			return errors.Join(err, s.heartbeat(s.done, false))
		}
		s.done.To.At, s.done.To.Key, s.done.Plan = p.At, p.Key, s.done.Plan[1:]
		if err := s.heartbeat(s.done, false); err != nil {
			return err
		}
	}
	return nil
}

// allowed finds the act, and checks that it can be done here and the right of the job's principal to it.
func (s *bulkStep) allowed() (err error) {
	job := &s.req.Job
	if s.act, err = s.o.bulkActOf(client.Act(job.Act)); err != nil {
		return err
	}
	if err := s.o.bulkServed(job); err != nil || job.Principal == nil {
		return err
	}
	p := client.Principal{Name: job.Principal.Name}
	if err := p.Role.UnmarshalText([]byte(job.Principal.Role)); err != nil {
		return err
	}
	if !p.May(client.Act(job.Act)) {
		return fmt.Errorf("%w: %s has the role %v, and the act %q needs the role %v",
			client.ErrForbidden, check.Quote(p.Name), p.Role, job.Act, leastRole(client.Act(job.Act)))
	}
	return nil
}

// leastRole returns the least role that may do an act.
func leastRole(a client.Act) client.Role {
	role := client.RoleViewer
	for role < client.RoleAdmin && !(client.Principal{Role: role}).May(a) {
		role++
	}
	return role
}

// actOn acts on an instance if the filter still matches it. An error means that the storage or ctx ended the step.
func (s *bulkStep) actOn(ctx context.Context, p bulk.Planned) error {
	job := &s.req.Job
	a := access.Act{
		Kind: job.Act, Op: fmt.Sprintf("%s of the instance with the key %s", job.Act, p.Key), On: access.Target{Key: p.Key},
		RequestID: bulk.RequestID(s.req.Key, p.Key, job.Act),
	}
	req := provider.GetRequest{Key: p.Key, WithTasks: job.Filter.Retrying || s.act.Tasks != nil}
	res, err := access.Read(ctx, s.o.caller.Store, a.Op, s.o.caller.Store.Get, req)
	if err != nil {
		err = access.Explain(a.Op, 0, err)
	}
	if errors.Is(err, client.ErrNotFound) {
		return s.skip(ctx, &a, p, nil, false)
	}
	if err != nil {
		return err
	}
	i := &res.Instance
	a.Op, a.On.ID = fmt.Sprintf("%s of %q", job.Act, i.ID), i.ID
	if !bulk.Matches(&job.Filter, i, res.Tasks) {
		return s.skip(ctx, &a, p, i, false)
	}
	if other, err := s.o.otherText(job, i); err != nil {
		s.fail(i, err)
		return nil
	} else if other {
		return s.skip(ctx, &a, p, i, false)
	}
	args := job.Args
	switch {
	case s.act.Tasks != nil:
		err = s.actOnTasks(ctx, &a, p, &res)
	case !s.finds():
		err = s.act.Do(ctx, &a, i, &args)
	case p.Point == nil:
		err = s.noPoint(ctx, p.Key)
	default:
		args.Point, args.In = p.Point.Event, p.Point.Execution
		err = s.act.Do(ctx, &a, i, &args)
	}
	switch {
	case err == nil:
		s.done.Done++
	case errors.Is(err, client.ErrNotFound): // it went meanwhile: perhaps after the act, whose answer was lost
		return s.skip(ctx, &a, p, nil, s.act.Named)
	case errors.Is(err, access.ErrNoEffect), errors.Is(err, client.ErrEnded):
		return s.skip(ctx, &a, p, i, false)
	case ctx.Err() != nil:
		return access.Why(ctx)
	case repeats(err):
		return err // under the same request ID
	default:
		s.fail(i, err)
	}
	return nil
}

// fail counts an instance on which the act failed.
func (s *bulkStep) fail(i *provider.Instance, err error) {
	s.done.Failed++
	s.done.Failures = append(s.done.Failures, bulk.Failure{ID: i.ID, Key: i.Key, Error: err.Error()}.Cut())
}

// skip counts an instance on which there was nothing to do, nil for one that is gone. It is done if the lost attempt has done it, or this one
// if it has tried.
func (s *bulkStep) skip(ctx context.Context, a *access.Act, p bulk.Planned, i *provider.Instance, tried bool) error {
	did := false
	if s.repeated || tried {
		var err error
		if did, err = s.act.WasDone(ctx, &access.DoneRequest{Act: a, Planned: p, Now: i, Args: &s.req.Job.Args}); err != nil && !errors.Is(err, client.ErrNotFound) {
			return err
		}
	}
	if did {
		s.done.Done++
	} else {
		s.done.Skipped++
	}
	return nil
}
