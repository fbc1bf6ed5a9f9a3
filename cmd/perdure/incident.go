package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/amount"
	"github.com/perdure/perdure/internal/dbname"
	"github.com/perdure/perdure/internal/shell"
	"github.com/perdure/perdure/internal/timeline"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/provider"
)

const (
	incidentWidth = 80 // columns
	incidentLines = 3  // of one text
	incidentShown = 5  // rows of each part; JSON has more

	incidentOpening = 5 * time.Second
)

func newIncident(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "incident",
		Short: "Show at once what changed, fails, retries, is blocked and waits, and what stops it",
		Long: "Incident shows what somebody on call needs to know first, and the act that stops the most. It changes nothing. It opens a\n" +
			"database within five seconds and reads it within five, however many instances there are: one that does not answer a first,\n" +
			"small read is asked nothing else. What could not be read is called unknown. With -o json there are more rows of each part.",
		Example: "  perdure incident --db orders.db\n  perdure incident -o json --db orders.db",
		Args:    arguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), within(incidentOpening, database.read), func(ctx context.Context, c *client.Client) error {
				in, err := operate.New(c).Incident(ctx)
				if err != nil {
					return err
				}
				if !in.Store.Reachable {
					return &storeError{fmt.Errorf("looking at an incident: %w: %s", errNoAnswer, in.Store.Error)}
				}
				if a.output != outputTable {
					for i := range in.Unknown {
						in.Unknown[i].Error = dbname.Mask(in.Unknown[i].Error)
					}
					return a.show(cmd, in, nil)
				}
				return writeIncident(cmd.OutOrStdout(), in, a.db)
			})
		},
	}
}

var errNoAnswer = errors.New("the database does not answer")

// within returns an opener that waits no longer than a time limit for a server.
func within(limit time.Duration, open opener) opener {
	return func(db database, ctx context.Context, logger *slog.Logger) (provider.Provider, error) {
		bounded, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		store, err := open(db, bounded, logger)
		if err != nil && bounded.Err() != nil && ctx.Err() == nil {
			return nil, &storeError{fmt.Errorf("looking at an incident: %w within %s: %w", errNoAnswer, limit, err)}
		}
		return store, err
	}
}

// incidentText writes an incident for a terminal. Commands are in one line of their own, so that they can be copied.
type incidentText struct {
	in  *operate.Incident
	db  string // of the flag --db; "": commands need none
	out strings.Builder
}

// writeIncident writes an incident with lines of at most incidentWidth columns, but for commands.
func writeIncident(w io.Writer, in *operate.Incident, db string) error {
	t := &incidentText{in: in}
	if db != "" { // without a password, a command fails rather than act on another database
		t.db = " --db " + shell.Word(dbname.Mask(db))
	}
	t.head()
	t.acts()
	for _, part := range []struct {
		name, title string
		known       bool
		write       func()
	}{
		{"changed", "CHANGED WITHIN A DAY", in.Changed != nil, t.changed},
		{"failing", "FAILS", in.Failing != nil, t.failing},
		{"retrying", "RETRIES", in.Retrying != nil, t.retrying},
		{"blocked", "BLOCKED", in.Blocked != nil, t.blocked},
		{"noNode", "NO NODE HAS THE CODE", in.NoNode != nil, t.noNode},
		{"queues", "WAITS IN QUEUES", in.Queues != nil, t.queues},
		{"people", "WAITS FOR PEOPLE", in.People != nil, t.people},
	} {
		t.line("", part.title)
		if part.known {
			part.write()
		} else {
			t.line("  ", "unknown: "+t.why(part.name))
		}
	}
	if _, err := io.WriteString(w, t.out.String()); err != nil {
		return fmt.Errorf("writing output: %w", err)
	}
	return nil
}

// line writes a text with an indentation.
func (t *incidentText) line(indent, text string) {
	for _, line := range wrap(plain(text), incidentWidth-len(indent), incidentLines) {
		t.out.WriteString(indent + line + "\n")
	}
}

// command writes a command of perdure that can be copied. Its words are quoted, and nothing in them is changed.
func (t *incidentText) command(text string) {
	t.out.WriteString("    perdure" + t.db + strings.TrimPrefix(text, "perdure") + "\n")
}

// more says how many rows are not shown.
func (t *incidentText) more(listed, beyond int) {
	if n := max(0, listed-incidentShown) + beyond; n > 0 {
		t.line("  ", fmt.Sprintf("and %d more", n))
	}
}

