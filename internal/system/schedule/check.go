package schedule

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/natural"
	"github.com/perdure/perdure/internal/reserved"
	form "github.com/perdure/perdure/internal/schedule"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/provider"
)

const (
	queue         = reserved.Queue
	checkActivity = reserved.NamePrefix + CheckName

	// CheckName is the name of the activity, without the reserved prefix.
	CheckName = "schedule.look"

	// shownNext is how many due times are shown in advance.
	shownNext = 5
	// maxAhead is by how much the store's time may be ahead of this node's.
	maxAhead = time.Minute
)

// Activities are what schedules ask of a node.
type Activities struct {
	Client *client.Client // with all rights
	// Newest is the newest version of the orchestration that schedules may continue in. A release raises it when the store's level says
	// that all nodes know the version.
	Newest string
}

// Check computes the due times of a schedule and reads the states of its runs.
func (a *Activities) Check(ctx context.Context, req form.CheckRequest) (form.CheckResult, error) {
	result := form.CheckResult{Newer: natural.Compare(a.Newest, "1") > 0, Runs: make(map[string]string)}
	if ahead := time.Until(req.Now); ahead > maxAhead {
		result.Ahead = form.Duration(ahead.Round(time.Second))
	}
	result.Refused = refused(req.Principal)
	for _, key := range req.Running {
		status, err := a.status(ctx, key)
		if err != nil {
			return result, err
		}
		result.Runs[key] = status
	}
	if req.Key != "" {
		d, err := client.HandleOf[any](a.Client, "", keyOf(req.Key)).Describe(ctx)
		if err != nil {
			return result, err
		}
		result.Created, req.After = d.CreatedAt, d.CreatedAt
	}
	times, bad := form.Compile(req.ID, &req.Spec)
	if bad != nil { // such as an unknown zone: the schedule shows it and checks again
		result.Problem = bad.Error()
		return result, nil //nolint:nilerr // Problem has it
	}
	if bad := plan(&result, times, &req); bad != nil {
		result.Problem = bad.Error()
		return result, nil //nolint:nilerr // as above
	}
	if result.Version = req.Action.Version; !req.Action.Newest {
		return result, nil
	}
	version, err := a.newest(ctx, req.Action.Orchestration)
	result.Version = version
	return result, err
}

// plan computes the due times that the schedule asks for.
func plan(result *form.CheckResult, times *form.Times, req *form.CheckRequest) (err error) {
	of := &form.Progress{After: req.After}
	if req.Jittered != nil {
		of = req.Jittered
	}
	if result.Plan.After = req.Now; !req.Idle {
		if result.Plan, err = times.Plan(of, req.Now); err != nil {
			return err
		}
	}
	defer func() { // releases before go by this alone: what a change left behind is not theirs to start
		if result.Plan.After.Before(req.After) {
			result.Plan.After = req.After
		}
	}()
	if result.Upcoming, err = times.Upcoming(result.Plan.Progress(), req.Now, shownNext); err != nil {
		return err
	}
	if b := req.Backfill; b != nil {
		for after := b.After; len(result.Backfill) < req.Spec.Running(); {
			d, ok := times.Next(after)
			if !ok || d.Time.After(b.To) {
				break
			}
			result.Backfill = append(result.Backfill, d.Time)
			after = d.Time
		}
	}
	return nil
}

// refused returns why a principal may not start runs, "" if it may.
func refused(p *form.Principal) string {
	if p == nil {
		return ""
	}
	var role client.Role
	if err := role.UnmarshalText([]byte(p.Role)); err != nil || !(client.Principal{Name: p.Name, Role: role}).May(client.ActStart) {
		return fmt.Sprintf("%q, for whom the schedule acts, has the role %q and may not start instances", p.Name, p.Role)
	}
	return ""
}

// status returns the status of an instance, "" if it is gone.
func (a *Activities) status(ctx context.Context, key string) (string, error) {
	k := keyOf(key)
	if k.IsZero() {
		return "", nil
	}
	d, err := client.HandleOf[any](a.Client, "", k).Describe(ctx)
	if errors.Is(err, client.ErrNotFound) {
		return "", nil
	}
	return string(d.Status), err
}

// keyOf reads a key; it is zero if the text is none, which no instance has.
func keyOf(text string) (key provider.UUID) {
	if key.UnmarshalText([]byte(text)) != nil {
		return provider.UUID{}
	}
	return key
}

// newest returns the newest version of an orchestration that a node has.
func (a *Activities) newest(ctx context.Context, name string) (version string, err error) {
	nodes, err := operate.New(a.Client).Nodes(ctx)
	if errors.Is(err, errors.ErrUnsupported) {
		return "", nil
	}
	for _, n := range nodes {
		for _, o := range n.Orchestrations {
			if o.Name == name && natural.Compare(o.CodeVersion, version) > 0 {
				version = o.CodeVersion
			}
		}
	}
	return version, err
}
