package validations

import "github.com/perdure/perdure/provider"

func brokenLevels() []brokenRule {
	return []brokenRule{
		{name: "a message does not raise the level", caught: "send/raises-the-level", breaks: sends(needsNoLevel)},
		{name: "a level is one too low to keep others away", caught: "send/level-keeps-old-nodes-away", breaks: fetches(readsOneMore)},
		{name: "a message of a commit does not raise the level", caught: "deliver/raises-the-level", breaks: deliversWithoutLevel},
		{name: "an execution that continues with messages has a lower level", caught: "execution/level-of-what-waits", breaks: showsLowerLevel},
		{name: "an execution that continues forgets the level of its last turn", caught: "execution/level-of-what-waits", breaks: commits(forgetsTurnLevel)},
		{name: "a reset with messages lowers the level", caught: "steer/reset-level-of-what-waits", breaks: steered(resetsLevel)},
		{name: "a message in a transaction does not raise the level", caught: "transactions/send-level", breaks: sendsInWithoutLevel},
	}
}

// sends changes the requests of Send.
func sends(change func(*provider.SendRequest)) func(*mutant) {
	return func(m *mutant) { m.send.before(change) }
}

func forgetsTurnLevel(req *provider.CommitTurnRequest) {
	if req.Next != nil {
		req.EngineLevel = 0
	}
}

func needsNoLevel(req *provider.SendRequest) { req.Message.EngineLevel = 0 }

func readsOneMore(req *provider.FetchTurnsRequest) {
	if req.EngineLevel == 2 {
		req.EngineLevel = 3
	}
}

func deliversWithoutLevel(m *mutant) {
	m.commit.before(func(req *provider.CommitTurnRequest) {
		for n := range req.Sends {
			req.Sends[n].Message.EngineLevel = 0
		}
	})
}

func showsLowerLevel(m *mutant) {
	m.get.after(func(_ provider.GetRequest, res *provider.GetResult, _ *error) {
		if i := &res.Instance; i.Execution > 1 && i.InboxMessages > 0 && i.EngineLevel > 2 {
			i.EngineLevel = 2
		}
	})
}

func resetsLevel(req provider.SteerRequest, res *provider.SteerResult) {
	if req.Action == provider.SteerReset {
		res.Instance.EngineLevel = req.EngineLevel
	}
}

func sendsInWithoutLevel(m *mutant) {
	m.sendIn.before(func(req *sendInRequest) { req.Message.EngineLevel = 0 })
}
