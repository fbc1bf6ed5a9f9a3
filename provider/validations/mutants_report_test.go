package validations

import (
	"context"

	"github.com/perdure/perdure/provider"
)

func brokenReport() []brokenRule {
	return []brokenRule{
		{
			name: "a report by a wrong token is said to be fine", caught: "report/wrong-token",
			breaks: func(m *mutant) {
				m.report.after(func(req provider.ReportTasksRequest, res *provider.ReportTasksResult, _ *error) {
					for i := range res.Items {
						if req.Items[i].Outcome == provider.TaskPark {
							res.Items[i].Err = nil
						}
					}
				})
			},
		},
		{
			name: "a release without a task releases nothing", caught: "report/release-all",
			breaks: func(m *mutant) {
				m.report.around(func(ctx context.Context, req provider.ReportTasksRequest, report reportMethod) (provider.ReportTasksResult, error) {
					if len(req.Items) == 1 && req.Items[0].Key.IsZero() {
						return provider.ReportTasksResult{Items: make([]provider.TaskReportResult, 1)}, nil
					}
					return report(ctx, req)
				})
			},
		},
	}
}
