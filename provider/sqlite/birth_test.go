package sqlite

import (
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/perdure/perdure/provider"
)

// A create with a first turn returns what is stored, whatever that turn does.
func TestFirstTurnIsStoredWithItsInstance(t *testing.T) {
	p := openTest(t, filepath.Join(t.TempDir(), "birth.db"), Options{})
	parent := create(t, p, "parent", "nobody")
	c := &chain{p: p, key: newKey(), version: newToken()}
	req := provider.CreateRequest{
		ID: "begun", Key: c.key, Commit: c.version, Name: "begun", RequestID: "once", EngineLevel: 2, Message: provider.NewMessage{Payload: payload},
		Parent:     provider.Parent{Key: parent.Key, ID: parent.ID, Execution: 1, EventID: 7, Close: provider.CloseAbandon},
		Attributes: []provider.Attribute{{Name: "a", Kind: provider.AttributeInt, Number: 1}, {Name: "b", Kind: provider.AttributeInt, Number: 2}},
	}
	first := c.begin()
	first.EngineLevel, first.CustomStatus = 3, []byte("half way")
	first.Attributes = []provider.Attribute{{Name: "b", Kind: provider.AttributeInt, Number: 3}}
	first.Timers = []provider.Timer{{EventID: 3, Kind: 4, Payload: payload, Due: provider.TimeOf(time.Now().Add(time.Hour))}}
	first.Owner, first.Sticky = "node", time.Hour
	req.First = &first
	got, err := p.Create(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := p.Get(t.Context(), provider.GetRequest{Key: c.key})
	if err != nil || !got.Begun || !reflect.DeepEqual(got.Instance, stored.Instance) {
		t.Errorf("answered (begun: %v):\n%+v\nstored (%v):\n%+v", got.Begun, got.Instance, err, stored.Instance)
	}
	if in := stored.Instance; in.HistoryLength != 2 || in.InboxMessages != 1 || in.ReadyAt != first.Timers[0].Due || in.EngineLevel != 3 {
		t.Errorf("the first turn is not there: %+v", in)
	}
	if err := c.step(t); err != nil {
		t.Errorf("the step after it: %v", err)
	}
	again, err := p.Create(t.Context(), req)
	if err != nil || !again.Created || again.Begun {
		t.Errorf("the same again, after another commit: %+v, %v", again, err)
	}
}
