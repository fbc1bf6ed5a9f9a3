package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestrationtest"
)

// Redact sees texts before anything cuts them, on each page and in each answer: of half a secret it would know nothing. The secret lies over the places
// where pages cut: at 80, 120, 160, 200, 300 and 400 bytes, and at the end of the first line. That holds for what acts return, too.
func TestHazard161_RedactSeesWholeTexts(t *testing.T) {
	const secret, lines = "PIN=one two three", "KEY=four\nzulu"
	text := ""
	for _, at := range []int{72, 112, 152, 192, 292, 392} {
		text += strings.Repeat("-", at-len(text)) + secret
	}
	text += lines
	parts := []string{"PIN=", "three", "KEY=", "zulu"}
	redact := func(_ context.Context, _ client.Principal, p Payload) (json.RawMessage, error) {
		var of string
		if !bytes.HasPrefix(p.Data, []byte(`"`)) {
			return p.Data, nil
		}
		if err := json.Unmarshal(p.Data, &of); err != nil {
			return nil, err
		}
		return json.Marshal(strings.NewReplacer(secret, "(redacted)", lines, "(redacted)").Replace(of))
	}
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		w := textWorld(t, e, "Plain", text)
		for name, o := range map[string]Options{
			"with Redact":            {Authorize: as(client.RoleAdmin), Redact: redact},
			"with HidePayloads":      {Authorize: as(client.RoleAdmin), HidePayloads: true},
			"without access control": {},
		} {
			log := new(bytes.Buffer)
			o.Logger = slog.New(slog.NewTextHandler(log, nil))
			s := w.site(o)
			paths := []string{"/", "/instances", "/retrying", "/failures", "/audit", "/queues", "/schedules", "/dead-letters", "/jobs", "/nodes"}
			for _, path := range []string{
				"/instances", "/activities?retrying=true", "/failures", "/audit", "/queues", "/schedules", "/schedule?id=nightly", "/dead-letters", "/figures",
			} {
				paths = append(paths, apiPath+path)
			}
			for _, in := range []string{"wait", "retry", "panic", "fail"} {
				page := "/instances/" + w.key("Plain"+in)
				for _, rest := range []string{"", "/history", "/history?form=full", "/timeline", "/children"} {
					paths = append(paths, page+rest)
				}
				for _, rest := range []string{"", "/history", "/result", "/waits", "/tree"} {
					paths = append(paths, apiPath+page+rest)
				}
			}
			check := func(path, body string) {
				for _, part := range parts {
					if strings.Contains(body, part) {
						t.Errorf("%s: %s shows %q", name, path, part)
					}
				}
			}
			for _, path := range paths {
				for _, more := range []string{"", "payloads=show"} {
					join := "?"
					if strings.Contains(path, "?") {
						join = "&"
					}
					r := s.get(path + join + more)
					if r.StatusCode != http.StatusOK && r.StatusCode != http.StatusForbidden {
						t.Errorf("%s: %s: status %d: %s", name, path, r.StatusCode, r.body)
					}
					check(path, r.body)
				}
			}
			if o.Authorize != nil {
				page := "/instances/" + w.key("Plainwait")
				for act, of := range map[string]string{"query": "ask", "update": "change"} {
					for what, r := range map[string]reply{
						act: s.form(page+"/"+act, url.Values{act: {of}, "input": {"1"}, "requestId": {name}}), apiPath + act: s.call(page+"/"+act, map[string]any{act: of, "input": 1}),
					} {
						if r.StatusCode != http.StatusUnprocessableEntity {
							t.Errorf("%s: %s: status %d: %s", name, what, r.StatusCode, r.body)
						}
						check(what, r.body)
					}
				}
			}
			check("the log", log.String())
		}
	})
}

// Every field of the API whose name says that it holds a text of somebody is shown like the text of an error, or is known to hold none.
func TestHazard161_FieldsOfTheAPIAreJudged(t *testing.T) {
	words := strings.Fields("reason message problem detail error failure note notStored findings unreadable why text")
	harmless := []string{ // texts of perdure itself; what a call of the store returns; faces and texts of groups, which have rules of their own
		"client.Blocked reason", "client.Excerpt text", "client.Excerpt unreadable", "client.FailedText text", "client.Description unreadable",
		"client.WaitingFor text", "client.Wait text", "client.NotBegun reason", "client.NotBegun text", "client.FiguresMark text", "client.Triggered reason",
		"client.Triggered detail", "client.ScheduleSkip reason", "client.ScheduleSkip detail", "operate.BulkText text", "dashboard.each error",
		"operate.IncidentAct why", "operate.IncidentBlock reason", "operate.IncidentUnknown why", "operate.IncidentUnknown error", "operate.IncidentStore error",
	}
	seen := map[reflect.Type]bool{}
	var judge func(of reflect.Type)
	judge = func(of reflect.Type) {
		for slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map}, of.Kind()) {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct || seen[of] {
			return
		}
		seen[of] = true
		for _, f := range fieldsOf(of) {
			in := of.Field(f.index).Type
			text := in.Kind() == reflect.String || in.Kind() == reflect.Slice && in.Elem().Kind() == reflect.String
			name := of.String() + " " + f.name
			if text && slices.Contains(words, f.name) && !errorText(reflect.New(of).Elem(), f.name) && !slices.Contains(harmless, name) {
				t.Errorf("%s is neither in quoting nor known to be harmless", name)
			}
			judge(in)
		}
	}
	for _, rt := range routes() {
		if rt.api != nil && rt.api.answers != nil {
			judge(rt.api.answers)
		}
	}
	for of := range quoting {
		if !seen[of] {
			t.Errorf("no route answers %v", of)
		}
	}
}
