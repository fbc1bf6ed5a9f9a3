package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/operate"
)

const (
	// maxChosen is how many instances can be chosen for an act on each.
	maxChosen = 100
	// maxStarts is how many instances one request starts.
	maxStarts = 1000
)

// each is what an act on one of several instances has come to.
type each struct {
	ID    string `json:"id,omitempty"`
	Key   string `json:"key,omitempty"`
	Error string `json:"error,omitempty"`
	Code  string `json:"code,omitempty"` // of the error, as that of a problem
}

// failed adds an error.
func (e *each) failed(c *call, err error) {
	if err != nil {
		e.Error = c.errorText(err)
		_, e.Code = classify(err)
	}
}

// manyActs are acts on several instances that are not stored as a job.
func manyActs() []act {
	return []act{
		{
			of: &ofStore, name: "start-many", right: client.ActStart, title: "Start many instances", do: startMany, answers: reflect.TypeFor[list[each]](),
			says: "Instances of one orchestration are started. One that is refused does not stop the others.",
			fields: []field{
				{name: "orchestration", label: "Orchestration", required: true, help: "The stored name, as the page of nodes lists it."},
				{name: "version", label: "Version", help: "Empty: the newest that a node has registered."},
				{
					name: "starts", kind: aJSON, label: "Starts", required: true, value: `[{"id": "", "input": null}]`,
					help: "An array of at most 1,000 objects with the fields input, id, requestId and delay. Give id and requestId to make it repeatable.",
				},
			},
		},
		{
			of: &ofStore, name: "act", right: client.ActBulk, title: "Act on chosen instances", danger: true, chosen: true, do: actOnChosen,
			answers: reflect.TypeFor[list[each]](),
			says:    "The act is done on each of these instances, one after the other, and each is in the audit.",
			fields: []field{
				{name: "keys", kind: aList, label: "Instances", required: true, shown: true, help: "Their keys, at most 100."},
				{name: "act", kind: aValue, label: "Act", choices: chosenActs(), value: string(client.ActCancel), required: true},
				reasonField,
				{name: "event", label: "Event", help: "For raise."},
				{name: "payload", kind: aJSON, label: "Payload", help: "For raise. JSON."},
				{name: "version", label: "Version", help: "For move."},
				{name: "force", kind: aBool, label: "Also those that run", help: "For delete."},
			},
		},
	}
}

// oneStart is a start of many.
type oneStart struct {
	ID        string          `json:"id"`
	Input     json.RawMessage `json:"input"`
	RequestID string          `json:"requestId"`
	Delay     string          `json:"delay"`
}

// options returns the options of a start.
func (s *oneStart) options(version string) (opts []client.StartOption, err error) {
	if s.ID != "" {
		opts = append(opts, client.WithID(s.ID))
	}
	if s.RequestID != "" {
		opts = append(opts, client.WithRequestID(s.RequestID))
	}
	if version != "" {
		opts = append(opts, client.WithVersion(version))
	}
	if s.Delay != "" {
		delay, err := time.ParseDuration(s.Delay)
		if err != nil {
			return nil, badInput("delay %q: give a duration such as 90s or 1h30m", s.Delay)
		}
		opts = append(opts, client.WithDelay(delay))
	}
	return opts, nil
}

