package validations

import "github.com/perdure/perdure/provider"

func steerMoveCases() []testCase {
	const (
		move = "Move gives the current execution another CodeVersion. It ends the turn lease and the stickiness, so that a " +
			"node with that version fetches the instance at once."
		fenced = "Reset and Move can be fenced, because their caller has read the history first. With Expected, they return " +
			"[ErrConflict] if another Version is stored."
	)
	return []testCase{
		{name: "move", run: steerMove, rule: move},
		{name: "move-leased", run: steerMoveLeased, rule: move},
		{name: "move-wakes", run: steerMoveWakes, rule: move},
		{name: "move-keeps", run: steerMoveKeeps, rule: "Everything else stays, Blocked and Suspended included."},
		{name: "move-level", run: steerMoveLevel, rule: "Move: raises that of the current one"},
		{
			name: "move-name", run: steerMoveName,
			rule: "With Name it also gives the name back to an instance that has lost it. An instance of another name is refused with [ErrInvalid].",
		},
		{name: "move-keeps-name", run: steerMoveKeepsName, rule: "Move: of an instance that has lost its name; \"\" keeps the stored one"},
		{name: "expected", run: steerExpected, rule: fenced},
		{name: "expected-again", run: steerExpectedAgain, rule: "A repeat under the stored Version still succeeds."},
		{name: "expected-elsewhere", run: steerUnfenced, rule: fenced},
	}
}

// codeVersionOf limits a fetch to a version of the orchestration that begin created under "i".
func codeVersionOf(version string) func(*provider.FetchTurnsRequest) {
	return func(r *provider.FetchTurnsRequest) {
		r.Capabilities[0] = provider.Capability{Name: "setup-i", CodeVersion: version}
	}
}

func moveTo(version string) func(*provider.SteerRequest) {
	return func(r *provider.SteerRequest) { r.CodeVersion = version }
}

func steerMove(t *trial) {
	i := t.begin("i", func(r *provider.CommitTurnRequest) { r.Owner, r.Sticky = "node-b", long })
	t.send(i.Key, text("m"))
	got := t.steer(i.Key, provider.SteerMove, moveTo("v2"), func(r *provider.SteerRequest) { r.Event = []byte("moved") })
	t.checkf(got.CodeVersion == "v2" && got.Name == i.Name && got.Execution == 1 && got.Status == provider.StatusRunning && got.Version != i.Version,
		"got %+v, want version v2 of the same execution, with a new Version", got)
	t.historyIs(i.Key, 1, "1:started 2:moved")
	t.noTurn("its code has another version", named("i"))
	u := t.fetchOne(codeVersionOf("v2"))
	t.checkf(u.payloads() == "m" && u.Instance.CodeVersion == "v2", "got %q of version %q, want \"m\" of v2", u.payloads(), u.Instance.CodeVersion)
	t.commit(commitOf(u, "two"))
	is(t, "the version after a commit", t.get(i.Key).CodeVersion, "v2")
	is(t, "the version after a move to none", t.steer(i.Key, provider.SteerMove).CodeVersion, "")
}

func steerMoveLeased(t *trial) {
	i := t.begin("i")
	t.send(i.Key, text("m"))
	old := t.fetchOne(named("i"))
	t.steer(i.Key, provider.SteerMove, moveTo("v2"))
	u := t.fetchOne(codeVersionOf("v2"))
	t.refused(commitOf(old, "late"), provider.ErrConflict)
	t.want(t.release(old), provider.ErrLeaseLost)
	t.commit(commitOf(u, "two"))
	t.historyIs(i.Key, 1, "1:started 2:two")
}

func steerMoveWakes(t *trial) {
	i := t.begin("i")
	t.send(i.Key, text("m"))
	fetched := parked(t, func() turn { return t.fetchOne(codeVersionOf("v2")) })
	t.steer(i.Key, provider.SteerMove, moveTo("v2"))
	is(t, "the messages of the parked fetch", fetched().payloads(), "m")
}

