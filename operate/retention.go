package operate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/internal/retention"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// Defaults and limits of Retention.
const (
	defaultRetentionBatch = 100
	defaultRetentionRate  = 200
	maxRetentionRules     = 100
	// MaxRetentionRate is the highest rate of retention, in instances a second.
	MaxRetentionRate = 10_000
)

// RetentionRule says how long ended instances stay.
type RetentionRule struct {
	Names    []string        `json:"names,omitempty"`    // of orchestrations; none: all that no earlier rule names
	Statuses []client.Status `json:"statuses,omitempty"` // of ended instances; none: all
	Age      time.Duration   `json:"age"`                // since the end, at least MinPruneAge; orchestration.Off: they stay for ever
}

// TrimRule says how long the histories of old executions stay, of instances that continue as new.
type TrimRule struct {
	Age  time.Duration `json:"age"`  // since the next execution began, at least MinPruneAge
	Keep int           `json:"keep"` // executions before the current one that stay, 1 to 1,000; 0: 1
}

// Retention is what a store removes by itself, once an hour. The zero value removes nothing, which is the default.
type Retention struct {
	Rules []RetentionRule `json:"rules"`           // at most 100; an instance falls under the first one that matches it, or stays
	Trim  *TrimRule       `json:"trim,omitempty"`  // nil: old executions stay
	Audit time.Duration   `json:"audit,omitempty"` // age of audit records, at least MinPruneAge; 0: they stay
	Batch int             `json:"batch"`           // instances in one step, 1 to 1,000; 0: 100
	// Rate bounds how many instances are removed in a second, to MaxRetentionRate; 0: 200. A store under load is spared further: retention
	// leaves it alone for twenty times as long as each step took.
	Rate float64 `json:"rate"`
}

// Off reports whether nothing is removed.
func (r *Retention) Off() bool { return len(r.Rules) == 0 && r.Trim == nil && r.Audit == 0 }

// RetentionInfo says what a store removes by itself, and what the last round did.
type RetentionInfo struct {
	Retention

	On         bool      `json:"on"`
	SetBy      string    `json:"setBy,omitempty"` // the principal; "": the service, in its code
	SetAt      time.Time `json:"setAt,omitzero"`
	Rounds     int64     `json:"rounds"`           // since retention was switched on
	BeganAt    time.Time `json:"beganAt,omitzero"` // the last round
	EndedAt    time.Time `json:"endedAt,omitzero"` // zero while it goes on
	Instances  int64     `json:"instances"`        // that it removed; exact after a crash, too, see Retention
	Executions int64     `json:"executions"`
	Records    int64     `json:"records"` // of the audit
	Freed      int64     `json:"freed"`   // bytes given back to the disk; those of a step that was interrupted are missing
	Problem    string    `json:"problem,omitempty"`
}

// SetRetention stores what the store removes by itself, in place of what was set before. The zero value switches retention off. Nodes of this
// release do the work; a node of an older one leaves it to them.
//
// The runs that schedules must find, and what goes on, stay: see Prune. Errors are client.ErrInvalid, client.ErrForbidden, client.ErrOutcomeUnknown,
// an error that wraps errors.ErrUnsupported for a store without provider.Keeper, or the error of ctx.
func (o *Operator) SetRetention(ctx context.Context, r Retention) error {
	const op = "setting the retention"
	if err := o.usable(ctx); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	rules, err := r.stored()
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	if p := o.caller.Principal; p != nil {
		rules.By = p.Name
	}
	text, err := json.Marshal(rules)
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	a := access.Act{Kind: string(client.ActRetention), Op: op, Other: "retention", Detail: string(text)}
	return o.caller.Perform(ctx, &a, func(ctx context.Context) error {
		if err := o.putRules(ctx, op, text); err != nil {
			return err
		}
		if rules.Off() {
			return o.wakeRetention(ctx, op, false)
		}
		return o.wakeRetention(ctx, op, true)
	})
}

// RunRetention begins a round now. It does not wait for it: see Retention. Without rules it returns client.ErrNotFound. Other errors are
// those of SetRetention.
func (o *Operator) RunRetention(ctx context.Context) error {
	const op = "running the retention"
	if err := o.usable(ctx); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	a := access.Act{Kind: string(client.ActRetention), Op: op, Other: "retention", Detail: "run"}
	return o.caller.Perform(ctx, &a, func(ctx context.Context) error {
		rules, _, err := o.rules(ctx, op)
		if err != nil {
			return err
		}
		if rules.Off() {
			return fmt.Errorf("%s: %w: there are no rules; set some with SetRetention", op, client.ErrNotFound)
		}
		return o.wakeRetention(ctx, op, true)
	})
}

