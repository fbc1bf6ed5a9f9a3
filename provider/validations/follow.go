package validations

import (
	"fmt"
	"time"

	"github.com/perdure/perdure/provider"
)

// followCases checks Get with Value and with Mark.
func followCases() []testCase {
	const valued = "With WaitValue it also returns when the key-value that Value names is stored and differs from OldValue."
	const marked = "Results that differ only in Now, TaskInfo.LeaseUntil or TaskInfo.SessionOwner have the same Mark; other results differ in it."
	const soon = "A change of any kind ends the wait within a second, whatever call or process made it."
	return []testCase{
		{name: "value", run: followValue, rule: "GetResult.Value: the key-value that GetRequest.Value names; nil: none is stored"},
		{name: "value-wakes", run: followValueWakes, rule: valued},
		{name: "value-differs", broad: true, run: followValueDiffers, rule: valued},
		{name: "value-old-and-new", run: followOldValue, rule: valued},
		{name: "value-of-ended", run: followValueEnded, rule: valued},
		{name: "value-of-blocked", run: followValueBlocked, rule: "GetRequest.WaitBlocked: with WaitEnded or WaitValue: a Blocked instance also ends the wait"},
		{
			name: "thousand-values", run: followManyValues,
			rule: "Such a call looks only when that key-value may have changed, or the instance has ended, is Blocked or is gone.",
		},
		{name: "removed", run: followRemoved, rule: "An instance that is removed during a wait of any kind ends it with [ErrNotFound]."},
		{name: "mark", run: followMark, rule: marked},
		{name: "mark-of-unchanged", run: followUnchanged, rule: marked},
		{
			name: "mark-waits", run: followMarkWaits,
			rule: "With Mark, the call blocks until the result has another Mark, or until Wait has passed.",
		},
		{name: "mark-wakes", run: followMarkWakes, rule: soon},
		{name: "mark-of-an-expired-lease", run: followLapse, rule: soon},
		{
			name: "mark-pace", run: followPace,
			rule: "The call takes at least [MarkPace], or its Wait if that is shorter, so that a caller that repeats it reads no more often.",
		},
		{name: "one-wait", run: followOneWait, rule: "WaitEnded, WaitValue and Mark are three kinds of wait; a request has at most one of them."},
	}
}

// read is Get without an error.
func (t *trial) read(req provider.GetRequest) provider.GetResult {
	res, err := t.Get(t.ctx, req)
	t.ok(err)
	return res
}

// keyValueText returns a key-value as text.
func keyValueText(v *provider.KeyValue) string {
	if v == nil {
		return "none"
	}
	return fmt.Sprintf("%s=%s", v.Key, v.Value)
}

func followValue(t *trial) {
	i := setValues(t, t.begin("i"), "a=1", "b=", "c=3")
	for name, want := range map[string]string{"a": "a=1", "b": "b=", "c": "c=3", "d": "none", "": "none"} {
		res := t.read(provider.GetRequest{Key: i.Key, Value: name})
		is(t, fmt.Sprintf("the value under %q", name), keyValueText(res.Value), want)
		t.checkf(res.Instance.ID == "i" && res.Values == nil, "got %+v, want the instance and no list of values", res)
	}
	res := t.read(provider.GetRequest{ID: "i", Value: "c", WithValues: true})
	t.checkf(keyValueText(res.Value) == "c=3" && len(res.Values) == 3, "got %s and %d values, want c=3 and all 3", keyValueText(res.Value), len(res.Values))
	setValues(t, i, "a")
	is(t, "a value that was removed", keyValueText(t.read(provider.GetRequest{Key: i.Key, Value: "a"}).Value), "none")
}

// parkedValue waits for the key-value k in the background.
func parkedValue(t *trial, key provider.UUID, old []byte) func() string {
	return parked(t, func() string {
		res := t.read(provider.GetRequest{Key: key, Value: "k", WaitValue: true, OldValue: old, Wait: patience})
		return res.Instance.Status.String() + " " + keyValueText(res.Value)
	})
}

