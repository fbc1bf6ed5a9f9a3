package browsertest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/sample"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// start starts an instance of the shop.
func (s *site) start(name, id string, in any) {
	s.t.Helper()
	if _, err := client.StartNamed[any](s.t.Context(), s.client, name, in, client.WithID(id)); err != nil {
		s.t.Fatal(err)
	}
}

// act opens the page of an act on an instance by its link, and fills it in.
func (b *tab) act(id, act string, fields ...[2]string) {
	b.t.Helper()
	b.open("/instances/" + b.s.key(id))
	b.follow(act)
	b.says(id)
	b.fill(fields...)
}

// tick clicks a box.
func (b *tab) tick(selector string) {
	b.t.Helper()
	b.do(chromedp.Click(chromedp.CSS(selector)))
}

// message returns the number of the message in the inbox of an instance that has the kind of an event.
func (s *site) message(id string) int64 {
	s.t.Helper()
	inspector, ok := provider.As[provider.Inspector](s.store)
	if !ok {
		s.t.Fatal("the store shows no inboxes")
	}
	d := s.describe(id)
	res, err := inspector.Inspect(s.t.Context(), provider.InspectRequest{Kind: provider.InspectMessages, Key: d.Key})
	if err != nil || len(res.Messages) == 0 {
		s.t.Fatalf("the inbox has %d messages, %v", len(res.Messages), err)
	}
	return res.Messages[len(res.Messages)-1].ID
}

// letters returns the dead letters of an instance.
func (s *site) letters(id string) []operate.DeadLetter {
	s.t.Helper()
	d := s.describe(id)
	p, err := operate.New(s.client).DeadLetterPage(s.t.Context(), operate.DeadLetterFilter{Key: d.Key}, client.Page{})
	if err != nil {
		s.t.Fatal(err)
	}
	return p.Items
}

// A pending activity is failed by hand, and its orchestration gets the error.
func TestFailAnActivity(t *testing.T) {
	s := newSite(t)
	b := s.tab(t)
	s.start("Delivery", "parcel-9", sample.Order{Region: "eu", Slow: true})
	s.until("parcel-9", func(d *client.Description) bool { return len(d.Activities) == 1 && d.Activities[0].Attempt >= 3 }) // which waits for 20 s
	b.act("parcel-9", "Fail", [2]string{"error", "the parcel is lost"}, [2]string{"reason", "the carrier says so"})
	b.says("Fail: done")
	s.until("parcel-9", func(d *client.Description) bool {
		return d.Status == client.StatusFailed && d.Failure != nil && strings.Contains(d.Failure.Message, "the parcel is lost")
	})
}

// A message is dropped, put back, dropped again and deleted as a dead letter.
func TestMessagesAndDeadLetters(t *testing.T) {
	s := newSite(t)
	b := s.tab(t)
	b.act("bill-november", "Raise an event", [2]string{"event", "paid"}, [2]string{"payload", "7"})
	b.says("Raise an event: done")
	b.act("bill-november", "Drop a message", [2]string{"message", fmt.Sprint(s.message("bill-november"))}, [2]string{"reason", "it was meant for December"})
	b.says("Drop a message: done")
	letters := s.letters("bill-november")
	if len(letters) != 1 || letters[0].Name != "paid" {
		t.Fatalf("after the drop the dead letters are %+v", letters)
	}
	b.open("/dead-letters")
	b.says("it was meant for December")
	b.shoot("dead-letters-filled-wide-light")
	b.follow("Redrive")
	b.fill()
	b.says("Redrive: done")
	if letters := s.letters("bill-november"); len(letters) != 0 {
		t.Errorf("after redrive the dead letters are %+v", letters)
	}
	if d := s.describe("bill-november"); d.InboxMessages != 2 {
		t.Errorf("after redrive %d messages wait", d.InboxMessages)
	}
	b.act("bill-november", "Terminate")
	b.open("/dead-letters")
	b.follow("Redrive")
	b.fill()
	b.says("has ended")
	if letters := s.letters("bill-november"); len(letters) != 2 { // the start of the instance, too
		t.Errorf("after a redrive to an ended instance the dead letters are %+v", letters)
	}
	for range 2 {
		b.open("/dead-letters")
		b.follow("Drop")
		b.fill()
		b.says("Drop: done")
	}
	b.says("There are no dead letters")
	if letters := s.letters("bill-november"); len(letters) != 0 {
		t.Errorf("after drop the dead letters are %+v", letters)
	}
}

