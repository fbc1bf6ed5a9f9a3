package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
)

// searchHelp describes the argument of commands that search.
const searchHelp = "SEARCH is a text such as 'status:failed name:checkout @region:eu started:<1h'. Terms with a space between them must all hold,\n" +
	"and so must the flags. OR stands between at most 4 branches. Quote it for the shell. docs/reference/search.md has all words."

// selection is what the flags and the search of a command select.
type selection struct {
	filter client.Filter
	search *client.Search // nil: the filter alone
}

// checkSearch refuses a text that is no search, before a database is opened.
func checkSearch(args []string) error {
	if len(args) == 0 {
		return nil
	}
	return searchMistake(client.CheckSearch(args[0]))
}

// searchMistake makes a mistake of the command line of an error of a search.
func searchMistake(err error) error {
	if bad, ok := errors.AsType[*client.SearchError](err); ok {
		return badUsage("%v", bad)
	}
	return err
}

// selects returns what the flags and the search of a command select. Relative times of both are by the clock of the store, when the first page was
// read.
func (f *filterFlags) selects(ctx context.Context, cmd *cobra.Command, a *app, c *client.Client, args []string, cursor string) (selection, error) {
	if len(args) == 0 {
		filter, err := f.of(ctx, c)
		return selection{filter: filter}, err
	}
	now, err := c.SearchTime(ctx, cursor)
	if err != nil {
		return selection{}, err
	}
	filter, err := f.at(ctx, c, now)
	if err != nil {
		return selection{}, err
	}
	s, err := client.ParseSearch(args[0], now)
	if err == nil {
		s, err = s.And(filter)
	}
	if err != nil {
		return selection{}, searchMistake(err)
	}
	if text := s.String(); text != strings.TrimSpace(args[0]) && a.output != outputJSON {
		fmt.Fprintf(cmd.ErrOrStderr(), "searching %s\n", text)
	}
	return selection{search: &s}, nil
}

// list returns a page.
func (s *selection) list(ctx context.Context, c *client.Client, page client.Page) (client.Instances, error) {
	if s.search == nil {
		return c.List(ctx, s.filter, page)
	}
	return c.ListSearch(ctx, *s.search, page)
}

// retryingCounted is above what stores count of instances whose activities are tried again.
const retryingCounted = 1_000_000

// count counts up to most; 0: all.
func (s *selection) count(ctx context.Context, c *client.Client, most int64) (n client.Counted, err error) {
	if s.search != nil {
		f, single := s.search.Filter()
		if !single {
			if most == 0 {
				most = math.MaxInt64
			}
			return c.CountSearchUpTo(ctx, *s.search, most)
		}
		s.filter = f
	}
	if most == 0 && s.filter.Retrying {
		most = retryingCounted // Count could not say that there may be more
	}
	if most > 0 {
		return c.CountUpTo(ctx, s.filter, most)
	}
	n.Exact = true
	n.Count, err = c.Count(ctx, s.filter)
	return n, err
}

// text returns the search in its canonical form; "": there is none.
func (s *selection) text() string {
	if s.search == nil {
		return ""
	}
	return s.search.String()
}
