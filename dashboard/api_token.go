package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/perdure/perdure/client"
)

// A tokenAct is an act on the activity of a token.
type tokenAct struct {
	fields []field
	do     func(context.Context, *client.Client, input) error
}

// serve reads the input, and does the act.
func (a tokenAct) serve(c *call) error {
	in, err := readInput(c, a.fields)
	if err == nil {
		err = a.do(c.r.Context(), c.client, in)
	}
	if err != nil {
		return err
	}
	return c.answer(nil)
}

// tokenEndpoints are the routes for programs that end activities later, by the token that the activity has given them.
func tokenEndpoints() []route {
	token := field{name: "token", required: true, help: "Of activity.Token."}
	post := func(name, summary string, do func(context.Context, *client.Client, input) error, fields ...field) route {
		fields = append([]field{token}, fields...)
		return route{
			method: http.MethodPost, pattern: apiPath + "/activities/" + name, right: client.ActActivity,
			serve: tokenAct{fields, do}.serve,
			api:   &endpoint{summary: summary, body: fields},
		}
	}
	return []route{
		post("complete", "End an activity that is completed later, with its output.",
			func(ctx context.Context, c *client.Client, in input) error {
				return client.CompleteActivity(ctx, c, in["token"], in.json("output"))
			},
			field{name: "output", kind: aJSON, help: "JSON of the type that the activity would return. Without it: null."}),
		post("fail", "End an activity that is completed later, with an error. It is not tried again.",
			func(ctx context.Context, c *client.Client, in input) error {
				return client.FailActivity(ctx, c, in["token"], errors.New(in["error"]))
			},
			field{name: "error", required: true, help: "The text that the orchestration's code gets."}),
		post("heartbeat", "Store progress of an activity that is completed later. The code activity-cancelled says that it should stop.",
			func(ctx context.Context, c *client.Client, in input) error {
				var details any
				if in["details"] != "" {
					details = json.RawMessage(in["details"])
				}
				return client.HeartbeatActivity(ctx, c, in["token"], details)
			},
			field{name: "details", kind: aJSON, help: "JSON. Without it, the details stay."}),
		post("cancelled", "End an activity that was cancelled.",
			func(ctx context.Context, c *client.Client, in input) error {
				return client.ReportCancelled(ctx, c, in["token"])
			}),
	}
}
