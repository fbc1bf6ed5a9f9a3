package validations

import (
	"context"

	"github.com/perdure/perdure/provider"
)

func brokenMoves() []brokenRule {
	return []brokenRule{
		{name: "a move stores no version", caught: "steer/move", breaks: steers(movesNowhere)},
		{name: "a move drops the engine level", caught: "steer/move-level", breaks: steers(dropsLevel)},
		{name: "a move renames", caught: "steer/move-name", breaks: steers(func(req *provider.SteerRequest) { req.Name = "" })},
		{name: "a move drops the name", caught: "steer/move-keeps-name", breaks: moveDropsName},
		{name: "a move unblocks", caught: "steer/move-keeps", breaks: moveUnblocks},
		{name: "a reset ignores the expected version", caught: "steer/expected", breaks: steers(ignoresExpected)},
		{name: "a repeated move is compared again", caught: "steer/expected-again", breaks: comparesAgain},
		{name: "a suspension may expect a version", caught: "steer/expected-elsewhere", breaks: steers(expectsAnything)},
	}
}

func movesNowhere(req *provider.SteerRequest) {
	if req.Action == provider.SteerMove && req.CodeVersion == "v2" {
		req.CodeVersion = codeVersion
	}
}

func moveDropsName(m *mutant) {
	m.steer.after(func(req provider.SteerRequest, res *provider.SteerResult, _ *error) {
		if req.Action == provider.SteerMove && req.CodeVersion == "v2" {
			res.Instance.Name = ""
		}
	})
}

func moveUnblocks(m *mutant) {
	m.steer.after(func(req provider.SteerRequest, res *provider.SteerResult, err *error) {
		if req.Action == provider.SteerMove && *err == nil && res.Instance.Blocked != nil {
			ctx := context.Background()
			*res, *err = m.Provider.Steer(ctx, provider.SteerRequest{Key: req.Key, Action: provider.SteerUnblock, Commit: unique()})
		}
	})
}

func ignoresExpected(req *provider.SteerRequest) {
	if req.Action == provider.SteerReset {
		req.Expected = provider.UUID{}
	}
}

func comparesAgain(m *mutant) {
	m.steer.before(func(req *provider.SteerRequest) {
		if stored := m.stored(context.Background(), req.Key); !req.Expected.IsZero() && stored.Version == req.Commit {
			req.Commit = unique()
		}
	})
}

func expectsAnything(req *provider.SteerRequest) {
	if req.Action == provider.SteerSuspend {
		req.Expected = provider.UUID{}
	}
}

func dropsLevel(req *provider.SteerRequest) {
	if req.Action == provider.SteerMove {
		req.EngineLevel = 0
	}
}
