package validations

import "github.com/perdure/perdure/provider"

type answer struct {
	payload string
	err     error
}

// parkedAsk asks a question in the background.
func parkedAsk(t *trial, key provider.UUID) func() answer {
	return parked(t, func() answer {
		res, err := t.Ask(t.ctx, provider.AskRequest{Key: key, AskID: askID(key), Payload: []byte("question"), Wait: long})
		return answer{string(res.Payload), err}
	})
}

func fetchAsksRequest() provider.FetchAsksRequest {
	return provider.FetchAsksRequest{
		Capabilities: []provider.Capability{{Name: orchestration, CodeVersion: codeVersion}}, Max: 10, Lease: long,
	}
}

// fetchAsk waits for the only question.
func fetchAsk(t *trial, changes ...func(*provider.FetchAsksRequest)) provider.OpenAsk {
	req := fetchAsksRequest()
	req.Wait = long
	for _, change := range changes {
		change(&req)
	}
	res, err := t.FetchAsks(t.ctx, req)
	t.ok(err)
	t.mustf(len(res.Asks) == 1, "got %d questions, want 1", len(res.Asks))
	return res.Asks[0]
}

func answerAsk(t *trial, id provider.UUID) error {
	return t.Answer(t.ctx, provider.AnswerRequest{AskID: id, Payload: []byte("answer")})
}
