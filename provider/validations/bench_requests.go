package validations

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/provider"
)

func sampleMessage() provider.NewMessage { return provider.NewMessage{Kind: 7, Payload: sample} }

func sampleCreate(name string) provider.CreateRequest {
	req := createRequest(unique().String())
	req.Name, req.Message = name, sampleMessage()
	return req
}

// fetchFor waits for the turn of the only instance with a name.
func fetchFor(ctx context.Context, p provider.Provider, name string) (turn, error) {
	req := fetchRequest()
	req.Capabilities[0].Name, req.Wait, req.Max = name, long, 1
	res, err := p.FetchTurns(ctx, req)
	if err == nil && len(res.Turns) != 1 {
		err = fmt.Errorf("got %d turns, want 1", len(res.Turns))
	}
	if err != nil {
		return turn{}, err
	}
	return turn{res.Turns[0], req.Token}, nil
}
