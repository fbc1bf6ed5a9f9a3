package operate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/amount"
	"github.com/perdure/perdure/orchestration"
)

// forever is the age of a rule whose instances stay.
const forever = "forever"

// ParseRetentionRule returns the rule of a text such as Checkout:Failed=720h, in the form of the command line and the dashboard: AGE, NAME=AGE,
// NAME:STATUS=AGE or :STATUS=AGE. AGE is as in [time.ParseDuration], or forever. STATUS is that of an ended instance, in any case. What is behind the last
// colon is a status: a name that has colons itself gets another one at its end, such as shop:Checkout:=720h. The error says what to give, without a prefix.
// Limits of names and ages are checked where a rule is used.
func ParseRetentionRule(text string) (rule RetentionRule, err error) {
	age := text
	if i := strings.LastIndexByte(text, '='); i >= 0 {
		age = text[i+1:]
		if err := rule.parseFor(text[:i]); err != nil {
			return RetentionRule{}, err
		}
	}
	if age == forever {
		rule.Age = orchestration.Off
		return rule, nil
	}
	if rule.Age, err = time.ParseDuration(age); err != nil {
		return RetentionRule{}, fmt.Errorf("rule %q: give AGE, NAME=AGE, NAME:STATUS=AGE or :STATUS=AGE, with an age such as 720h or forever", text)
	}
	return rule, nil
}

// parseFor reads NAME, NAME:STATUS or :STATUS. A colon at the end belongs to no name.
func (r *RetentionRule) parseFor(of string) error {
	name, status := of, ""
	if i := strings.LastIndexByte(of, ':'); i >= 0 {
		name, status = of[:i], of[i+1:]
	}
	if name != "" {
		r.Names = []string{name}
	}
	if status == "" {
		return nil
	}
	ended := []client.Status{client.StatusCompleted, client.StatusFailed, client.StatusCancelled, client.StatusTerminated}
	i := slices.IndexFunc(ended, func(s client.Status) bool { return strings.EqualFold(string(s), status) })
	if i < 0 {
		return fmt.Errorf("rule for %q has no status behind the colon: give Completed, Failed, Cancelled or Terminated, or end a name that has colons with one", of)
	}
	r.Statuses = ended[i : i+1 : i+1]
	return nil
}

// Texts returns the rule in the form of [ParseRetentionRule]. A rule of several names and statuses is as many texts.
func (r *RetentionRule) Texts() (texts []string) {
	names, statuses := r.Names, r.Statuses
	if len(names) == 0 {
		names = []string{""}
	}
	if len(statuses) == 0 {
		statuses = []client.Status{""}
	}
	age := forever
	if r.Age != orchestration.Off {
		age = amount.Span(r.Age)
	}
	for _, name := range names {
		for _, status := range statuses {
			of := name
			if status != "" || strings.Contains(name, ":") {
				of += ":" + string(status)
			}
			if of != "" {
				of += "="
			}
			texts = append(texts, of+age)
		}
	}
	return texts
}
