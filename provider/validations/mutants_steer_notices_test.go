package validations

import (
	"context"

	"github.com/perdure/perdure/provider"
)

func brokenNotices() []brokenRule {
	return []brokenRule{
		{name: "a termination passes over suspended children", caught: "steer/terminate-tells-each-child", breaks: tellsChosen(func(i provider.Instance) bool {
			return i.Status == provider.StatusRunning
		}, false)},
		{name: "a termination tells one child", caught: "steer/terminate-tells-each-child", breaks: tellsChosen(func(i provider.Instance) bool {
			return i.ID == "a"
		}, false)},
		{name: "a termination tells the grandchildren", caught: "steer/terminate-tells-no-grandchild", breaks: tellsChosen(nil, true)},
		{name: "a termination drops its last notice", caught: "steer/notices", breaks: steers(losesNotice)},
	}
}

// tellsChosen sends the child notices of a termination itself: to the children that match chooses, nil for all, or
// to their children, too.
func tellsChosen(match func(provider.Instance) bool, deeper bool) func(*mutant) {
	return func(m *mutant) {
		m.steer.around(func(ctx context.Context, req provider.SteerRequest, steer steerMethod) (provider.SteerResult, error) {
			notice := req.ChildNotice
			req.ChildNotice = nil
			res, err := steer(ctx, req)
			if err == nil && notice != nil {
				m.tellChosen(ctx, res.Instance.Key, *notice, match, deeper)
			}
			return res, err
		})
	}
}

func (m *mutant) tellChosen(ctx context.Context, parent provider.UUID, notice provider.NewMessage, match func(provider.Instance) bool, deeper bool) {
	res, _ := m.List(ctx, provider.ListRequest{Filter: provider.Filter{ParentKey: parent}})
	for _, child := range res.Instances {
		if child.Parent.Close == provider.CloseCancel && (match == nil || match(child)) {
			_, _ = m.Provider.Send(ctx, provider.SendRequest{Key: child.Key, Message: notice})
		}
		if deeper {
			m.tellChosen(ctx, child.Key, notice, match, deeper)
		}
	}
}

func losesNotice(req *provider.SteerRequest) {
	if n := len(req.Notices); n > 1 {
		req.Notices = req.Notices[:n-1]
	}
}
