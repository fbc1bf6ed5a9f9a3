package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/amount"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/orchestration"
)

// retentionActs are acts on what the store removes by itself.
func retentionActs() []act {
	return []act{
		{
			of: &ofRetention, name: "set", right: client.ActRetention, title: "Set the rules", danger: true, do: setRetention,
			filled: presentRules, counts: &countable{rows: countRules},
			says: "The rules take the place of those before. Once an hour, a node removes what they do not keep, for good.",
			fields: append(ruleFields(),
				field{name: "batch", kind: anInt, label: "Instances in one step", help: "1 to 1,000. Empty: 100."},
				field{name: "rate", label: "Instances a second", help: "At most 10,000. Empty: 200."},
				field{name: "off", kind: aBool, label: "Remove nothing any more"}),
		},
		{
			of: &ofRetention, name: "run", right: client.ActRetention, title: "Begin a round now", danger: true, counts: &countable{rows: countRound, rests: roundRests},
			says: "A node removes what the rules do not keep, now and not within the hour.",
			do: func(ctx context.Context, c *call, _ input) (outcome, error) {
				return outcome{}, operate.New(c.client).RunRetention(ctx)
			},
		},
	}
}

// ruleFields say what stays.
func ruleFields() []field {
	return []field{
		{
			name: "rules", kind: aList, label: "Rules",
			help: "One a line: AGE, NAME=AGE, NAME:STATUS=AGE or :STATUS=AGE, such as Checkout:Failed=720h. AGE is at least 24h, or forever. " +
				"The first one that matches counts. Instances without a rule stay.",
		},
		{name: "trim", kind: aSpan, label: "Old executions stay", help: "Of instances that continue as new. At least 24h. Empty: they stay for ever."},
		{name: "keep", kind: anInt, label: "Executions before the current one that stay", help: "1 to 1,000. Empty: 1."},
		{name: "audit", kind: aSpan, label: "Records of the audit stay", help: "At least 24h. Empty: they stay for ever."},
	}
}

func setRetention(ctx context.Context, c *call, in input) (outcome, error) {
	r, err := in.rules(c)
	if err != nil {
		return outcome{}, err
	}
	return outcome{}, operate.New(c.client).SetRetention(ctx, r)
}

// rules returns the rules that the fields set. Nothing given is a mistake, since it would switch retention off.
func (in input) rules(c *call) (operate.Retention, error) {
	r, err := in.retention()
	if err != nil {
		return r, err
	}
	switch off := in.bool("off"); {
	case off && c.isAPI() && !r.Off():
		return r, badInput("off goes alone: leave out the rules")
	case off:
		return operate.Retention{}, nil
	case r.Off():
		return r, badInput("there are no rules: give rules, trim or audit, or off")
	}
	return r, nil
}

// retention returns what the fields say.
func (in input) retention() (r operate.Retention, err error) {
	for _, line := range in.list("rules") {
		rule, err := operate.ParseRetentionRule(line)
		if err != nil {
			return r, badInput("%v", err)
		}
		r.Rules = append(r.Rules, rule)
	}
	if in["trim"] == "" && in["keep"] != "" {
		return r, badInput("keep is for trim: give that, too")
	}
	if in["trim"] != "" {
		r.Trim = &operate.TrimRule{Age: in.span("trim"), Keep: int(in.int("keep"))}
	}
	r.Audit, r.Batch = in.span("audit"), int(in.int("batch"))
	if in["rate"] != "" {
		if r.Rate, err = strconv.ParseFloat(in["rate"], 64); err != nil {
			return r, badInput("rate is %q: give a number", in["rate"])
		}
	}
	return r, nil
}

// presentRules returns the rules as the fields of a form have them.
func presentRules(ctx context.Context, c *call) (input, error) {
	info, err := operate.New(c.client).Retention(ctx)
	if err != nil || !info.On {
		return input{}, err
	}
	in := input{"rate": strconv.FormatFloat(info.Rate, 'g', -1, 64), "batch": strconv.Itoa(info.Batch)}
	for i := range info.Rules {
		in["rules"] += strings.Join(info.Rules[i].Texts(), "\n") + "\n"
	}
	if info.Trim != nil {
		in["trim"], in["keep"] = amount.Span(info.Trim.Age), strconv.Itoa(info.Trim.Keep)
	}
	if info.Audit != 0 {
		in["audit"] = amount.Span(info.Audit)
	}
	return in, nil
}

// countRules counts what the rules of a form would remove.
func countRules(ctx context.Context, c *call, in input) ([]counting, error) {
	r, err := in.rules(c)
	if err != nil {
		return nil, err
	}
	return countRetention(ctx, c, r)
}

// countRound counts what a round by the stored rules would remove.
func countRound(ctx context.Context, c *call, _ input) ([]counting, error) {
	info, err := operate.New(c.client).Retention(ctx)
	if err != nil {
		return nil, err
	}
	return countRetention(ctx, c, info.Retention)
}

// roundRests says by which rules a round goes.
func roundRests(ctx context.Context, c *call) (string, error) {
	info, err := operate.New(c.client).Retention(ctx)
	if err != nil {
		return "", err
	}
	rules, err := json.Marshal(info.Retention)
	return string(rules), err
}

// countRetention has a row for each kind of what rules would remove. Rules that keep all have none.
func countRetention(ctx context.Context, c *call, r operate.Retention) (rows []counting, err error) {
	p, err := operate.New(c.client).PreviewRetention(ctx, r)
	if err != nil {
		return nil, err
	}
	for i := range r.Rules {
		if r.Rules[i].Age == orchestration.Off {
			continue
		}
		rule := strings.Join(r.Rules[i].Texts(), ", ")
		rows = append(rows, counting{What: fmt.Sprintf("Instances by rule %d, %s", i+1, rule), Counted: p.Rules[i]})
	}
	if len(r.Rules) > 0 {
		rows = append(rows, counting{What: "Ended schedules and bulk jobs", Counted: p.Own})
	}
	if r.Trim != nil {
		rows = append(rows, counting{What: "Old executions, also of instances above", Counted: p.Executions})
	}
	if r.Audit != 0 {
		rows = append(rows, counting{What: "Records of the audit", Counted: p.Records})
	}
	return rows, nil
}

// retentionData is what the page of retention shows.
type retentionData struct{ Info operate.RetentionInfo }

// retention shows what the store removes by itself.
func (c *call) retention() error {
	info, err := operate.New(c.client).Retention(c.r.Context())
	if err != nil {
		return err
	}
	return c.show(http.StatusOK, "retention", view{Title: "Retention", Nav: "retention", Live: true, Data: &retentionData{info}})
}

func (c *call) apiRetention() error {
	info, err := operate.New(c.client).Retention(c.r.Context())
	if err != nil {
		return err
	}
	return c.answer(info)
}