// job returns the bulk job of the store.
func (s *site) job() operate.BulkInfo {
	s.t.Helper()
	jobs, _, err := operate.New(s.client).Bulks(s.t.Context(), client.Page{})
	if err != nil || len(jobs) != 1 {
		s.t.Fatalf("there are %d jobs, %v", len(jobs), err)
	}
	return jobs[0]
}

// phase waits until the bulk job is in a phase.
func (s *site) phase(want operate.BulkPhase) {
	s.t.Helper()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for end := time.Now().Add(15 * time.Second); s.job().Phase != want; <-again.C {
		if time.Now().After(end) {
			s.t.Fatalf("the job is %v, want %v", s.job().Phase, want)
		}
	}
}

// A slow bulk job is stopped, goes on, and does its act on no other instances than those of the filter.
func TestStopAndResumeABulkJob(t *testing.T) {
	s := newSite(t)
	b := s.tab(t)
	for i := range 3 {
		s.start("Reminder", fmt.Sprintf("reminder-%d", i), 3)
	}
	b.open("/instances?prefix=reminder-&status=Running")
	b.follow("Act on all that match")
	b.says("4 instances match")
	b.fill([2]string{"act", "cancel"}, [2]string{"max", "4"}, [2]string{"rate", "0.01"}, [2]string{"reason", "we move"})
	b.says("cancel")
	s.phase(operate.BulkRunning)
	b.open("/jobs")
	b.follow("Stop")
	b.fill()
	s.phase(operate.BulkStopped)
	b.open("/jobs")
	b.says("stopped")
	b.shoot("jobs-stopped-wide-light")
	b.follow("Resume")
	b.fill()
	s.phase(operate.BulkRunning)
	if job := s.job(); job.Max != 4 || job.Principal != "ann@shop" {
		t.Errorf("the job is %+v", job)
	}
	if d := s.describe("order-1006"); d.Status != client.StatusRunning {
		t.Errorf("an order is %v", d.Status)
	}
}

// chooseRows chooses two rows of the list, and suspends them after a look at them.
func chooseRows(t *testing.T, s *site, b *tab) {
	t.Helper()
	b.open("/instances?status=Running")
	for _, id := range []string{"order-1006", "reminder-ann"} {
		b.tick(fmt.Sprintf(`input[name="keys"][value=%q]`, s.key(id)))
	}
	b.shoot("instances-chosen-wide-light")
	b.leave(chromedp.Click(chromedp.CSS("#choose button")))
	b.says("2 instances are chosen")
	b.says("reminder-ann")
	b.fill([2]string{"act", "suspend"}, [2]string{"reason", "stocktaking"})
	b.says("Done")
	for _, id := range []string{"order-1006", "reminder-ann"} {
		if d := s.describe(id); d.Status != client.StatusSuspended {
			t.Errorf("%s is %v", id, d.Status)
		}
	}
	if d := s.describe("order-1007"); d.Status != client.StatusRunning {
		t.Errorf("what was not chosen is %v", d.Status)
	}
}

// Rows of the list are chosen and acted on. The page stays live around the boxes, which keep their marks.
func TestChooseRows(t *testing.T) {
	s := newSite(t)
	b := s.tab(t)
	chooseRows(t, s, b)
	b.open("/instances?status=Suspended")
	b.tick(`input[data-all]`)
	b.do(chromedp.WaitReady(`//*[@data-count and normalize-space(.)="(2)"]`))
	if err := s.client.Suspend(t.Context(), "order-1007", ""); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.WaitReady(`//tr[contains(., "order-1007")]`))
	if n := eval[int](b, `document.querySelectorAll('input[name="keys"]:checked').length`); n != 2 {
		t.Errorf("after the page has changed, %d rows are chosen", n)
	}
	b.leave(chromedp.Click(chromedp.CSS("#choose button")))
	b.fill([2]string{"act", "resume"})
	b.says("Done")
	if a, c := s.describe("order-1006").Status, s.describe("order-1007").Status; a != client.StatusRunning || c != client.StatusSuspended {
		t.Errorf("they are %v and %v", a, c)
	}
}

