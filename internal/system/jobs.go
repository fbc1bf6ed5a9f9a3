package system

import (
	"github.com/perdure/perdure/client"
	form "github.com/perdure/perdure/internal/bulk"
	"github.com/perdure/perdure/internal/system/bulk"
)

// addJobs adds bulk jobs.
func addJobs(code *Code, c *client.Client) error {
	act(code, form.Step, bulk.Activities{Client: c}.Step)
	return orchestrate(code, bulk.V1())
}
