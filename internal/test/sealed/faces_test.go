package sealed

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/codec"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// noDigester is a codec of a user, which cannot make digests.
type noDigester struct{ codec.Codec }

// What lists show of an error is sealed. The key of a group is a digest that only the key of the codec makes, so that nobody finds the text by
// guessing; a codec that makes none leaves failures without groups. Who has the codec reads the excerpts, and equal ones are one text.
func TestHazard82_ExcerptsAreSealedAndGroupsAreDigests(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, store provider.Provider, _ func(t *testing.T) []byte) {
		if !provider.FeaturesOf(store).FailureGroups {
			if err := store.Close(); err != nil {
				t.Error(err)
			}
			t.Skip("the store keeps no excerpts")
		}
		raw := provider.FullOf(store)
		for _, c := range []struct {
			codec  codec.Codec
			prefix string // of the group
		}{{aes(t, "k1"), "1m-"}, {noDigester{aes(t, "k1")}, ""}} {
			e := enginetest.On(t, store, runtime.Options{Codec: c.codec})
			reg := runtime.NewRegistry()
			enginetest.Orchestration(t, reg, "fails", func(*octx, string) (string, error) { return "", errors.New(secret("declined")) })
			rt := e.Start(reg)
			cl, err := rt.Client(client.Options{})
			if err != nil {
				t.Fatal(err)
			}
			ids := []string{"a" + c.prefix, "b" + c.prefix}
			for _, id := range ids {
				h, err := client.StartNamed[string](t.Context(), cl, "fails", "", client.WithID(id))
				if err == nil {
					_, err = h.Wait(t.Context())
				}
				if _, ok := errors.AsType[*orchestration.Error](err); !ok {
					t.Fatal(err)
				}
				checkFace(t, raw, h.Key(), c.prefix)
			}
			if c.prefix != "" {
				checkOpened(t.Context(), t, raw, cl)
			} else {
				checkUngrouped(t, cl)
			}
			if err := rt.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}

// checkFace checks what is stored of one instance.
func checkFace(t *testing.T, raw *provider.Full, key provider.UUID, prefix string) {
	t.Helper()
	res, err := raw.Get(t.Context(), provider.GetRequest{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	in := &res.Instance
	plain := history.Failure{Message: secret("declined")}
	_, key1 := failure.FaceOf(&plain, "fails", "")
	if !history.IsSealed(in.Excerpt) || bytes.Contains(in.Excerpt, []byte(canary)) || in.FailureGroup == key1 {
		t.Errorf("the store has the excerpt %q and the group %q", in.Excerpt, in.FailureGroup)
	}
	if !strings.HasPrefix(in.FailureGroup, prefix) || (prefix == "") != (in.FailureGroup == "") {
		t.Errorf("the group is %q, want one that begins with %q", in.FailureGroup, prefix)
	}
}

// checkUngrouped checks that a client whose codec makes no digests says so. An empty list would say that nothing failed.
func checkUngrouped(t *testing.T, c *client.Client) {
	t.Helper()
	_, grouped := c.FailureGroups(t.Context(), client.FailureGroupsQuery{})
	_, listed := c.List(t.Context(), client.Filter{FailureGroup: "1m-a"}, client.Page{})
	_, counted := c.Count(t.Context(), client.Filter{FailureGroup: "1m-a"})
	for call, err := range map[string]error{"FailureGroups": grouped, "List": listed, "Count": counted} {
		if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "codec.Digester") {
			t.Errorf("%s: %v, want ErrUnsupported that names codec.Digester", call, err)
		}
	}
}

// checkOpened checks what a client with the codec gets.
func checkOpened(ctx context.Context, t *testing.T, raw *provider.Full, c *client.Client) {
	t.Helper()
	stored, err := raw.FailureGroups(ctx, provider.FailureGroupsRequest{})
	if err != nil || len(stored.Groups) != 1 || stored.Groups[0].Count != 2 {
		t.Fatalf("%+v, %v: want one group of two", stored, err)
	}
	groups, err := c.FailureGroups(ctx, client.FailureGroupsQuery{Group: stored.Groups[0].Group})
	if err != nil || len(groups.Items) != 1 {
		t.Fatalf("%+v, %v", groups, err)
	}
	if g := groups.Items[0]; len(g.Texts) != 1 || g.Texts[0].Text != secret("declined") || g.Texts[0].Count != 2 || g.Excerpt.Text != secret("declined") {
		t.Errorf("the group has %+v", g)
	}
}