// Rows are chosen without JavaScript, too.
func TestChooseRowsWithoutJavaScript(t *testing.T) {
	s := newSite(t)
	b := s.tab(t)
	command(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	b.open("/instances?status=Running")
	b.tick(fmt.Sprintf(`input[name="keys"][value=%q]`, s.key("reminder-ann")))
	b.leave(chromedp.Click(chromedp.CSS("#choose button")))
	b.says("1 instance is chosen")
	b.fill([2]string{"act", "cancel"})
	b.says("Outcome")
	s.until("reminder-ann", func(d *client.Description) bool { return d.Status == client.StatusCancelled })
}

// Retention is set, run and switched off.
func TestRetentionInTheBrowser(t *testing.T) {
	s := newSite(t)
	b := s.tab(t)
	info := func() operate.RetentionInfo {
		t.Helper()
		info, err := operate.New(s.client).Retention(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	b.open("/retention")
	b.says("Retention is off")
	b.follow("Set the rules")
	b.fill([2]string{"rules", "Order:Failed=forever\n720h"}, [2]string{"trim", "1h"})
	b.says("within which a repeated start must find its instance")
	b.fill([2]string{"trim", "168h"}, [2]string{"audit", "8760h"})
	b.says("Instances by rule 2, 720h")
	b.shoot("retention-counted-wide-light")
	if info().On {
		t.Error("it is on before anybody has seen the counts")
	}
	b.fill()
	b.says("Set the rules: done")
	b.says("30 days")
	if r := info(); len(r.Rules) != 2 || r.Rules[0].Age != orchestration.Off || r.SetBy != "ann@shop" {
		t.Errorf("the rules are %+v", r)
	}
	b.follow("Begin a round now")
	b.says("What matches now")
	b.fill()
	b.do(chromedp.WaitReady(`//main[contains(., "Instances removed")]`))
	b.shoot("retention-on-wide-light")
	if r := info(); r.Rounds < 1 {
		t.Errorf("there were %d rounds", r.Rounds)
	}
	b.follow("Set the rules")
	b.says("Order:Failed=forever")
	b.tick(`input[name="off"]`)
	b.fill()
	b.says("Retention is off")
	if info().On {
		t.Error("it is on")
	}
}

// The times of a schedule are seen before it is made and before it is changed.
func TestTimesBeforeASchedule(t *testing.T) {
	s := newSite(t)
	b := s.tab(t)
	preview := func() {
		t.Helper()
		b.leave(chromedp.Click(chromedp.CSS(`main form.card button[name="preview"]`)))
		b.says("Next due times")
		if n := eval[int](b, `document.querySelectorAll("#times + ol li").length`); n != 10 {
			t.Errorf("%d times are shown", n)
		}
	}
	b.open("/schedules/create")
	for name, value := range map[string]string{"id": "nightly", "orchestration": "Reminder", "input": "1", "crons": "0 3 * * *"} {
		b.do(chromedp.SetValue(chromedp.CSS(`main form [name="`+name+`"]`), value))
	}
	preview()
	b.shoot("schedule-preview-wide-light")
	if list, err := s.client.Schedules(t.Context(), "", client.Page{}); err != nil || len(list.Items) != 0 {
		t.Errorf("the preview has made %d schedules, %v", len(list.Items), err)
	}
	b.fill()
	b.says("nightly")
	b.do(chromedp.WaitReady(`//tr[@id="s-nightly"]//time`)) // a node has run it
	b.follow("Change")
	b.do(chromedp.SetValue(chromedp.CSS(`main form [name="crons"]`), "0 4 * * *"))
	preview()
	b.fill([2]string{"overlap", "allow-all"}, [2]string{"maxRunning", "3"})
	b.says("Change the schedule: done")
	d, err := s.client.Schedule("nightly").Describe(t.Context())
	if err != nil || d.Spec.Crons[0] != "0 4 * * *" || d.Spec.MaxRunning != 3 {
		t.Errorf("the schedule is %+v, %v", d.Spec, err)
	}
}

// Many instances are started at once, and old executions are trimmed.
func TestStartManyInTheBrowser(t *testing.T) {
	s := newSite(t)
	b := s.tab(t)
	b.open("/instances")
	b.follow("Start many")
	b.fill([2]string{"orchestration", "Reminder"}, [2]string{"starts", `[{"id": "many-1", "input": 1}, {"id": "order-1000", "input": 1}]`})
	b.says("many-1")
	b.says("already exists")
	if d := s.describe("many-1"); d.Status != client.StatusRunning {
		t.Errorf("it is %v", d.Status)
	}
	b.open("/retention")
	b.follow("Delete old executions")
	b.fill()
	b.says("Deleted: 0")
}
