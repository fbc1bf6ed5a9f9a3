package dashboard

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/bulk"
	"github.com/perdure/perdure/operate"
)

// formField is a field of a form with its value.
type formField struct {
	Name, Label, Help, Value, Kind string
	Choices                        []string
	Required, Hidden, Anew         bool
}

// actData is what the page of an act shows: the form that confirms it, or its result.
type actData struct {
	Title, Says, Verb string
	Principal         string // who opens the form, as principalField has it
	Danger            bool
	Fields            []formField
	To                string // address of the form
	Back              string
	D                 *client.Description // of the instance that the act is about; nil: it is about something else
	About             string
	Error             string
	Result            *shownPayload
	Preview           *operate.BulkPreview // of a bulk job
	Texts             []previewText        // of its group of failures
	Only              string               // the text that the preview is of, in quotes; "": all
	Chosen            []client.Description // that the act is about
	Each              []each               // what it has come to on each; nil: it has not been done
	OfPoint           bool                 // the form can find a point of the history
	Point             *foundPoint          // that it shows; nil: nobody has asked
	OfInput           bool                 // the form can show the input of the instance, which it does not yet
	OfTimes           bool                 // the form can show due times
	Times             []time.Time          // due times; nil: nobody has asked
	OfCounts          bool                 // the form can count
	Counts            []counting           // what the act would remove; nil: it was not counted
	Counted           string               // what was counted, as basis has it; "": nothing was
	Gone              *int64               // how many have gone; nil: nothing was done
}

// kindNames are the kinds of fields as templates know them.
//
//nolint:gochecknoglobals // constant table
var kindNames = map[fieldKind]string{
	aText: "text", aNote: "note", aJSON: "json", anInt: "int", aBool: "bool", aTime: "time", aSpan: "text", aList: "note", aValue: "choice",
}

// form returns the page of an act with the given values.
func (a *act) form(c *call, values func(string) string) (actData, error) {
	data := actData{
		Title: a.title, Says: a.says, Danger: a.danger, Verb: a.title, Back: c.s.o.Prefix + a.after(c), About: a.of.name,
		Principal: url.PathEscape(c.who.Name),
	}
	to := url.URL{Path: c.r.URL.Path}
	q := url.Values{}
	for _, p := range a.of.params {
		q.Set(p.name, c.param(p.name))
		data.About += " " + c.param(p.name)
	}
	to.RawQuery = q.Encode()
	data.To = to.String()
	for i := range a.fields {
		f := &a.fields[i]
		v := values(f.name)
		if v == "" {
			v = f.value
		}
		if f.name == requestField.name && v == "" {
			v = secret()
		}
		data.Fields = append(data.Fields, formField{f.name, f.label, f.help, v, kindNames[f.kind], f.choices, f.required, f.shown, f.confirms})
	}
	data.OfInput = a.edits && c.editsInputs() && !c.payloads
	data.OfTimes, data.OfPoint, data.OfCounts = a.preview, a.finds, a.counts != nil && len(a.fields) > 0
	if a.chosen {
		var err error
		if data.Chosen, err = c.chosen(strings.Fields(values("keys"))); err != nil {
			return data, err
		}
	}
	if c.r.PathValue("key") == "" {
		return data, nil
	}
	h, err := c.handle()
	if err != nil {
		return data, err
	}
	d, err := h.Describe(c.r.Context())
	data.D = &d
	return data, err
}

// confirm asks before an act.
func (a *act) confirm(c *call) error {
	begin, q := input{}, c.r.URL.Query()
	if a.filled != nil {
		var err error
		if begin, err = a.filled(c.r.Context(), c); err != nil {
			return err
		}
	}
	data, err := a.form(c, func(name string) string {
		if q.Has(name) {
			return strings.Join(q[name], "\n")
		}
		return begin[name]
	})
	if err != nil {
		return err
	}
	if a.of == &ofJobs {
		if err := data.preview(c, c.param); err != nil {
			return err
		}
	}
	if a.counts != nil {
		a.countBegin(c, &data)
		if n, err := c.intParam(goneParam); err == nil && q.Has(goneParam) {
			data.Gone = &n
		}
	}
	if a.finds && (c.param("to") != "" || c.param("event") != "") {
		return a.pointed(c, &data, c.param("to"), c.param("event"), c.param("execution"))
	}
	return c.show(http.StatusOK, "act", view{Title: a.title, Nav: a.nav(), Data: &data})
}

