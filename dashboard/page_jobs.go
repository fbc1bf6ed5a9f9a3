package dashboard

import (
	"net/http"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/operate"
)

// jobPage is a page of bulk jobs.
type jobPage struct {
	Items  []operate.BulkInfo `json:"items"`
	Cursor string             `json:"cursor,omitempty"`
}

// maxFailures is how many failures of a job are listed.
const maxFailures = 1000

// jobsData is what the page of bulk jobs shows.
type jobsData struct {
	Page jobPage
	Next string
}

func (c *call) jobPage() (none jobPage, err error) {
	page, err := c.page(pageSize)
	if err != nil {
		return none, err
	}
	jobs, cursor, err := operate.New(c.client).Bulks(c.r.Context(), page)
	return jobPage{jobs, cursor}, err
}

// jobs lists bulk jobs.
func (c *call) jobs() error {
	page, err := c.jobPage()
	if err != nil {
		return err
	}
	data := jobsData{Page: page}
	v := view{Title: "Bulk jobs", Nav: "jobs", Live: true, Data: &data, c: c}
	if page.Cursor != "" {
		data.Next = v.With("cursor", page.Cursor)
	}
	return c.show(http.StatusOK, "jobs", v)
}

func (c *call) apiJobs() error {
	page, err := c.jobPage()
	if err != nil {
		return err
	}
	return c.answer(page)
}

func (c *call) apiPreview() error {
	s, err := c.selects()
	if err != nil {
		return err
	}
	f, err := s.bulk()
	if err != nil {
		return err
	}
	p, err := c.previewBulk(f, c.param("to"))
	if err != nil {
		return err
	}
	c.showTexts(p.Texts)
	return c.answer(p)
}

// previewBulk previews a job, with the kind of point that it looks for, if any.
func (c *call) previewBulk(f client.Filter, to string) (none operate.BulkPreview, err error) {
	o := operate.New(c.client)
	if to == "" {
		return o.PreviewBulk(c.r.Context(), f)
	}
	k, err := client.ParsePointKind(to)
	if err != nil {
		return none, badInput("to: %v", err)
	}
	return o.PreviewBulkTo(c.r.Context(), f, k)
}

// showTexts hides the texts of errors like payloads: what code puts into them may be of customers.
func (c *call) showTexts(texts []operate.BulkText) {
	for i := range texts {
		if !c.texts || c.s.o.HidePayloads || c.s.o.Redact != nil {
			texts[i].Text = "hidden, as payloads are: choose any text"
		}
	}
}

func (c *call) apiFailures() error {
	job, err := operate.New(c.client).Bulk(c.r.Context(), c.param("id"))
	if err != nil {
		return err
	}
	found := list[operate.BulkFailure]{Items: []operate.BulkFailure{}}
	for f, err := range job.Failures(c.r.Context()) {
		if err != nil {
			return err
		}
		if len(found.Items) == maxFailures {
			break
		}
		found.Items = append(found.Items, f)
	}
	return c.answer(found)
}

// schedulesData is what the page of schedules shows.
type schedulesData struct {
	Page client.SchedulePage
	Next string
}

func (c *call) schedulePage() (none client.SchedulePage, err error) {
	page, err := c.page(pageSize)
	if err != nil {
		return none, err
	}
	return c.client.Schedules(c.r.Context(), c.param("prefix"), page)
}

// schedules lists schedules.
func (c *call) schedules() error {
	page, err := c.schedulePage()
	if err != nil {
		return err
	}
	data := schedulesData{Page: page}
	v := view{Title: "Schedules", Nav: "schedules", Live: true, Data: &data, c: c}
	if page.Cursor != "" {
		data.Next = v.With("cursor", page.Cursor)
	}
	return c.show(http.StatusOK, "schedules", v)
}

func (c *call) apiSchedules() error {
	page, err := c.schedulePage()
	if err != nil {
		return err
	}
	return c.answer(page)
}

func (c *call) apiSchedule() error {
	d, err := c.client.Schedule(c.param("id")).Describe(c.r.Context())
	if err != nil {
		return err
	}
	return c.answer(d)
}

func (c *call) apiTree() error {
	h, err := c.handle()
	if err != nil {
		return err
	}
	t, err := h.Tree(c.r.Context(), client.TreeLimits{Depth: 3})
	if err != nil {
		return err
	}
	return c.answer(t)
}

func (c *call) apiWaits() error {
	h, err := c.handle()
	if err != nil {
		return err
	}
	waits, err := h.Waits(c.r.Context())
	if err != nil {
		return err
	}
	for i := range waits {
		waits[i].Text = c.waitText(&waits[i])
	}
	return c.answer(list[client.Wait]{waits})
}