// Retention returns what the store removes by itself, and what the last round did. Its counts are exact, although nodes may have crashed
// meanwhile. Deletions by others just when a node crashed may be among them.
func (o *Operator) Retention(ctx context.Context) (RetentionInfo, error) {
	const op = "reading the retention"
	if err := o.usable(ctx); err != nil {
		return RetentionInfo{}, fmt.Errorf("%s: %w", op, err)
	}
	rules, at, err := o.rules(ctx, op)
	if err != nil {
		return RetentionInfo{}, err
	}
	info := RetentionInfo{Retention: retentionOf(&rules), On: !rules.Off(), SetBy: rules.By, SetAt: at.Std()}
	if at == 0 {
		info.SetAt = time.Time{}
	}
	res, err := access.Read(ctx, o.caller.Store, op, o.caller.Store.Get, provider.GetRequest{ID: retentionID, Value: retention.ValueKey})
	if err != nil && !errors.Is(err, provider.ErrNotFound) {
		return info, access.Explain(op, 0, err)
	}
	if err != nil || res.Instance.Name != reserved.Retention {
		return info, nil //nolint:nilerr // no round has begun
	}
	if res.Value == nil {
		if res.Instance.HistoryLength > 0 && !res.Instance.Status.Ended() {
			info.Problem = "a node of an older release makes the first round, and shows nothing before its first step is done"
		}
		return info, nil
	}
	var v retention.View
	if err := json.Unmarshal(res.Value.Value, &v); err != nil {
		return info, fmt.Errorf("%s: %w", op, err)
	}
	info.Rounds, info.BeganAt, info.EndedAt, info.Problem = v.Rounds, v.Began, v.Ended, v.Problem
	info.Instances, info.Executions, info.Records, info.Freed = v.Instances, v.Executions, v.Audit, v.Freed
	return info, nil
}

// retentionID is the instance that retention runs in.
const retentionID = reserved.IDPrefix + "retention"

// stored checks the rules and returns them in the form of the storage.
func (r *Retention) stored() (retention.Rules, error) {
	rules := retention.Rules{Audit: r.Audit, Batch: r.Batch, Rate: r.Rate}
	if rules.Batch == 0 {
		rules.Batch = defaultRetentionBatch
	}
	if rules.Rate == 0 {
		rules.Rate = defaultRetentionRate
	}
	switch {
	case len(r.Rules) > maxRetentionRules:
		return rules, fmt.Errorf("%w: %d rules: give at most %d", client.ErrInvalid, len(r.Rules), maxRetentionRules)
	case rules.Batch < 1 || rules.Batch > provider.MaxBatch:
		return rules, fmt.Errorf("%w: batch %d: give 1 to %d, or 0 for %d", client.ErrInvalid, r.Batch, provider.MaxBatch, defaultRetentionBatch)
	case !(rules.Rate > 0 && rules.Rate <= MaxRetentionRate):
		return rules, fmt.Errorf("%w: rate %v: give instances a second, at most %d, or 0 for %d", client.ErrInvalid, r.Rate, MaxRetentionRate, defaultRetentionRate)
	case r.Audit != 0:
		if err := checkRetentionAge(r.Audit); err != nil {
			return rules, fmt.Errorf("audit: %w", err)
		}
	}
	if r.Trim != nil {
		if err := checkRetentionAge(r.Trim.Age); err != nil {
			return rules, fmt.Errorf("trim: %w", err)
		}
		if r.Trim.Keep < 0 || r.Trim.Keep > provider.MaxBatch {
			return rules, fmt.Errorf("trim: %w: keep %d: give 1 to %d, or 0 for 1", client.ErrInvalid, r.Trim.Keep, provider.MaxBatch)
		}
		rules.Trim = &retention.Trim{Age: r.Trim.Age, Keep: max(r.Trim.Keep, 1)}
	}
	for n := range r.Rules {
		rule, err := r.Rules[n].stored()
		if err != nil {
			return rules, fmt.Errorf("rule %d: %w", n+1, err)
		}
		rules.Rules = append(rules.Rules, rule)
	}
	return rules, nil
}

// checkRetentionAge refuses an age below a day.
func checkRetentionAge(age time.Duration) error {
	if age < MinPruneAge {
		return fmt.Errorf("%w: age %v is less than %v, within which a repeated start must find its instance: give more", client.ErrInvalid, age, MinPruneAge)
	}
	return nil
}

