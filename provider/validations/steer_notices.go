package validations

import "github.com/perdure/perdure/provider"

func steerNoticeCases() []testCase {
	const (
		children = "It delivers ChildNotice to every running child with close policy Cancel, Suspended ones included."
		notices  = "It delivers Notices as a commit delivers its Sends; a refusal goes to the dead letters."
	)
	return []testCase{
		{name: "terminate-tells-each-child", run: steerEachChild, rule: children},
		{name: "terminate-tells-no-grandchild", run: steerGrandchild, rule: "Grandchildren get none."},
		{name: "notices", run: steerNotices, rule: notices},
		{name: "notices-refused", run: steerNoticesRefused, rule: notices},
		{name: "notices-repeated", run: steerNoticesAgain, rule: notices},
	}
}

// steerEachChild has more children than one, some of them held back in ways that keep them from making a turn.
func steerEachChild(t *trial) {
	same := func(*provider.Start) {}
	i := beginFamily(t, same, same, same, same)
	t.steer(t.byID("b").Key, provider.SteerSuspend)
	for _, u := range t.fetch() {
		if u.Instance.ID == "c" {
			t.block(u, true)
		}
	}
	t.steer(i.Key, provider.SteerTerminate, notices)
	for _, id := range []string{"a", "b", "c", "d"} {
		got := t.byID(id)
		is(t, "messages of child "+id, got.InboxMessages, 2)
	}
	is(t, "the status of a suspended child", t.byID("b").Status, provider.StatusSuspended)
}

func steerGrandchild(t *trial) {
	i := beginFamily(t, func(*provider.Start) {})
	req := commitOf(t.fetchOne(), "started")
	child := t.byID("a")
	req.Starts = []provider.Start{startOf(child, "grandchild")}
	t.commit(req)
	before := t.byID("grandchild").InboxMessages
	t.steer(i.Key, provider.SteerTerminate, notices)
	is(t, "messages of the child", t.byID("a").InboxMessages, 1)
	is(t, "messages of the grandchild", t.byID("grandchild").InboxMessages, before)
}

func steerNotices(t *trial) {
	i, byKey, byID := t.begin("i"), t.begin("k"), t.begin("n")
	t.steer(byID.Key, provider.SteerSuspend)
	fetched := parked(t, func() turn { return t.fetchOne(named("k")) })
	t.steer(i.Key, provider.SteerTerminate, func(r *provider.SteerRequest) {
		first := provider.NewMessage{Kind: 9, Execution: 4, EventID: 5, Payload: []byte("one")}
		r.Notices = []provider.OutMessage{{Key: byKey.Key, Message: first}, {ID: "n", Message: text("two")}, {Key: byKey.Key, Message: text("three")}}
	})
	u := fetched()
	is(t, "the notices by key", u.payloads(), "one three")
	t.checkf(u.Messages[0].Kind == 9 && u.Messages[0].Execution == 4 && u.Messages[0].EventID == 5, "got %+v, want the fields of the notice", u.Messages[0])
	t.steer(byID.Key, provider.SteerResume)
	is(t, "the notice by ID", t.fetchOne(named("n")).payloads(), "two")
}

func steerNoticesRefused(t *trial) {
	i, ended := t.begin("i"), t.end(t.begin("ended"))
	refused := text("refused")
	t.steer(i.Key, provider.SteerTerminate, func(r *provider.SteerRequest) {
		r.Notices = []provider.OutMessage{
			{Key: ended.Key, Message: text("lost"), Refused: &refused},
			{ID: "nobody", Message: text("lost"), Refused: &refused},
			{Key: i.Key, Message: text("lost"), Refused: &refused},
			{ID: "nobody", Message: text("lost")},
		}
	})
	list := t.letters()
	for _, l := range list {
		t.checkf(l.Key == i.Key && string(l.Payload) == "refused", "the dead letter is %+v, want the refusal, of the sender", l)
	}
	is(t, "dead letters", len(list), 3)
}

func steerNoticesAgain(t *trial) {
	i, to := t.begin("i"), t.begin("to")
	req := provider.SteerRequest{
		Key: i.Key, Action: provider.SteerTerminate, Commit: unique(), Notices: []provider.OutMessage{{Key: to.Key, Message: text("m")}},
	}
	for range 2 {
		_, err := t.Steer(t.ctx, req)
		t.ok(err)
	}
	req.Commit = unique()
	_, err := t.Steer(t.ctx, req)
	t.want(err, provider.ErrEnded)
	is(t, "messages", t.get(to.Key).InboxMessages, 1)
}
