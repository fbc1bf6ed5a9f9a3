package dashboard

import (
	"encoding/json"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/shell"
)

// pageSize is how many instances a page lists.
const pageSize = 50

// instancesData is what the list of instances shows.
type instancesData struct {
	Counts   []statusCount
	List     client.Instances
	Statuses []string
	Filtered bool
	First    string       // address of the first page; "": this is it
	Next     string       // address of the next page; "": this is the last one
	Command  string       // that lists the same
	Query    template.URL // the filters, for an address
	Filter   string       // the same, for the field of a form; "": no bulk job takes it
	Search   string       // what is in the box
	Absolute string       // the search in its canonical form, if that differs
	Mistake  string       // what is wrong with the search
	Form     filterForm
	Either   bool // the search has several branches
}

// instances lists the instances that the query selects.
func (c *call) instances() error {
	page, err := c.page(pageSize)
	if err != nil {
		return err
	}
	data := instancesData{Statuses: statusNames(), Search: c.param(searchParam.name), Filtered: true}
	sel, err := c.selects()
	if bad, ok := errors.AsType[*refusal](err); ok && data.Search != "" && strings.HasPrefix(bad.text, "search") {
		data.Mistake = bad.text
		return c.show(bad.status, "instances", view{Title: "Instances", Nav: "instances", Data: &data, c: c})
	}
	if err != nil {
		return err
	}
	if data.List, err = sel.list(c, page); err != nil {
		return err
	}
	if data.Counts, err = c.statusCounts(c.r.Context()); err != nil {
		c.s.logger.WarnContext(c.r.Context(), "instances cannot be counted", "error", err)
	}
	v := view{Title: "Instances", Nav: "instances", Live: page.Cursor == "", Data: &data, c: c}
	if data.List.Cursor != "" {
		data.Next = v.With("cursor", data.List.Cursor)
	}
	if page.Cursor != "" {
		data.First = v.With("cursor", "")
	}
	q := c.r.URL.Query()
	for _, name := range []string{"cursor", "size", "done", "payloads"} {
		q.Del(name)
	}
	data.Filter = q.Encode()
	data.Query = template.URL(data.Filter) //nolint:gosec // Encode has escaped it
	data.Filtered = strings.Trim(data.Filter, "=&abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" || slices.ContainsFunc(mapValues(q), notEmpty)
	data.Command = listCommand(q)
	data.Form = formOf(&sel)
	if text := sel.search.String(); sel.asked {
		_, single := sel.search.Filter()
		data.Either = !single
		if len(q) > 1 || q.Get(searchParam.name) == "" { // the form adds to the search
			data.Search = text
		}
		if text != data.Search {
			data.Absolute = text
		}
		data.Command = "perdure list " + shell.Word(text)
		data.Filter = url.Values{searchParam.name: {text}}.Encode()
		data.Query = template.URL(data.Filter) //nolint:gosec // Encode has escaped it
		if _, err := sel.bulk(); err != nil {
			data.Filter = ""
		}
	} else {
		data.Search = text
	}
	return c.show(http.StatusOK, "instances", v)
}

func notEmpty(s string) bool { return s != "" }

func mapValues(q url.Values) (all []string) {
	for _, values := range q {
		all = append(all, values...)
	}
	return all
}

// listCommand returns the command that lists the same instances.
func listCommand(q url.Values) string {
	words := []string{"perdure", "list"}
	for _, f := range []struct{ param, flag string }{
		{"status", "--status"},
		{"orchestration", "--name"},
		{"prefix", "--prefix"},
		{"version", "--version"},
		{"parent", "--parent"},
		{"createdAfter", "--created-after"},
		{"createdBefore", "--created-before"},
		{"endedAfter", "--ended-after"},
		{"endedBefore", "--ended-before"},
		{"attribute", "--attribute"},
		{"failureGroup", "--failure-group"},
	} {
		for _, value := range q[f.param] {
			if value != "" {
				words = append(words, f.flag, shell.Word(value))
			}
		}
	}
	for _, flag := range []string{"blocked", "waiting", "retrying", "replaced", "system"} {
		if isTrue(q.Get(flag)) {
			words = append(words, "--"+flag)
		}
	}
	return strings.Join(words, " ")
}

// lookup leads from an ID to the page of its instance, or to those whose IDs begin so.
func (c *call) lookup() error {
	id := strings.TrimSpace(c.param("id"))
	if id == "" {
		c.redirect("/instances")
		return nil
	}
	h, err := client.Lookup[json.RawMessage](c.r.Context(), c.client, id)
	if err == nil {
		c.redirect("/instances/" + h.Key().String())
		return nil
	}
	if status, _ := classify(err); status != http.StatusNotFound {
		return err
	}
	if d, err := client.HandleOf[json.RawMessage](c.client, "", parseKey(id)).Describe(c.r.Context()); err == nil {
		c.redirect("/instances/" + d.Key.String())
		return nil
	}
	c.redirect("/instances?prefix=" + escapeQuery(id))
	return nil
}
