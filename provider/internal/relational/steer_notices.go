package relational

import "github.com/perdure/perdure/provider"

// sendNotices delivers the notices of a termination, as the commit that ends the instance would. It comes before the
// end, which moves the refusals to the dead letters.
func (s steering) sendNotices() error {
	if len(s.req.Notices) == 0 {
		return nil
	}
	end := provider.CommitTurnRequest{Sends: s.req.Notices, Status: provider.StatusTerminated}
	return turnCommit{s.t, s.h, &end}.send()
}