func startMany(ctx context.Context, c *call, in input) (outcome, error) {
	if !c.who.May(client.ActStart) { // otherwise each start would say so
		return outcome{}, fmt.Errorf("starting many as %v: %w", c.who.Role, client.ErrForbidden)
	}
	var given []oneStart
	d := json.NewDecoder(bytes.NewReader([]byte(in["starts"])))
	d.DisallowUnknownFields()
	if err := d.Decode(&given); err != nil {
		return outcome{}, badInput("starts must be an array of objects with the fields input, id, requestId and delay: %v", err)
	}
	if len(given) < 1 || len(given) > maxStarts {
		return outcome{}, badInput("starts has %d items: give 1 to %d", len(given), maxStarts)
	}
	starts := make([]client.ManyStart[any], len(given))
	for i := range given {
		opts, err := given[i].options(in["version"])
		if err != nil {
			return outcome{}, fmt.Errorf("start %d: %w", i+1, err)
		}
		starts[i] = client.ManyStart[any]{Input: given[i].Input, Options: opts}
		if given[i].Input == nil {
			starts[i].Input = json.RawMessage("null")
		}
	}
	made, err := client.StartManyNamed[json.RawMessage](ctx, c.client, in["orchestration"], starts)
	if err != nil {
		return outcome{}, err
	}
	done := list[each]{Items: make([]each, len(made))}
	for i := range made {
		one := &done.Items[i]
		if one.ID = given[i].ID; made[i].Err == nil {
			one.ID, one.Key = made[i].Handle.ID(), made[i].Handle.Key().String()
		}
		one.failed(c, made[i].Err) //nolint:contextcheck // a call has the context of its request
	}
	return outcome{value: done}, nil
}

// chosenActs are the acts on chosen instances by name: those of bulk jobs that are the same on each instance.
func chosenActs() (names []string) {
	for _, a := range operate.BulkActs() {
		if ofEach(string(a)) != nil {
			names = append(names, string(a))
		}
	}
	return names
}

// ofEach returns an act on an instance that can be done on chosen ones; nil: it is none.
func ofEach(name string) *act {
	of := slices.Concat(instanceActs(), steerActs(), deletionActs())
	i := slices.IndexFunc(of, func(a act) bool { return a.of == &ofInstance && a.name == name })
	if i < 0 {
		return nil
	}
	return &of[i]
}

// actOnChosen does an act on each of the chosen instances. It ends early only with the request.
func actOnChosen(ctx context.Context, c *call, in input) (outcome, error) {
	keys := in.list("keys")
	slices.Sort(keys)
	keys = slices.Compact(keys)
	if len(keys) > maxChosen {
		return outcome{}, badInput("keys has %d instances: give at most %d, or begin a bulk job", len(keys), maxChosen)
	}
	for _, key := range keys {
		if parseKey(key).IsZero() {
			return outcome{}, badInput("keys has %q: give keys of instances", key)
		}
	}
	a := ofEach(in["act"])
	if a == nil {
		return outcome{}, badInput("act is %q: give one of %s", in["act"], strings.Join(chosenActs(), ", "))
	}
	if !c.who.May(a.right) {
		return outcome{}, fmt.Errorf("%s as %v: %w", a.right, c.who.Role, client.ErrForbidden)
	}
	for _, f := range a.fields {
		if err := f.check(in[f.name]); err != nil {
			return outcome{}, err
		}
	}
	done := list[each]{Items: make([]each, 0, len(keys))}
	for _, key := range keys {
		one := *c
		one.r = c.r.Clone(ctx)
		one.r.SetPathValue("key", key)
		result := each{Key: key}
		_, err := a.do(ctx, &one, in)
		result.failed(c, err) //nolint:contextcheck // as above
		done.Items = append(done.Items, result)
	}
	return outcome{value: done}, nil
}

// chosen returns the chosen instances as they are now. One that is gone is left out.
func (c *call) chosen(keys []string) (found []client.Description, err error) {
	if len(keys) == 0 {
		return nil, badInput("no instance is chosen: go back, and choose some")
	}
	if len(keys) > maxChosen {
		return nil, badInput("%d instances are chosen: choose at most %d, or act on all that match a filter", len(keys), maxChosen)
	}
	for _, key := range keys {
		one := *c
		one.r = c.r.Clone(c.r.Context())
		one.r.SetPathValue("key", key)
		h, err := one.handle()
		if err != nil {
			return nil, err
		}
		d, err := h.Describe(c.r.Context())
		if status, _ := classify(err); err != nil && status != http.StatusNotFound {
			return nil, err
		}
		if err == nil {
			found = append(found, d)
		}
	}
	return found, nil
}
