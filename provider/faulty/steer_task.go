package faulty

import (
	"context"

	"github.com/perdure/perdure/provider"
)

var _ provider.TaskSteerer = (*Provider)(nil)

// SteerTask implements provider.TaskSteerer.
func (p *Provider) SteerTask(ctx context.Context, req provider.SteerTaskRequest) (provider.SteerTaskResult, error) {
	s, ok := provider.As[provider.TaskSteerer](p.inner)
	if !ok {
		return provider.SteerTaskResult{}, provider.Lacking(string(SteerTask), "TaskSteerer")
	}
	return call(ctx, p, SteerTask, req, s.SteerTask)
}
