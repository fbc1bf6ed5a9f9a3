package main

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
)

const (
	// completionTime bounds what a completion waits for the store.
	completionTime = time.Second
	// completionCount is how many IDs are offered.
	completionCount = 50
)

// A completer returns what a word can be completed to.
type completer = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective)

// addCompletion adds completion of arguments and flags to all commands, by their names.
func (a *app) addCompletion(root *cobra.Command) {
	flags := map[string]completer{
		"output":    cobra.FixedCompletions(outputs, cobra.ShellCompDirectiveNoFileComp),
		"log-level": cobra.FixedCompletions([]string{"debug", "info", "warn", "error"}, cobra.ShellCompDirectiveNoFileComp),
		"status":    cobra.FixedCompletions(statusWords(), cobra.ShellCompDirectiveNoFileComp),
		"kind":      cobra.FixedCompletions(client.HistoryKinds(), cobra.ShellCompDirectiveNoFileComp),
		"name":      a.complete(names),
		"parent":    a.complete(identifiers),
		"instance":  a.complete(identifiers),
	}
	arguments := map[string]completer{
		"ID": a.complete(identifiers), "INSTANCE": a.complete(identifiers), "NAME": a.complete(names), "[NAME]": a.complete(names),
		"QUEUE": a.complete(queueNames), "OWNER": a.complete(owners),
	}
	var add func(cmd *cobra.Command)
	add = func(cmd *cobra.Command) {
		if words := strings.Fields(cmd.Use); len(words) > 1 && cmd.ValidArgsFunction == nil && cmd.RunE != nil {
			if complete := arguments[words[1]]; complete != nil {
				cmd.ValidArgsFunction = firstOnly(complete)
			} else {
				cmd.ValidArgsFunction = cobra.NoFileCompletions
			}
		}
		for flag, complete := range flags {
			if cmd.LocalFlags().Lookup(flag) != nil {
				_ = cmd.RegisterFlagCompletionFunc(flag, complete) // it has one of its own already
			}
		}
		for _, below := range cmd.Commands() {
			add(below)
		}
	}
	add(root)
}

// firstOnly offers nothing for the arguments after the first.
func firstOnly(complete completer) completer {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, begun)
	}
}

// complete offers what find reads from the store within a second. Without a store it offers nothing.
func (a *app) complete(find func(ctx context.Context, c *client.Client, begun string) ([]string, error)) completer {
	return func(cmd *cobra.Command, _ []string, begun string) (found []string, _ cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
		defer cancel()
		if a.logger == nil {
			a.logger = slog.New(slog.DiscardHandler)
		}
		err := a.withReader(ctx, func(ctx context.Context, c *client.Client) (err error) {
			found, err = find(ctx, c, begun)
			return err
		})
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		found = slices.DeleteFunc(found, func(s string) bool { return plain(s) != s || strings.Contains(s, "\t") })
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// identifiers returns the IDs of the newest instances that begin so.
func identifiers(ctx context.Context, c *client.Client, begun string) (ids []string, err error) {
	list, err := c.List(ctx, client.Filter{IDPrefix: begun}, client.Page{
		Size: completionCount, Omit: []client.Column{client.ColumnAttributes, client.ColumnCustomStatus, client.ColumnBlockedMessage},
	})
	for i := range list.Items {
		ids = append(ids, list.Items[i].ID)
	}
	return ids, err
}

// names returns the names of orchestrations that nodes have or that the newest instances run. It reads no more than that, since a store
// may hold a million instances.
func names(ctx context.Context, c *client.Client, begun string) (found []string, err error) {
	add := func(name string) {
		if strings.HasPrefix(name, begun) && !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	nodes, err := c.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	for i := range nodes {
		for _, o := range nodes[i].Orchestrations {
			add(o.Name)
		}
	}
	list, err := c.List(ctx, client.Filter{}, client.Page{
		Size: 4 * completionCount, Omit: []client.Column{client.ColumnAttributes, client.ColumnCustomStatus, client.ColumnBlockedMessage},
	})
	for i := range list.Items {
		add(list.Items[i].Orchestration)
	}
	return found, err
}

// queueNames returns the names of queues.
func queueNames(ctx context.Context, c *client.Client, begun string) (found []string, err error) {
	queues, err := c.Queues(ctx)
	for i := range queues {
		if strings.HasPrefix(queues[i].Queue, begun) {
			found = append(found, queues[i].Queue)
		}
	}
	return found, err
}

// owners returns the owners of nodes.
func owners(ctx context.Context, c *client.Client, begun string) (found []string, err error) {
	nodes, err := c.Nodes(ctx)
	for i := range nodes {
		if strings.HasPrefix(nodes[i].Owner, begun) {
			found = append(found, nodes[i].Owner)
		}
	}
	return found, err
}

// statusWords returns the statuses as users type them.
func statusWords() []string {
	words := make([]string, 0, len(instanceStatuses))
	for _, s := range instanceStatuses {
		words = append(words, strings.ToLower(string(s)))
	}
	return words
}