func followValueWakes(t *trial) {
	i := t.begin("i")
	got := parkedValue(t, i.Key, nil)
	setValues(t, i, "k=v")
	is(t, "what the waiting Get returned", got(), "Running k=v")
	is(t, "what a Get returned that found the value", parkedValue(t, i.Key, nil)(), "Running k=v")
	res := t.read(provider.GetRequest{ID: "i", Value: "other", WaitValue: true, Wait: short})
	is(t, "the value after the Wait", keyValueText(res.Value), "none")
}

// followValueDiffers changes everything but the value that is waited for, and then that.
func followValueDiffers(t *trial) {
	i, other := setValues(t, t.begin("i"), "k=1"), t.begin("other")
	got := parkedValue(t, i.Key, []byte("1"))
	i = setValues(t, i, "k=1", "kk=2")
	setValues(t, other, "k=2")
	i = setValues(t, i, "k")
	t.pass(short)
	setValues(t, i, "k=3")
	is(t, "what the waiting Get returned", got(), "Running k=3")
}

func followOldValue(t *trial) {
	i := setValues(t, t.begin("i"), "empty=", "full=v")
	for _, c := range []struct {
		name string
		old  []byte
		ends bool
	}{
		{"empty", nil, true},
		{"empty", []byte{}, false},
		{"empty", []byte("v"), true},
		{"full", nil, true},
		{"full", []byte{}, true},
		{"full", []byte("v"), false},
		{"full", []byte("vv"), true},
	} {
		wait := short
		if c.ends {
			wait = long
		}
		began := time.Now()
		t.read(provider.GetRequest{Key: i.Key, Value: c.name, WaitValue: true, OldValue: c.old, Wait: wait})
		took := time.Since(began)
		t.checkf((took < short) == c.ends || c.ends && took < patience, "%s unlike %q: returned after %v of %v", c.name, c.old, took, wait)
	}
}

func followValueEnded(t *trial) {
	i := t.begin("i")
	got := parkedValue(t, i.Key, nil)
	t.end(i)
	is(t, "what the waiting Get returned", got(), "Completed none")
	i = setValues(t, t.begin("j"), "k=v")
	got = parkedValue(t, i.Key, []byte("v"))
	t.steer(i.Key, provider.SteerTerminate)
	is(t, "what the waiting Get returned", got(), "Terminated k=v")
}

func followValueBlocked(t *trial) {
	i := t.create("i")
	u := t.fetchOne()
	got := parked(t, func() bool {
		res := t.read(provider.GetRequest{Key: i.Key, Value: "k", WaitValue: true, WaitBlocked: true, Wait: patience})
		return res.Instance.Blocked != nil
	})
	t.block(u, true)
	t.checkf(got(), "the Get returned an instance that is not Blocked")
	began := time.Now()
	t.read(provider.GetRequest{Key: i.Key, Value: "k", WaitValue: true, Wait: short})
	t.checkf(time.Since(began) >= short, "without WaitBlocked the Get returned after %v, want its Wait of %v", time.Since(began), short)
}

// followManyValues has a thousand callers that wait for key-values of one instance, which a few commits set.
func followManyValues(t *trial) {
	const each = 100
	waiters := t.callers(1000)
	i := t.begin("i")
	key := i.Key
	got := make([]func() string, waiters)
	for n := range got {
		result := make(chan string, 1)
		go func() {
			defer close(result)
			req := provider.GetRequest{Key: key, Value: fmt.Sprint("k", n), WaitValue: true, Wait: long}
			res, err := t.store.Get(t.ctx, req) // without a trace of a thousand calls
			if err == nil {
				result <- keyValueText(res.Value)
			}
		}()
		got[n] = func() string { return <-result }
	}
	t.pass(2 * short)
	for first := 0; first < waiters; first += each {
		var pairs []string
		for n := first; n < first+each; n++ {
			pairs = append(pairs, fmt.Sprintf("k%d=%d", n, n))
		}
		i = setValues(t, i, pairs...)
		for n := first; n < first+each; n++ {
			want := fmt.Sprintf("k%d=%d", n, n)
			value := got[n]()
			t.mustf(value == want, "caller %d got %q, want %q", n, value, want)
		}
	}
}

