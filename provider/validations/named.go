package validations

import "github.com/perdure/perdure/provider"

// createTwice makes two instances under the ID i; the first one has ended. If a request names both the ID and a key, the key
// counts.
func createTwice(t *trial) (old, now provider.Instance) {
	old = t.end(t.begin("i"))
	return old, t.create("i", replace)
}

func getNamed(t *trial) {
	i, j := t.create("i"), t.create("j")
	res, err := t.Get(t.ctx, provider.GetRequest{ID: "j", Key: i.Key})
	t.ok(err)
	is(t, "the instance under the key", res.Instance.Key, i.Key)
	is(t, "the instance under the ID", t.byID("j").Key, j.Key)
}

func steerNamed(t *trial) {
	old, now := createTwice(t)
	req := provider.SteerRequest{ID: "i", Key: old.Key, Action: provider.SteerSuspend, Commit: unique()}
	t.unchanged(now.Key, func() {
		_, err := t.Steer(t.ctx, req)
		t.want(err, provider.ErrEnded)
	})
	req.Key = provider.UUID{}
	res, err := t.Steer(t.ctx, req)
	t.ok(err)
	t.checkf(res.Instance.Key == now.Key, "the ID names %s, want %s", res.Instance.Key, now.Key)
}

func sendNamed(t *trial) {
	old, now := createTwice(t)
	_, err := t.Send(t.ctx, provider.SendRequest{ID: "i", Key: old.Key, Message: text("m")})
	t.want(err, provider.ErrEnded)
	res, err := t.Send(t.ctx, provider.SendRequest{ID: "i", Message: text("m")})
	t.ok(err)
	t.checkf(res.Key == now.Key && t.get(now.Key).InboxMessages == 2, "sent to %s, want the current instance", res.Key)
}

func askNamed(t *trial) {
	old, now := createTwice(t)
	for _, to := range []struct{ key, want provider.UUID }{{old.Key, old.Key}, {provider.UUID{}, now.Key}} {
		answered := parked(t, func() error {
			_, err := t.Ask(t.ctx, provider.AskRequest{ID: "i", Key: to.key, AskID: askID(to.want), Wait: long})
			return err
		})
		open := fetchAsk(t, func(r *provider.FetchAsksRequest) {
			r.Capabilities = append(r.Capabilities, provider.Capability{Name: "setup-i", CodeVersion: codeVersion})
		})
		t.checkf(open.Instance.Key == to.want, "asked %s, want %s", open.Instance.Key, to.want)
		t.ok(answerAsk(t, open.AskID))
		t.ok(answered())
	}
}

func deleteNamed(t *trial) {
	old, now := createTwice(t)
	_, err := t.Delete(t.ctx, provider.DeleteRequest{ID: "i", Key: old.Key})
	t.ok(err)
	t.gone(old.Key)
	t.get(now.Key)
	_, err = t.Delete(t.ctx, provider.DeleteRequest{ID: "i", Force: true})
	t.ok(err)
	t.gone(now.Key)
}

func deliverNamed(t *trial) {
	old, now := createTwice(t)
	refused := text("refused")
	t.begin("sender", func(r *provider.CommitTurnRequest) {
		r.Sends = []provider.OutMessage{
			{ID: "i", Key: old.Key, Message: text("to old"), Refused: &refused},
			{ID: "i", Message: text("to now")},
		}
	})
	u := t.fetchOne(named("sender"))
	t.checkf(u.payloads() == "refused", "the sender got %q, want the refusal for the old instance", u.payloads())
	u = t.fetchOne()
	t.checkf(u.Instance.Key == now.Key && u.payloads() == "start to now", "%s has %q, want %s with \"start to now\"", u.Instance.Key, u.payloads(), now.Key)
}