func (r *RetentionRule) stored() (retention.Rule, error) {
	rule := retention.Rule{Names: r.Names, Age: r.Age}
	if r.Age == orchestration.Off {
		rule.Age = retention.Forever
	} else if err := checkRetentionAge(r.Age); err != nil {
		return rule, err
	}
	if err := checkNames("Names", r.Names); err != nil {
		return rule, err
	}
	p := Pruning{Age: MinPruneAge, Statuses: r.Statuses}
	req, err := p.request()
	rule.Statuses = req.Statuses
	return rule, err
}

// retentionOf returns stored rules in the form of this package.
func retentionOf(rules *retention.Rules) Retention {
	r := Retention{Rules: []RetentionRule{}, Audit: rules.Audit, Batch: rules.Batch, Rate: rules.Rate}
	if rules.Trim != nil {
		r.Trim = &TrimRule{Age: rules.Trim.Age, Keep: rules.Trim.Keep}
	}
	for _, rule := range rules.Rules {
		one := RetentionRule{Names: slices.Clone(rule.Names), Age: rule.Age}
		if rule.Age == retention.Forever {
			one.Age = orchestration.Off
		}
		for _, s := range rule.Statuses {
			one.Statuses = append(one.Statuses, client.Status(s.String()))
		}
		r.Rules = append(r.Rules, one)
	}
	return r
}

// rules reads the stored rules. There are none before the first SetRetention.
func (o *Operator) rules(ctx context.Context, op string) (rules retention.Rules, at provider.Time, err error) {
	res, err := access.Read(ctx, o.caller.Store, op, o.caller.Store.Record, provider.RecordRequest{
		Action: provider.RecordGet, Namespace: retention.Space, Key: retention.Record,
	})
	if errors.Is(err, provider.ErrNotFound) {
		return rules, 0, nil
	}
	if err == nil {
		at = res.Records[0].UpdatedAt
		err = json.Unmarshal(res.Records[0].Value, &rules)
	}
	if err != nil {
		return rules, 0, access.Explain(op, 0, err)
	}
	return rules, at, nil
}

// putRules stores the rules. The last call wins.
func (o *Operator) putRules(ctx context.Context, op string, text []byte) error {
	put := provider.RecordRequest{Action: provider.RecordPut, Namespace: retention.Space, Key: retention.Record, Value: text}
	for {
		_, err := access.Read(ctx, o.caller.Store, op, o.caller.Store.Record, put)
		if !errors.Is(err, provider.ErrConflict) {
			return explainAny(op, err)
		}
		get := put
		get.Action, get.Value = provider.RecordGet, nil
		res, err := access.Read(ctx, o.caller.Store, op, o.caller.Store.Record, get)
		if put.Expect = 0; err == nil {
			if put.Expect = res.Records[0].Version; string(res.Records[0].Value) == string(text) {
				return nil // also an earlier try
			}
		} else if !errors.Is(err, provider.ErrNotFound) {
			return access.Explain(op, 0, err)
		}
	}
}

func explainAny(op string, err error) error {
	if err == nil {
		return nil
	}
	return access.Explain(op, 0, err)
}

// wakeRetention begins a round. It starts the orchestration if that does not run and start is set. Its callers perform it within their act.
func (o *Operator) wakeRetention(ctx context.Context, op string, start bool) error {
	on := access.Target{ID: retentionID}
	if res, err := o.caller.Store.Instance(ctx, on, op, false); err == nil && !res.Instance.Status.Ended() && res.Instance.Name != reserved.Retention {
		return fmt.Errorf("%s: %w: it has the ID that the retention needs, so no round runs: delete it", op,
			&client.ExistsError{ID: retentionID, Key: res.Instance.Key, Status: res.Instance.Status})
	}
	err := o.caller.Store.Post(ctx, &on, op, "repeat it, which does no harm", engine.Message(
		&history.EventReceived{Name: retention.Control, Payload: []byte(`"run"`), RequestID: uuid.NewString()}, 0, 0))
	gone := errors.Is(err, client.ErrNotFound) || errors.Is(err, client.ErrEnded)
	if !gone || !start {
		if gone {
			err = nil
		}
		return err
	}
	_, err = o.caller.StartSystem(ctx, access.SystemStart{
		Name: reserved.Retention, ID: retentionID, Policy: provider.IDReplaceEnded, Input: retention.State{}, WithinAct: true,
	})
	if errors.Is(err, client.ErrExists) {
		return nil // another call has started it
	}
	return err
}
