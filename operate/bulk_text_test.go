package operate_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/provider"
)

// crowd is a store with a group of failures without end. Its disk is slow.
type crowd struct{ *provider.Full }

func (crowd) List(context.Context, provider.ListRequest) (provider.ListResult, error) {
	<-time.After(time.Second)
	return provider.ListResult{Instances: slices.Repeat([]provider.Instance{{Excerpt: []byte(`{"v":1,"text":"status 503"}`)}}, 10), Cursor: "more"}, nil
}

// A job looks for its text for a while, and does not say of what it has not read that nobody has the text.
func TestHazard160_ALookForATextIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := clienttest.NewWorld(t, client.Options{})
		o := operate.New(clienttest.New(t, crowd{provider.FullOf(w.Store)}, client.Options{Logger: slog.New(slog.DiscardHandler)}))
		job := operate.BulkJob{Act: client.ActDelete, Filter: client.Filter{FailureGroup: "1:all"}, Text: "status 404", Max: 1}
		_, err := o.StartBulk(t.Context(), job)
		clienttest.Want(t, err, "starting a bulk job: invalid request: none of the newest 100 instances that match failed with the text \"status 404\", "+
			"and to look further takes too long: take one that a preview shows", client.ErrInvalid)
	})
}
