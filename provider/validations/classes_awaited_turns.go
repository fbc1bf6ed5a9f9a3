package validations

import (
	"maps"

	"github.com/perdure/perdure/provider"
)

// causes prepare something under an ID that no fetch may take, and return what makes it fetchable. The key says what that is.
type causes map[string]func(id string) func()

// turnEvents prepare an instance.
func turnEvents(t *trial) causes {
	all := messageEvents(t)
	maps.Copy(all, freeingEvents(t))
	return all
}

// messageEvents give an instance a message.
func messageEvents(t *trial) causes {
	return causes{
		"message": func(id string) func() { i := t.begin(id); return func() { t.send(i.Key, text("m")) } },
		"message of a commit": func(id string) func() {
			return t.committing(id, func(r *provider.CommitTurnRequest, to provider.Instance) {
				r.Sends = []provider.OutMessage{{Key: to.Key, Message: text("m")}}
			})
		},
		"own message": func(id string) func() { i := t.begin(id); return func() { t.commit(rich(i)) } },
		"refused message": func(id string) func() {
			i := t.begin(id)
			return func() {
				req, m := next(i), text("refused")
				req.Sends = []provider.OutMessage{{ID: "nobody", Message: text("m"), Refused: &m}}
				t.commit(req)
			}
		},
		"timer": func(id string) func() {
			i := t.begin(id)
			return func() {
				req := next(i)
				req.Timers = []provider.Timer{{EventID: 1, Due: 1}}
				t.commit(req)
			}
		},
		"delayed message": func(id string) func() {
			i, m := t.begin(id), text("m")
			m.Delay = short
			return func() { t.send(i.Key, m) }
		},
		"continuation": func(id string) func() {
			i, m := t.begin(id), text("next")
			return func() {
				req := next(i)
				req.Next = &provider.NextExecution{CodeVersion: codeVersion, Message: &m}
				t.commit(req)
			}
		},
		"result": func(id string) func() {
			task, token := handedOff()
			i := t.begin(id, func(r *provider.CommitTurnRequest) { r.Tasks = []provider.NewTask{task} })
			held := leasedTask{provider.LeasedTask{TaskRef: ref(i, 1), Attempt: 1}, token}
			return func() { t.ok(t.report(held, provider.TaskComplete).Err) }
		},
		"notice of a child": func(id string) func() {
			i := t.begin(id)
			child := t.create("child-"+id, under(i), func(r *provider.CreateRequest) { r.Name = "child" })
			return func() { t.steer(child.Key, provider.SteerTerminate, notices) }
		},
		"notice of a parent": func(id string) func() {
			parent := t.begin("parent-" + id)
			t.create(id, under(parent), func(r *provider.CreateRequest) { r.Name = "setup-" + id })
			t.commit(commitOf(t.fetchOne(named(id))))
			return func() { t.steer(parent.Key, provider.SteerTerminate, notices) }
		},
		"redriven message": func(id string) func() {
			i := t.begin(id)
			t.send(i.Key, text("m"))
			t.steer(i.Key, provider.SteerTerminate)
			t.steer(i.Key, provider.SteerReset)
			t.commit(commitOf(t.fetchOne(named(id))))
			letter := t.lettersOf(i.Key)[0].ID
			return func() { actOnLetters(t, provider.DeadLettersRedrive, letter) }
		},
	}
}

// freeingEvents end what keeps an instance with a message from being fetched.
func freeingEvents(t *trial) causes {
	return causes{
		"resume": func(id string) func() {
			i := t.beginVisible(id)
			t.steer(i.Key, provider.SteerSuspend)
			return func() { t.steer(i.Key, provider.SteerResume) }
		},
		"unblock": func(id string) func() {
			u := t.takenTurn(id)
			t.block(u, true)
			return func() { t.steer(u.Instance.Key, provider.SteerUnblock) }
		},
		"retry of a failed turn": func(id string) func() { u := t.takenTurn(id); return func() { t.block(u, false) } },
		"reset":                  func(id string) func() { i := t.begin(id); return func() { t.steer(i.Key, provider.SteerReset) } },
		"release":                func(id string) func() { u := t.takenTurn(id); return func() { t.ok(t.release(u)) } },
		"release of a token": func(id string) func() {
			u := t.takenTurn(id)
			return func() {
				_, err := t.ReleaseTurns(t.ctx, provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{{Kind: provider.ReleaseToken, Token: u.token}}})
				t.ok(err)
			}
		},
		"delayed release": func(id string) func() {
			u := t.takenTurn(id)
			return func() { t.ok(t.release(u, func(r *provider.TurnRelease) { r.Delay = short })) }
		},
		"expiry of a lease": func(id string) func() { t.takenTurn(id, briefly); return func() {} },
		"end of stickiness": func(id string) func() {
			i := t.begin(id, func(r *provider.CommitTurnRequest) { r.Owner, r.Sticky = "node-b", long })
			t.send(i.Key, text("m"))
			item := provider.TurnRelease{Kind: provider.ReleaseUnpin, Key: i.Key, Owner: "node-b"}
			return func() {
				_, err := t.ReleaseTurns(t.ctx, provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{item}})
				t.ok(err)
			}
		},
		"expiry of stickiness": func(id string) func() {
			i := t.begin(id, func(r *provider.CommitTurnRequest) { r.Owner, r.Sticky = "node-b", short })
			t.send(i.Key, text("m"))
			return func() {}
		},
	}
}

// beginVisible makes an instance that has a message.
func (t *trial) beginVisible(id string) provider.Instance {
	i := t.begin(id)
	t.send(i.Key, text("m"))
	return i
}

// takenTurn fetches a turn of a new instance.
func (t *trial) takenTurn(id string, changes ...func(*provider.FetchTurnsRequest)) turn {
	t.beginVisible(id)
	return t.fetchOne(append(changes, named(id))...)
}

// committing makes an instance, and returns the commit of another one that acts on it.
func (t *trial) committing(id string, change func(r *provider.CommitTurnRequest, to provider.Instance)) func() {
	to, by := t.begin(id), t.begin("by-"+id)
	return func() {
		req := next(by)
		change(&req, to)
		t.commit(req)
	}
}