func followRemoved(t *trial) {
	i := setValues(t, t.begin("i"), "k=v")
	mark := t.read(provider.GetRequest{Key: i.Key, WithMark: true}).Mark
	requests := []provider.GetRequest{
		{Key: i.Key, WaitEnded: true, Wait: patience},
		{Key: i.Key, WaitValue: true, Value: "k", OldValue: []byte("v"), Wait: patience},
		{Key: i.Key, Mark: mark, Wait: patience},
		{ID: "i", Mark: mark, Wait: patience},
	}
	got := make([]func() error, 0, len(requests))
	for _, req := range requests {
		got = append(got, parked(t, func() error {
			_, err := t.Get(t.ctx, req)
			return err
		}))
	}
	t.remove(i.Key, true)
	for _, err := range got {
		if e := err(); e != nil { // an end of the removal may come first
			t.want(e, provider.ErrNotFound)
		}
	}
	_, err := t.Get(t.ctx, provider.GetRequest{Key: i.Key, Mark: mark, Wait: patience})
	t.want(err, provider.ErrNotFound)
}

// markOf returns the mark of an instance with all that belongs to it.
func (t *trial) markOf(i provider.Instance) string {
	res := t.read(provider.GetRequest{Key: i.Key, WithTasks: true, WithValues: true, WithMark: true})
	t.mustf(res.Mark != "", "the mark is empty")
	return res.Mark
}

// changesToFollow lists changes of an instance that has a task in queue "q", each made by another method.
func changesToFollow(t *trial, i provider.Instance) []struct {
	name string
	make func()
} {
	var task leasedTask
	return []struct {
		name string
		make func()
	}{
		{"a message", func() { t.send(i.Key, text("m")) }},
		{"a lease of a turn", func() { t.fetchOne(named(i.ID)) }},
		{"a lease of a task", func() { task = t.fetchTask() }},
		{"details of a heartbeat", func() {
			r := renewal(task)
			r.Details = []byte("details")
			t.ok(t.renew(r).Err)
		}},
		{"a retry", func() {
			t.ok(t.report(task, provider.TaskRetry, func(r *provider.TaskReport) { r.Failure = []byte("f") }).Err)
		}},
		{"a suspension", func() { t.steer(i.Key, provider.SteerSuspend) }},
		{"a resume", func() { t.steer(i.Key, provider.SteerResume) }},
		{"a turn", func() { t.commit(next(t.get(i.Key), "event")) }},
		{"a key-value", func() { setValues(t, t.get(i.Key), "k=v") }},
		{"a status of its own", func() {
			req := next(t.get(i.Key))
			req.CustomStatus = []byte("status")
			t.commit(req)
		}},
		{"its end", func() { t.steer(i.Key, provider.SteerTerminate) }},
	}
}

func followMark(t *trial) {
	i := t.beginTasks(newTask(1))
	seen := map[string]string{t.markOf(i): "nothing"}
	for _, c := range changesToFollow(t, i) {
		c.make()
		mark := t.markOf(i)
		t.checkf(seen[mark] == "", "the mark after %s is the one after %s", c.name, seen[mark])
		seen[mark] = c.name
	}
	plain := t.read(provider.GetRequest{Key: i.Key, WithMark: true}).Mark
	t.checkf(plain != t.markOf(i), "a request for less has the same mark")
	is(t, "the mark of a request without one", t.read(provider.GetRequest{Key: i.Key}).Mark, "")
}