// why says why a part is not known.
func (t *incidentText) why(part string) string {
	for _, u := range t.in.Unknown {
		if u.Part != part {
			continue
		}
		switch u.Why {
		case operate.IncidentUnsupported:
			return "this kind of store cannot tell"
		case operate.IncidentTimeout:
			return "it was not read in time"
		default:
			return operatorText(dbname.Mask(u.Error))
		}
	}
	return "it was not read"
}

// long says how long ago a time is.
func (t *incidentText) long(at time.Time) string { return timeline.Length(max(0, t.in.AsOf.Sub(at))) }

func (t *incidentText) ago(at time.Time) string { return t.long(at) + " ago" }

// head says how the store is, and how many instances it hits.
func (t *incidentText) head() {
	in := t.in
	store := fmt.Sprintf("The database answers in %v", in.Store.Latency.Round(100*time.Microsecond))
	if in.Store.Slow {
		store += ", which is slow: less was read"
	}
	nodes := "nodes are unknown: " + t.why("nodes")
	if n := in.Nodes; n != nil {
		nodes = amount.Of(n.Running, "node") + " " + isOrAre(n.Running) + " running"
		if len(n.Draining) > 0 {
			nodes += ", draining: " + strings.Join(n.Draining, ", ")
		}
		if len(n.Lost) > 0 {
			nodes += ", LOST: " + strings.Join(n.Lost, ", ")
		}
	}
	t.line("", fmt.Sprintf("%s. %s; %s.", instant(in.AsOf), store, nodes))
	if in.Trend == nil {
		t.line("", "What the last hour was like is unknown: "+t.why("trend")+".")
	} else {
		t.line("", "Last hour: "+t.rate("failed", in.Trend.Failed)+"; "+t.rate("retried", in.Trend.Retried)+"; "+t.rate("started", in.Trend.Started)+".")
	}
	hit := []string{"retrying " + countOr(in.Retrying, func() client.Counted { return in.Retrying.Instances })}
	hit = append(hit, "blocked "+countOr(in.Blocked, func() client.Counted { return in.Blocked.Instances }))
	hit = append(hit, "waiting for people "+countOr(in.People, func() client.Counted { return in.People.Instances }))
	t.line("", "Instances now: "+strings.Join(hit, ", ")+".")
}

func isOrAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// countOr returns the count of a part; "unknown" without the part.
func countOr[T any](part *T, count func() client.Counted) string {
	if part == nil {
		return "unknown"
	}
	return count().String()
}

// rate says how many there were in the last hour, and in the hour before.
func (t *incidentText) rate(what string, r operate.IncidentRate) string {
	one := func(n *client.Counted) string {
		if n == nil {
			return "unknown"
		}
		return n.String()
	}
	text := fmt.Sprintf("%s %s (hour before: %s", what, one(r.Last), one(r.Before))
	if r.Growth != operate.IncidentGrowthUnknown {
		text += ", " + string(r.Growth)
	}
	return text + ")"
}

// acts shows what would stop it.
func (t *incidentText) acts() {
	for i := range t.in.Acts[:min(len(t.in.Acts), incidentShown)] {
		act, title := &t.in.Acts[i], "OR"
		if i == 0 {
			title = "TO STOP IT"
			if act.Verb == operate.IncidentLook || act.Verb == operate.IncidentResume {
				title = "TO GO ON"
			}
		}
		t.line("", title+": "+act.Why)
		t.command(act.Command)
	}
	if len(t.in.Acts) == 0 {
		t.line("", "NO ACT of perdure would stop anything that is known.")
	}
}

func (t *incidentText) changed() {
	c := t.in.Changed
	for i := range c.Items[:min(len(c.Items), incidentShown)] {
		t.line("  ", t.ago(c.Items[i].At)+": "+c.Items[i].Text)
	}
	t.more(len(c.Items), c.More)
	if len(c.Items) == 0 {
		t.line("  ", "nothing")
	}
}

