package validations

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/perdure/perdure/provider"
)

// notifyCases checks an optional feature. The suite skips the cases of a provider without it.
func notifyCases() []testCase {
	const tells = "Notifier is implemented by providers that can report ended executions and cancelled tasks at once."
	return needs(lacking[provider.Notifier], []testCase{
		{name: "ended", run: notifyEnded, rule: "EventID 0 means all tasks of the execution."},
		{name: "cancelled", run: notifyCancelled, rule: tells},
		{
			name: "nothing-else", run: notifyNothingElse,
			rule: "Notice reports that an execution ended or that a task was asked to stop, so that a node need not wait for its next lease renewal.",
		},
		{name: "stop", run: notifyStop, rule: "Notify calls fn for each notice until stop is called; stop waits for a running fn."},
	})
}

// listen calls fn for each notice until stop.
func listen(t *trial, fn func(provider.Notice)) (stop func()) {
	notifier, _ := provider.As[provider.Notifier](t.store)
	return notifier.Notify(fn)
}

// checkNotice repeats act until one of the notices that it returns arrives, since a notice may be lost. act causes those
// notices.
func checkNotice(t *trial, act func() []provider.Notice) {
	var mu sync.Mutex
	got := map[provider.Notice]bool{}
	heard := make(chan struct{}, 1)
	defer listen(t, func(n provider.Notice) {
		mu.Lock()
		defer mu.Unlock()
		got[n] = true
		select {
		case heard <- struct{}{}:
		default:
		}
	})()
	for range 10 {
		for _, want := range act() {
			awaitSignal(t, heard)
			mu.Lock()
			found := got[want]
			mu.Unlock()
			if found {
				return
			}
		}
	}
	t.errorf("got notices %v in ten attempts, want the one of the call", got)
}

// awaitSignal waits a short while for a signal and reports whether it came.
func awaitSignal(t *trial, signal <-chan struct{}) bool {
	for range 10 {
		select {
		case <-signal:
			return true
		default:
			t.pass(short)
		}
	}
	return false
}

func notifyEnded(t *trial) {
	ends := map[string]func(i provider.Instance){
		"closed":     func(i provider.Instance) { t.end(i) },
		"continued":  func(i provider.Instance) { t.continueAsNew(i) },
		"terminated": func(i provider.Instance) { t.steer(i.Key, provider.SteerTerminate) },
		"reset":      func(i provider.Instance) { t.steer(i.Key, provider.SteerReset) },
	}
	for name, end := range ends {
		n := 0
		checkNotice(t, func() []provider.Notice {
			n++
			i := t.begin(name+string(rune('a'+n)), func(r *provider.CommitTurnRequest) { r.Tasks = []provider.NewTask{newTask(1)} })
			t.fetchTask()
			end(i)
			return []provider.Notice{{Key: i.Key, Execution: 1}}
		})
	}
}

func notifyCancelled(t *trial) {
	n := 0
	checkNotice(t, func() []provider.Notice {
		n++
		i := t.begin(string(rune('a'+n)), func(r *provider.CommitTurnRequest) { r.Tasks = []provider.NewTask{newTask(1)} })
		t.fetchTask()
		commitCancel(t, i, n%2 == 0)
		return []provider.Notice{{Key: i.Key, Execution: 1, EventID: 1}}
	})
}

// notifyNothingElse checks that a notice names only tasks that were asked to stop.
func notifyNothingElse(t *trial) {
	var mu sync.Mutex
	var got []provider.Notice
	stop := listen(t, func(n provider.Notice) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, n)
	})
	i := t.beginTasks(newTask(1), newTask(2))
	other := t.begin("other", func(r *provider.CommitTurnRequest) { r.Tasks = []provider.NewTask{newTask(1)} })
	t.fetchTasks()
	t.send(other.Key, text("m"))
	commitCancel(t, i, false)
	t.steer(other.Key, provider.SteerSuspend)
	t.steer(other.Key, provider.SteerResume)
	t.pass(2 * short)
	stop()
	mu.Lock()
	defer mu.Unlock()
	for _, n := range got {
		is(t, "the notice", n, provider.Notice{Key: i.Key, Execution: 1, EventID: 1})
	}
}

// notifyStop holds fn while another goroutine calls stop. Until fn returns the case makes no call that could depend on it:
// a provider may call fn before the call that caused the notice returns.
func notifyStop(t *trial) {
	i := t.begin("i", func(r *provider.CommitTurnRequest) { r.Tasks = []provider.NewTask{newTask(1)} })
	late := t.begin("late")
	called, release := make(chan struct{}, 100), make(chan struct{})
	var over atomic.Bool
	stop := listen(t, func(provider.Notice) {
		called <- struct{}{}
		<-release
		over.Store(true)
	})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		t.steer(i.Key, provider.SteerTerminate)
	}()
	running := true
	select {
	case <-called:
	case <-ended:
		running = awaitSignal(t, called) // false: the notice was lost
	}
	stopping, stopped := make(chan struct{}), make(chan bool, 1)
	go func() {
		close(stopping)
		stop()
		stopped <- over.Load()
	}()
	<-stopping
	for range 1000 {
		runtime.Gosched() // so that a stop that does not wait returns
	}
	close(release)
	t.checkf(<-stopped || !running, "stop returned while fn was running, want it to wait")
	<-ended
	before := len(called)
	t.steer(late.Key, provider.SteerTerminate)
	t.pass(short)
	t.checkf(len(called) == before, "fn was called %d times after stop, want none", len(called)-before)
}