func followUnchanged(t *trial) {
	i := t.beginTasks(newTask(1))
	task := t.fetchTask()
	before := t.markOf(i)
	t.pass(short)
	is(t, "the mark of what has not changed", t.markOf(i), before)
	t.create("other")
	r := renewal(task)
	t.ok(t.renew(r).Err)
	is(t, "the mark after a renewal without details", t.markOf(i), before)
	res := t.read(provider.GetRequest{ID: i.ID, WithTasks: true, WithValues: true, Mark: before, Wait: short})
	is(t, "the mark after a Wait", res.Mark, before)
}

func followMarkWaits(t *trial) {
	i := t.begin("i")
	mark := t.read(provider.GetRequest{Key: i.Key, WithMark: true}).Mark
	wait := 2 * provider.MarkPace
	began := time.Now()
	res := t.read(provider.GetRequest{Key: i.Key, Mark: mark, Wait: wait})
	t.checkf(time.Since(began) >= wait && res.Mark == mark, "returned after %v with another mark: %t, want a Wait of %v and the same",
		time.Since(began), res.Mark != mark, wait)
	res = t.read(provider.GetRequest{Key: i.Key, Mark: mark})
	is(t, "the mark without a Wait", res.Mark, mark)
	t.send(i.Key, text("m"))
	res = t.read(provider.GetRequest{Key: i.Key, Mark: mark, Wait: patience})
	t.checkf(res.Mark != mark && res.Instance.InboxMessages == 1, "got %+v, want the message and another mark", res)
}

// followMarkWakes measures how soon each kind of change ends a wait. A busy machine may be slow once.
func followMarkWakes(t *trial) {
	const limit, busy = time.Second, 4
	i := t.beginTasks(newTask(1))
	for _, c := range changesToFollow(t, i) {
		mark := t.markOf(i)
		got := parked(t, func() string {
			return t.read(provider.GetRequest{Key: i.Key, WithTasks: true, WithValues: true, Mark: mark, Wait: patience}).Mark
		})
		c.make()
		made := time.Now()
		t.checkf(got() != mark, "the Get returned the same mark after %s", c.name)
		t.checkf(time.Since(made) < busy*limit, "%s ended the wait after %v, want at most %v", c.name, time.Since(made), limit)
	}
}

// followLapse checks that a lease that expires ends a wait, although no call changes anything.
func followLapse(t *trial) {
	i := t.beginTasks(newTask(1))
	t.fetchTask(func(r *provider.FetchTasksRequest) { r.Lease = 5 * short })
	mark := t.markOf(i)
	began := time.Now()
	res := t.read(provider.GetRequest{Key: i.Key, WithTasks: true, WithValues: true, Mark: mark, Wait: patience})
	t.mustf(len(res.Tasks) == 1, "got %d tasks, want 1", len(res.Tasks))
	t.checkf(time.Since(began) < patience/2, "the end of a lease of %v ended the wait after %v", 5*short, time.Since(began))
	is(t, "the state of the task", res.Tasks[0].State, provider.TaskQueued)
}

func followPace(t *trial) {
	i := t.begin("i")
	for _, wait := range []time.Duration{long, short} {
		began := time.Now()
		t.read(provider.GetRequest{Key: i.Key, Mark: "another", Wait: wait})
		least := min(wait, provider.MarkPace)
		t.checkf(time.Since(began) >= least, "returned after %v, want at least %v", time.Since(began), least)
	}
	began := time.Now()
	t.read(provider.GetRequest{Key: i.Key, Mark: "another", Wait: long})
	t.checkf(time.Since(began) < patience, "returned after %v, want soon", time.Since(began))
}

func followOneWait(t *trial) {
	i := t.begin("i")
	for _, req := range []provider.GetRequest{
		{Key: i.Key, WaitEnded: true, WaitValue: true, Value: "k"},
		{Key: i.Key, WaitEnded: true, Mark: "m"},
		{Key: i.Key, Mark: "m", WaitValue: true, Value: "k"},
		{Key: i.Key, WaitValue: true},
		{Key: i.Key, OldValue: []byte{}},
	} {
		_, err := t.Get(t.ctx, req)
		t.want(err, provider.ErrInvalid)
	}
}
