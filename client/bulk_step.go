package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/bulk"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/provider"
)

// StepBulk acts on the next instances of a bulk job. It is for perdure's own activity, whose forms it takes as JSON. from is how far an
// attempt before has come, nil for the first. beat is called after each instance.
func (c *Client) StepBulk(ctx context.Context, request, from []byte, beat func(done []byte)) ([]byte, error) {
	return stepOf(request, from, beat, func(req bulk.StepRequest, from *bulk.Stepped, beat func(bulk.Stepped)) (bulk.Stepped, error) {
		return c.stepBulk(ctx, &req, from, beat)
	})
}

func (c *Client) stepBulk(ctx context.Context, req *bulk.StepRequest, from *bulk.Stepped, beat func(bulk.Stepped)) (bulk.Stepped, error) {
	s := bulkStep{c: c, req: req, done: bulk.Stepped{To: req.From, More: true}, until: time.Now().Add(bulk.StepTime)}
	if from != nil {
		s.done = *from
	}
	if refused := s.allowed(); refused != nil {
		s.done.Refused = refused.Error()
		return s.done, nil //nolint:nilerr // the job ends with it
	}
	doing := fmt.Sprintf("bulk job %q", req.Job.ID)
	for s.done.More && !s.over() {
		page, err := read(ctx, c.store, doing, c.store.List, provider.ListRequest{
			Filter: req.Job.Filter, Cursor: s.done.To.Cursor, Max: bulk.MaxStep,
			Omit: []provider.ListField{provider.ListAttributes, provider.ListCustomStatus, provider.ListBlockedMessage},
		})
		if err != nil {
			return s.done, explain(doing, 0, err)
		}
		if err := s.page(ctx, &page, beat); err != nil {
			return s.done, err
		}
	}
	return s.done, nil
}

// over reports whether the step has done enough.
func (s *bulkStep) over() bool {
	return s.done.Total() >= int64(s.req.Max) || time.Now().After(s.until)
}

// page acts on the instances of a page, behind the position.
func (s *bulkStep) page(ctx context.Context, page *provider.ListResult, beat func(bulk.Stepped)) error {
	for n := range page.Instances {
		i := &page.Instances[n]
		if s.done.To.Passed(i) || reserved.ID(i.ID) {
			continue
		}
		if s.over() {
			return nil
		}
		if err := s.one(ctx, i); err != nil {
			return err
		}
		s.done.To.At, s.done.To.Key = i.CreatedAt, i.Key
		beat(s.done)
	}
	s.done.To, s.done.More = bulk.Position{Cursor: page.Cursor}, page.Cursor != ""
	return nil
}

// A bulkStep is one step of a job.
type bulkStep struct {
	c     *Client
	req   *bulk.StepRequest
	act   bulkAct
	done  bulk.Stepped
	until time.Time
}

// allowed finds the act and checks the right of the job's principal to it.
func (s *bulkStep) allowed() (err error) {
	job := &s.req.Job
	if s.act, err = bulkActOf(Act(job.Act)); err != nil || job.Principal == nil {
		return err
	}
	p := Principal{Name: job.Principal.Name}
	if err := p.Role.UnmarshalText([]byte(job.Principal.Role)); err != nil {
		return err
	}
	if !p.May(Act(job.Act)) {
		return fmt.Errorf("%w: %s has the role %v, and the act %q needs the role %v", ErrForbidden, check.Quote(p.Name), p.Role, job.Act, acts[Act(job.Act)])
	}
	return nil
}

// one acts on an instance if the filter still matches it. An error means that the storage or ctx ended the step.
func (s *bulkStep) one(ctx context.Context, listed *provider.Instance) error {
	job := &s.req.Job
	a := act{
		kind: Act(job.Act), doing: fmt.Sprintf("%s of %q", job.Act, listed.ID), on: target{id: listed.ID, key: listed.Key},
		requestID: bulk.RequestID(s.req.Key, listed.Key, job.Act),
	}
	res, err := s.c.store.instance(ctx, a.on, a.doing, false)
	switch {
	case errors.Is(err, ErrNotFound):
		s.done.Skipped++
		return nil
	case err != nil:
		return err
	case !bulk.Matches(&job.Filter, &res.Instance):
		s.done.Skipped++
		return nil
	}
	err = s.act.do(ctx, s.c, &a, &res.Instance, &job.Args)
	switch {
	case err == nil:
		s.done.Done++
	case errors.Is(err, errNoEffect), errors.Is(err, ErrNotFound), errors.Is(err, ErrEnded):
		s.done.Skipped++
	case ctx.Err() != nil:
		return why(ctx)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, ErrOutcomeUnknown), provider.Retryable(err):
		return err // the step is repeated, under the same request ID
	default:
		s.done.Failed++
		s.done.Failures = append(s.done.Failures, bulk.Failure{ID: listed.ID, Key: listed.Key, Error: err.Error()})
	}
	return nil
}
