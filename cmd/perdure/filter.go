package main

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
)

// filterFlags are the flags that choose instances, the same for all commands that work on many.
type filterFlags struct {
	filter     client.Filter
	statuses   []string
	attributes []string
	parent     string
	parentKey  string
	times      map[string]*string       // by flag
	ago        map[string]time.Duration // of the times that are so long ago, by flag
}

// add adds the flags to a command.
func (f *filterFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&f.statuses, "status", nil, "only instances with this status, such as running; repeatable")
	flags.StringVar(&f.filter.Orchestration, "name", "", "only instances of this orchestration")
	flags.StringArrayVar(&f.filter.CodeVersions, "version", nil, "only instances that run this version of their code; repeatable; empty: code without a version")
	flags.StringVar(&f.filter.IDPrefix, "prefix", "", "only instances whose ID begins with this text")
	flags.BoolVar(&f.filter.Blocked, "blocked", false, "only blocked instances, whose turns fail")
	flags.BoolVar(&f.filter.Waiting, "waiting", false, "only instances that wait with a text for people")
	flags.BoolVar(&f.filter.Retrying, "retrying", false, "only instances with a pending activity that is tried again")
	flags.StringVar(&f.filter.FailureGroup, "failure-group", "", "only instances that failed with this group of errors: see perdure failures")
	flags.StringVar(&f.parent, "parent", "", "only children of the instance with this ID")
	flags.StringVar(&f.parentKey, "parent-key", "", "only children of the instance with this key")
	flags.StringArrayVar(&f.attributes, "attribute", nil, "only instances with this attribute, such as region=eu or count:int=7; repeatable")
	flags.BoolVar(&f.filter.Replaced, "replaced", false, "also instances whose ID now names a newer one")
	flags.BoolVar(&f.filter.System, "system", false, "also the instances of perdure itself, such as schedules")
	f.times = map[string]*string{
		"created-after":  flags.String("created-after", "", "only instances created at or after a time, such as 2026-01-02T03:04:05Z, or this long ago, such as 24h"),
		"created-before": flags.String("created-before", "", "only instances created before this time, or longer ago than this"),
		"ended-after":    flags.String("ended-after", "", "only instances that ended at or after this time, or not longer ago than this"),
		"ended-before":   flags.String("ended-before", "", "only instances that ended before this time, or longer ago than this"),
	}
}

// check parses the flags that need no store.
func (f *filterFlags) check(cmd *cobra.Command) (err error) {
	for flag, length := range map[string]int{
		"status": len(f.statuses), "name": len(f.filter.Orchestration), "prefix": len(f.filter.IDPrefix), "parent": len(f.parent), "parent-key": len(f.parentKey),
		"failure-group": len(f.filter.FailureGroup),
	} {
		if err := notEmpty(cmd, flag, length); err != nil {
			return err
		}
	}
	if f.parent != "" && f.parentKey != "" {
		return badUsage("flags --parent and --parent-key: give one of them")
	}
	if f.filter.Statuses, err = parseStatuses(f.statuses); err != nil {
		return err
	}
	if f.filter.Attributes, err = parseAttributes(f.attributes); err != nil {
		return err
	}
	f.ago = map[string]time.Duration{}
	for flag, into := range f.moments() {
		if !cmd.Flags().Changed(flag) {
			continue
		}
		text := *f.times[flag]
		if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
			f.ago[flag] = ago
		} else if *into, err = parseMoment(flag, text); err != nil {
			return err
		}
	}
	if f.parentKey != "" {
		f.filter.Parent, err = parseKey("flag --parent-key", f.parentKey)
	}
	return err
}

// moments are the fields of the filter that are times, by flag.
func (f *filterFlags) moments() map[string]*time.Time {
	return map[string]*time.Time{
		"created-after": &f.filter.CreatedAfter, "created-before": &f.filter.CreatedBefore,
		"ended-after": &f.filter.EndedAfter, "ended-before": &f.filter.EndedBefore,
	}
}

// of returns the filter, after check. What is so long ago is so by the clock of the store, as the times that it is compared with.
func (f *filterFlags) of(ctx context.Context, c *client.Client) (client.Filter, error) {
	if len(f.ago) == 0 {
		return f.at(ctx, c, time.Time{})
	}
	now, err := c.Now(ctx)
	if err != nil {
		return f.filter, err
	}
	return f.at(ctx, c, now)
}

// at is of with the time of the store.
func (f *filterFlags) at(ctx context.Context, c *client.Client, now time.Time) (client.Filter, error) {
	moments := f.moments()
	for flag, ago := range f.ago {
		*moments[flag] = now.Add(-ago)
	}
	if f.parent == "" {
		return f.filter, nil
	}
	h, err := client.Lookup[json.RawMessage](ctx, c, f.parent)
	f.filter.Parent = h.Key()
	return f.filter, err
}

// parseMoment parses a time or a day.
func parseMoment(flag, text string) (time.Time, error) {
	for _, form := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(form, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, badUsage("flag --%s is %q: it must be a time such as 2026-01-02T03:04:05Z, a day such as 2026-01-02, or such as 24h", flag, text)
}

// parseStatuses parses statuses in upper or lower case.
func parseStatuses(given []string) ([]client.Status, error) {
	var statuses []client.Status
next:
	for _, text := range given {
		for _, status := range instanceStatuses {
			if strings.EqualFold(text, string(status)) {
				statuses = append(statuses, status)
				continue next
			}
		}
		return nil, badUsage("flag --status is %q: it must be running, suspended, completed, failed, cancelled or terminated", text)
	}
	return statuses, nil
}

// instanceStatuses has the statuses of instances.
//
//nolint:gochecknoglobals // constant table
var instanceStatuses = []client.Status{
	client.StatusRunning, client.StatusSuspended, client.StatusCompleted, client.StatusFailed, client.StatusCancelled, client.StatusTerminated,
}
