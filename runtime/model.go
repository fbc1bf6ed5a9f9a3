package runtime

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestration/model"
	"github.com/perdure/perdure/provider"
)

// AddModel registers an execution model under all names that it claims, or under none: it refuses names in use, as AddOrchestration does. Calls
// by function come to it, too, if the function was defined under one of the names.
func AddModel(r *Registry, m model.Model) error {
	const what = "execution model"
	if r == nil || check.IsNil(m) {
		return r.refuse(what, "", errors.New("the model is nil: give one"))
	}
	names := m.Orchestrations()
	if len(names) == 0 {
		return r.refuse(what, "", errors.New("the model claims no names: let Orchestrations return one or more"))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	claimed := make(map[provider.Capability]orchestrationEntry, len(names))
	for _, n := range names {
		of := provider.Capability{Name: n.Name, CodeVersion: n.Version}
		if err := r.mayClaim(of, claimed); err != nil {
			return r.refuseLocked(what, n.Name, err)
		}
		claimed[of] = orchestrationEntry{body: bind.Orchestration(interpreter(m, n))}
	}
	if r.orchestrations == nil {
		r.orchestrations = make(map[provider.Capability]orchestrationEntry)
	}
	maps.Copy(r.orchestrations, claimed)
	return nil
}

// mayClaim refuses what a model cannot claim beside what is registered, and beside what it has claimed already. It needs r.mu.
func (r *Registry) mayClaim(of provider.Capability, claimed map[provider.Capability]orchestrationEntry) error {
	if err := checkShape[json.RawMessage, json.RawMessage]("orchestration", of.Name); err != nil {
		return err
	}
	if of.CodeVersion != "" {
		if err := check.Name("version", of.CodeVersion); err != nil {
			return err
		}
	}
	_, taken := r.orchestrations[of]
	_, twice := claimed[of]
	switch {
	case twice:
		return errors.New("the model claims it twice: let Orchestrations return it once")
	case taken && of.CodeVersion != "":
		return fmt.Errorf("version %s: %w", check.Quote(of.CodeVersion), errVersionTaken)
	case taken:
		return errTaken
	}
	return nil
}

// interpreter returns the function of an orchestration that a model runs.
func interpreter(m model.Model, of model.Name) func(*orchestration.Context, json.RawMessage) (json.RawMessage, error) {
	return func(ctx *orchestration.Context, input json.RawMessage) (json.RawMessage, error) {
		x := m.New(of)
		if h, ok := x.(model.EventHandler); ok {
			orchestration.HandleAnyEvent(ctx, h.HandleEvent)
		}
		if h, ok := x.(model.QueryHandler); ok {
			orchestration.HandleAnyQuery(ctx, h.AnswerQuery)
		}
		if h, ok := x.(model.UpdateHandler); ok {
			orchestration.HandleAnyUpdate(ctx, h.HandleUpdate, orchestration.Validate(h.ValidateUpdate))
		}
		return x.Run(ctx, input)
	}
}