func steerMoveKeeps(t *trial) {
	i := t.beginTasks(newTask(1))
	t.steer(i.Key, provider.SteerMove, moveTo("v2"))
	t.tasksAre(i.Key, "1")
	task := t.fetchTask()
	t.send(i.Key, text("m"))
	t.block(t.fetchOne(codeVersionOf("v2")), true)
	t.steer(i.Key, provider.SteerSuspend)
	got := t.steer(i.Key, provider.SteerMove, moveTo("v3"))
	t.checkf(got.Status == provider.StatusSuspended && got.Blocked != nil && got.Blocked.Count == 1 && got.InboxMessages == 1,
		"got %+v, want it Suspended and Blocked, with its message", got)
	got = t.steer(i.Key, provider.SteerResume)
	t.checkf(got.Blocked != nil && got.Deliveries == 1, "blocked %+v after %d deliveries, want it Blocked after 1", got.Blocked, got.Deliveries)
	t.noTurn("it is Blocked", codeVersionOf("v3"))
	t.ok(t.report(task, provider.TaskComplete).Err)
	is(t, "messages after the result", t.get(i.Key).InboxMessages, 2)
}

func steerMoveLevel(t *trial) {
	i := t.begin("i", func(r *provider.CommitTurnRequest) { r.EngineLevel = 4 })
	for _, c := range []struct{ to, want int64 }{{0, 4}, {2, 4}, {6, 6}} {
		got := t.steer(i.Key, provider.SteerMove, func(r *provider.SteerRequest) { r.EngineLevel = c.to })
		is(t, "the engine level", got.EngineLevel, c.want)
	}
}

// The suite has no way to make an instance lose its name. So it checks what must not happen to others.
func steerMoveName(t *trial) {
	i := t.begin("i")
	req := provider.SteerRequest{Key: i.Key, Action: provider.SteerMove, Commit: unique(), CodeVersion: "v2", Name: "another", Event: []byte("moved")}
	t.unchanged(i.Key, func() {
		_, err := t.Steer(t.ctx, req)
		t.want(err, provider.ErrInvalid)
	})
	is(t, "the name after a move to the same", t.steer(i.Key, provider.SteerMove, func(r *provider.SteerRequest) { r.Name = i.Name }).Name, i.Name)
}

func steerMoveKeepsName(t *trial) {
	i := t.begin("i")
	is(t, "the name after a move without one", t.steer(i.Key, provider.SteerMove, moveTo("v2")).Name, i.Name)
}

func expecting(version provider.UUID) func(*provider.SteerRequest) {
	return func(r *provider.SteerRequest) { r.Expected = version }
}

func steerExpected(t *trial) {
	for _, action := range []provider.SteerAction{provider.SteerReset, provider.SteerMove} {
		i := t.begin(string(rune('a' + int(action))))
		stale := i.Version
		i = t.steer(i.Key, provider.SteerResume)
		t.unchanged(i.Key, func() {
			_, err := t.Steer(t.ctx, provider.SteerRequest{
				Key: i.Key, Action: action, Commit: unique(), Expected: stale, Event: []byte("e"),
			})
			t.want(err, provider.ErrConflict)
		})
		commit := unique()
		got := t.steer(i.Key, action, expecting(i.Version), func(r *provider.SteerRequest) { r.Commit = commit })
		is(t, "the new version", got.Version, commit)
	}
}

func steerExpectedAgain(t *trial) {
	i := t.begin("i")
	req := provider.SteerRequest{Key: i.Key, Action: provider.SteerMove, Commit: unique(), Expected: i.Version, CodeVersion: "v2"}
	_, err := t.Steer(t.ctx, req)
	t.ok(err)
	t.unchanged(i.Key, func() {
		_, err := t.Steer(t.ctx, req)
		t.ok(err)
	})
	t.steer(i.Key, provider.SteerResume)
	_, err = t.Steer(t.ctx, req)
	t.want(err, provider.ErrConflict)
}

func steerUnfenced(t *trial) {
	i := t.begin("i")
	t.unchanged(i.Key, func() {
		for _, action := range []provider.SteerAction{
			provider.SteerSuspend, provider.SteerResume, provider.SteerTerminate, provider.SteerUnblock,
		} {
			_, err := t.Steer(t.ctx, provider.SteerRequest{Key: i.Key, Action: action, Commit: unique(), Expected: i.Version})
			t.want(err, provider.ErrInvalid)
			_, err = t.Steer(t.ctx, provider.SteerRequest{Key: i.Key, Action: action, Commit: unique(), CodeVersion: "v2"})
			t.want(err, provider.ErrInvalid)
		}
	})
}
