// Package runtime has signatures of the real one.
package runtime

import (
	"context"

	"github.com/perdure/perdure/orchestration"
)

type Registry struct{}

type RegisterOption interface {
	ActivitiesOption
	register()
}

type ActivitiesOption interface{ activities() }

func AddOrchestration[In, Out any](r *Registry, fn func(*orchestration.Context, In) (Out, error)) error {
	panic("stub")
}

func AddActivity[In, Out any](r *Registry, fn func(context.Context, In) (Out, error), opts ...RegisterOption) error {
	panic("stub")
}

func AddActivities(r *Registry, receiver any, opts ...ActivitiesOption) error { panic("stub") }

func Prefix(prefix string) ActivitiesOption { panic("stub") }

func Except(methods ...string) ActivitiesOption { panic("stub") }