func (t *incidentText) failing() {
	f := t.in.Failing
	for i := range f.Items[:min(len(f.Items), incidentShown)] {
		g := &f.Items[i]
		t.line("  ", fmt.Sprintf("%s of %s, code version %s, first %s, last %s", atLeast(g.Count, f.AtLeast), g.Orchestration, versionsText(g.Versions),
			t.ago(g.First), t.ago(g.Last)))
		t.line("    ", t.rate("last hour", g.Recent))
		t.line("    ", excerptText(g.Excerpt))
		t.command("perdure failures " + g.Group)
	}
	t.more(len(f.Items), f.More)
	switch {
	case f.AtLeast:
		t.line("  ", "Only the newest 5,000 failed instances were looked at.")
	case len(f.Items) == 0:
		t.line("  ", "no failure of a day has a group; nodes of older releases store none")
	}
}

func (t *incidentText) retrying() {
	r := t.in.Retrying
	for i := range r.Items[:min(len(r.Items), incidentShown)] {
		one := &r.Items[i]
		text := fmt.Sprintf("%s of %s in queue %s, for %s, attempt %d", amount.Of(one.Count, "call"), one.Activity, one.Queue, t.long(one.Since), one.Attempt)
		if one.Next.After(t.in.AsOf) {
			text += ", next in " + timeline.Length(one.Next.Sub(t.in.AsOf))
		}
		t.line("  ", text)
		last := "(lost with its node)"
		if one.Failure != nil {
			last = excerptText(&client.Excerpt{Text: one.Failure.Message})
		}
		t.line("    ", last)
	}
	t.more(len(r.Items), r.More)
	switch {
	case r.AtLeast:
		t.line("  ", fmt.Sprintf("Only %d activities were looked at.", r.Looked))
	case len(r.Items) == 0:
		t.line("  ", "nothing")
	}
}

func (t *incidentText) blocked() {
	b := t.in.Blocked
	for i := range b.Items[:min(len(b.Items), incidentShown)] {
		one := &b.Items[i]
		t.line("  ", fmt.Sprintf("%s of %s, code version %s: %s, for %s, such as %s", atLeast(one.Count, b.AtLeast), one.Orchestration,
			versionsText([]string{one.CodeVersion}), one.Reason, t.long(one.Since), one.ID))
		message, _, _ := strings.Cut(one.Blocked.Message, "\n")
		t.line("    ", message)
	}
	t.more(len(b.Items), b.More)
	switch {
	case b.AtLeast:
		t.line("  ", fmt.Sprintf("Only the newest %d blocked instances were looked at.", b.Looked))
	case len(b.Items) == 0:
		t.line("  ", "nothing")
	}
}

func (t *incidentText) noNode() {
	n := t.in.NoNode
	for i := range n.Items[:min(len(n.Items), incidentShown)] {
		v := &n.Items[i]
		t.line("  ", fmt.Sprintf("%s of %s with code version %s, the oldest began %s", v.Instances(), v.Orchestration, versionsText([]string{v.Version}),
			t.ago(v.Oldest)))
	}
	t.more(len(n.Items), n.More)
	if len(n.Items) == 0 {
		t.line("  ", "nothing")
	}
}

func (t *incidentText) queues() {
	q := t.in.Queues
	for i := range q.Items[:min(len(q.Items), incidentShown)] {
		one := &q.Items[i]
		text := fmt.Sprintf("%s: %d waiting", one.Queue, one.Waiting)
		if one.Waiting > 0 {
			text += ", the oldest for " + t.long(one.Oldest)
		}
		if p := one.Paused; p != nil {
			text += "; PAUSED " + orderText(p)
		}
		t.line("  ", text)
		for j := range one.NotBegun {
			if why := &one.NotBegun[j]; one.Paused == nil && why.NotBegun.Reason != client.NotBegunNext {
				t.line("    ", why.Activity+": "+why.NotBegun.Text)
			}
		}
	}
	t.more(len(q.Items), q.More)
	if len(q.Items) == 0 {
		t.line("  ", "nothing")
	}
}

func (t *incidentText) people() {
	p := t.in.People
	for i := range p.Items {
		one := &p.Items[i]
		text := "(it waits no more, or its text cannot be read)"
		if one.Waiting != nil {
			text = one.Waiting.Text
		}
		t.line("  ", fmt.Sprintf("%s for %s: %s", one.ID, t.long(one.Since), text))
	}
	switch n := p.Instances; {
	case !n.Exact:
		t.line("  ", n.String()+" in all: only the newest were looked at, older ones may wait longer")
	case n.Count == 0:
		t.line("  ", "nothing")
	case n.Count > int64(len(p.Items)):
		t.line("  ", n.String()+" in all")
	}
}