// preview shows what a bulk job would act on. The job stops at this count, and leaves out what is created later.
func (d *actData) preview(c *call, values func(string) string) error {
	f, err := c.parseFilter(values("filter"))
	if err != nil {
		return err
	}
	f.Retrying = f.Retrying || values("act") == string(client.ActRetryNow)
	p, err := c.previewBulk(f, values("to"))
	if err != nil {
		return err
	}
	c.showTexts(p.Texts)
	if text, chosen := d.previewTexts(c, &p); chosen {
		p, d.Only = p.Only(text), bulk.QuoteText(text)
	}
	d.Preview = &p
	if f.FailureGroup == "" { // there is nothing to choose from
		d.Fields = slices.DeleteFunc(d.Fields, func(f formField) bool { return f.Name == "text" || f.Name == "allTexts" })
	}
	for i := range d.Fields {
		switch d.Fields[i].Name {
		case "before":
			d.Fields[i].Value = p.At.UTC().Format(time.RFC3339Nano)
		case "text":
			if d.Only != "" || values("text") == "" {
				d.Fields[i].Value = d.Only
			}
		case "filter": // the job begins with the times of the preview
			d.Fields[i].Value = absolute(d.Fields[i].Value, f)
		}
	}
	return nil
}

// previewText is a text of a group of failures in the form that the form takes, and where the page counts it alone.
type previewText struct {
	Text, Link string // "": it cannot be chosen
	Cut        bool
	Count      int64
}

// previewTexts lists the texts of a group, and returns the one that the request chose. Addresses are in logs, so they have the hash of a text.
func (d *actData) previewTexts(c *call, p *operate.BulkPreview) (text string, chosen bool) {
	for _, t := range p.Texts {
		shown := previewText{Text: t.Text, Cut: t.Cut, Count: t.Count}
		if c.seesFaces() {
			shown.Text = bulk.QuoteText(t.Text)
		}
		if c.seesFaces() && !t.Cut {
			key := textKey(t.Text)
			q := c.r.URL.Query()
			q.Set("only", key)
			shown.Link = (&url.URL{Path: c.r.URL.Path, RawQuery: q.Encode()}).String()
			if c.param("only") == key {
				text, chosen = t.Text, true
			}
		}
		d.Texts = append(d.Texts, shown)
	}
	return text, chosen
}

// textKey names a text in addresses.
func textKey(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// absolute returns the query of a filter, in which a search has the times that it was read with.
func absolute(text string, f client.Filter) string {
	q, err := url.ParseQuery(text)
	if err != nil || q.Get(searchParam.name) == "" {
		return text
	}
	s, err := f.Search()
	if err != nil {
		return text
	}
	return url.Values{searchParam.name: {s.String()}}.Encode()
}

// perform does an act for a form.
func (a *act) perform(c *call) error {
	in, err := readInput(c, a.fields)
	if err == nil {
		var shown bool
		if shown, err = a.shownFirst(c, in); shown {
			return err
		}
	}
	if err == nil && a.preview && c.r.PostForm.Get("preview") != "" {
		var times dueTimes
		if times, err = in.nextTimes(c.now(), timesShown); err == nil {
			return a.previewed(c, times)
		}
	} else if err == nil {
		var result outcome
		if result, err = a.do(c.r.Context(), c, in); err == nil {
			return a.performed(c, result)
		}
	}
	status, _ := classify(err)
	if status == http.StatusUnauthorized || status == http.StatusNotFound || c.sender() != nil { // what somebody else typed is not shown
		return err
	}
	data, failed := a.form(c, c.posted)
	if failed != nil {
		return err
	}
	data.Error = c.errorText(err)
	if status >= http.StatusInternalServerError {
		c.s.logger.WarnContext(c.r.Context(), "act of the dashboard failed", "act", a.name, "error", err)
	}
	return c.show(status, "act", view{Title: a.title, Nav: a.nav(), Data: &data})
}

// shownFirst shows what an act with a kind of point is about, or what one would remove, in place of the act, and reports whether it has.
func (a *act) shownFirst(c *call, in input) (shown bool, err error) {
	find := a.finds && (in["to"] != "" || c.posted("preview") != "")
	count := a.of == &ofJobs && in["to"] != "" && c.posted("counted") != in["to"]
	if !find && !count && a.counts == nil {
		return false, nil
	}
	data, err := a.form(c, c.posted)
	if err != nil {
		return false, err
	}
	if a.counts != nil {
		if show, err := a.countFirst(c, &data); !show {
			return false, err
		}
		return true, c.show(http.StatusOK, "act", view{Title: a.title, Nav: a.nav(), Data: &data})
	}
	if find {
		return true, a.pointed(c, &data, in["to"], in["event"], "")
	}
	if err := data.preview(c, c.posted); err != nil {
		return false, err
	}
	return true, c.show(http.StatusOK, "act", view{Title: a.title, Nav: a.nav(), Data: &data})
}

// pointed shows the form with the point of a kind, or else before an event, and what the act means there. The form is bound to that event and to the
// execution whose history was read, so nobody acts at a point that was not shown. An execution that is given was shown before: the point is one of it.
func (a *act) pointed(c *call, d *actData, to, event, execution string) error {
	status := http.StatusOK
	p, err := c.pointOf(to, event, execution)
	if err != nil {
		if status, _ = classify(err); status == http.StatusNotFound || status == http.StatusUnauthorized {
			return err
		}
		d.Error = c.errorText(err)
	} else {
		p.Fork = a.right == client.ActFork
		d.Point = &p
		d.set("event", strconv.FormatInt(p.Event, 10))
		d.set("execution", strconv.FormatInt(p.Execution, 10))
		d.set("to", "")
	}
	return c.show(status, "act", view{Title: a.title, Nav: a.nav(), Data: d})
}

// timesShown is how many due times a page previews.
const timesShown = 10

// previewed shows the form again, with due times.
func (a *act) previewed(c *call, times dueTimes) error {
	data, err := a.form(c, c.posted)
	if err != nil {
		return err
	}
	data.Times = times.Items
	return c.show(http.StatusOK, "act", view{Title: a.title, Nav: a.nav(), Data: &data})
}

// performed shows what an act has returned, or leads to where it can be seen.
func (a *act) performed(c *call, result outcome) error {
	if all, ok := result.value.(list[each]); ok {
		return a.performedOn(c, all.Items)
	}
	out, ok := result.value.(answer)
	if !ok {
		to := result.page
		if to == "" {
			to = a.after(c)
		}
		sign := "?"
		if strings.Contains(to, "?") {
			sign = "&"
		}
		c.redirect(to + sign + "done=" + a.id())
		return nil
	}
	data, err := a.form(c, c.posted)
	if err != nil {
		return err
	}
	c.payloads = c.texts && !c.s.o.HidePayloads // somebody has asked for it
	v := view{Title: a.title, Nav: a.nav(), Data: &data, c: c}
	for i := range data.Fields {
		if data.Fields[i].Name == requestField.name {
			data.Fields[i].Value = secret()
		}
	}
	if data.Result = v.Payload("output", out.Name, out.Output); data.Result == nil {
		data.Result = &shownPayload{Text: "null"}
	}
	return c.show(http.StatusOK, "act", v)
}

// performedOn shows what an act has come to on each of several instances.
func (a *act) performedOn(c *call, all []each) error {
	data, err := a.form(c, c.posted)
	if err != nil {
		return err
	}
	for i := range data.Chosen {
		for j := range all {
			if all[j].Key == data.Chosen[i].Key.String() {
				all[j].ID = data.Chosen[i].ID
			}
		}
	}
	data.Each = all
	return c.show(http.StatusOK, "act", view{Title: a.title, Nav: a.nav(), Data: &data})
}

// call does an act for a program.
func (a *act) call(c *call) error {
	in, err := readInput(c, a.fields)
	if err != nil {
		return err
	}
	result, err := a.do(c.r.Context(), c, in)
	if err != nil {
		return err
	}
	c.payloads = c.texts && !c.s.o.HidePayloads // the program has asked for the output
	return c.answer(result.value)
}

// nav returns the entry of the navigation that the act belongs to.
func (a *act) nav() string {
	switch a.of {
	case &ofDeadLetter:
		return "letters"
	case &ofJob, &ofJobs:
		return "jobs"
	case &ofSchedule, &ofSchedules:
		return "schedules"
	case &ofRetention:
		return "retention"
	case &ofQueue:
		return "queues"
	case &ofNode:
		return "nodes"
	default:
		return "instances"
	}
}
