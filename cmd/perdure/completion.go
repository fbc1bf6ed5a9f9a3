package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/operate"
)

const (
	// completionTime bounds what a completion waits for the store.
	completionTime = time.Second
	// completionCount is how many IDs are offered.
	completionCount = 50
)

// An offer is what a word can be completed to, and what a shell shows beside it.
type offer struct{ word, about string }

// A completer returns what a word can be completed to.
type completer = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective)

// addCompletion adds completion of arguments and flags to all commands, by their names.
func (a *app) addCompletion(root *cobra.Command) {
	flags := a.flagCompleters()
	arguments := a.argumentCompleters()
	var add func(cmd *cobra.Command)
	add = func(cmd *cobra.Command) {
		if words := strings.Fields(cmd.Use); len(words) > 1 && cmd.ValidArgsFunction == nil && cmd.RunE != nil {
			cmd.ValidArgsFunction = byPosition(arguments, cmd, words[1:])
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

// flagCompleters returns what flags are completed by, by their names.
func (a *app) flagCompleters() map[string]completer {
	return map[string]completer{
		"output":    fixed(outputs...),
		"log-level": fixed("debug", "info", "warn", "error"),
		"status":    fixed(statusWords()...),
		"kind":      fixed(client.HistoryKinds()...),
		"overlap":   fixed(overlapWords()...),
		"role":      fixed(client.RoleViewer.String(), client.RoleOperator.String(), client.RoleAdmin.String()),
		"name":      a.complete(names),
		"parent":    a.complete(identifiers),
		"instance":  a.complete(identifiers),
	}
}

// argumentCompleters returns what arguments are completed by, by their words in the usage line. A word behind the name of a command, such as
// "schedule ID", holds for the command and those below it.
func (a *app) argumentCompleters() map[string]completer {
	return map[string]completer{
		"ID":             a.complete(identifiers),
		"INSTANCE":       a.complete(identifiers),
		"schedule ID":    a.complete(schedules),
		"create ID":      cobra.NoFileCompletions, // a new schedule
		"start NAME":     a.complete(names),
		"schedule NAME":  a.complete(names),
		"versions NAME":  a.complete(names),
		"QUEUE":          a.complete(queueNames),
		"OWNER":          a.complete(owners),
		"JOB":            a.complete(jobs),
		"ACT":            fixed(actWords()...),
		"LETTER":         a.complete(deadLetterIDs),
		"activity EVENT": a.completeBehind(pendingEvents),
		"FILE":           cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault),
	}
}

func fixed(words ...string) completer {
	return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
}

// byPosition completes each argument by its word in the usage line, and offers nothing for the others.
func byPosition(arguments map[string]completer, cmd *cobra.Command, words []string) completer {
	list := make([]completer, len(words))
	for i, word := range words {
		word = strings.Trim(word, "[]")
		list[i] = arguments[word]
		for c := cmd; c.HasParent(); c = c.Parent() {
			if found := arguments[c.Name()+" "+word]; found != nil {
				list[i] = found
				break
			}
		}
	}
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= len(list) || list[len(args)] == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return list[len(args)](cmd, args, begun)
	}
}

// complete offers what find reads from the store within a second. Without a store it offers nothing.
func (a *app) complete(find func(ctx context.Context, c *client.Client, begun string) ([]offer, error)) completer {
	return a.completeBehind(func(ctx context.Context, c *client.Client, _ []string, begun string) ([]offer, error) {
		return find(ctx, c, begun)
	})
}

// completeBehind is complete for an argument that depends on those before it.
func (a *app) completeBehind(find func(ctx context.Context, c *client.Client, args []string, begun string) ([]offer, error)) completer {
	return func(cmd *cobra.Command, args []string, begun string) (found []string, _ cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), cmp.Or(a.patience, completionTime))
		defer cancel()
		if a.logger == nil {
			a.logger = slog.New(slog.DiscardHandler)
		}
		var offers []offer
		err := a.withReader(ctx, func(ctx context.Context, c *client.Client) (err error) {
			offers, err = find(ctx, c, args, begun)
			return err
		})
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		for _, o := range offers {
			switch {
			case plain(o.word) != o.word:
			case o.about == "":
				found = append(found, o.word)
			default:
				found = append(found, o.word+"\t"+plain(o.about))
			}
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// identifiers returns the IDs of the newest instances that begin so.
func identifiers(ctx context.Context, c *client.Client, begun string) (found []offer, err error) {
	list, err := c.List(ctx, client.Filter{IDPrefix: begun}, client.Page{
		Size: completionCount, Omit: []client.Column{client.ColumnAttributes, client.ColumnCustomStatus, client.ColumnBlockedMessage},
	})
	for i := range list.Items {
		found = append(found, offer{word: list.Items[i].ID})
	}
	return found, err
}

// names returns the names of orchestrations that nodes have or that the newest instances run. It reads no more than that, since a store
// may hold a million instances.
func names(ctx context.Context, c *client.Client, begun string) (found []offer, err error) {
	add := func(name string) {
		if o := (offer{word: name}); strings.HasPrefix(name, begun) && !slices.Contains(found, o) {
			found = append(found, o)
		}
	}
	nodes, err := operate.New(c).Nodes(ctx)
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
func queueNames(ctx context.Context, c *client.Client, begun string) (found []offer, err error) {
	queues, err := operate.New(c).Queues(ctx)
	for i := range queues {
		if strings.HasPrefix(queues[i].Queue, begun) {
			found = append(found, offer{word: queues[i].Queue})
		}
	}
	return found, err
}

// owners returns the owners of nodes.
func owners(ctx context.Context, c *client.Client, begun string) (found []offer, err error) {
	nodes, err := operate.New(c).Nodes(ctx)
	for i := range nodes {
		if strings.HasPrefix(nodes[i].Owner, begun) {
			found = append(found, offer{word: nodes[i].Owner})
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

// schedules returns the IDs of the newest schedules that begin so.
func schedules(ctx context.Context, c *client.Client, begun string) (found []offer, err error) {
	list, err := c.Schedules(ctx, begun, client.Page{Size: completionCount})
	for i := range list.Items {
		found = append(found, offer{list.Items[i].ID, list.Items[i].Orchestration})
	}
	return found, err
}

// jobs returns the IDs of the newest bulk jobs that begin so.
func jobs(ctx context.Context, c *client.Client, begun string) (found []offer, err error) {
	list, _, err := operate.New(c).Bulks(ctx, client.Page{Size: completionCount})
	for i := range list {
		if strings.HasPrefix(list[i].ID, begun) {
			found = append(found, offer{list[i].ID, fmt.Sprintf("%s, %s", list[i].Act, list[i].Phase)})
		}
	}
	return found, err
}

// deadLetterIDs returns the numbers of the oldest dead letters that begin so.
func deadLetterIDs(ctx context.Context, c *client.Client, begun string) (found []offer, err error) {
	read := 0
	for l, err := range operate.New(c).DeadLetters(ctx, operate.DeadLetterFilter{}) {
		if err != nil || read == completionCount {
			return found, err
		}
		read++
		if number := strconv.FormatInt(l.ID, 10); strings.HasPrefix(number, begun) {
			found = append(found, offer{number, l.Name + " of " + l.Instance})
		}
	}
	return found, nil
}

// pendingEvents returns the events of the pending activities of the instance that args begin with.
func pendingEvents(ctx context.Context, c *client.Client, args []string, begun string) (found []offer, err error) {
	d, err := c.Describe(ctx, args[0])
	for i := range d.Activities {
		act := &d.Activities[i]
		if number := strconv.FormatInt(act.EventID, 10); strings.HasPrefix(number, begun) {
			found = append(found, offer{number, fmt.Sprintf("%s, attempt %d, %s", act.Name, act.Attempt, act.State)})
		}
	}
	return found, err
}

// overlapWords returns the overlaps as users type them.
func overlapWords() []string {
	return []string{string(client.OverlapSkip), string(client.OverlapBufferOne), string(client.OverlapCancelOther), string(client.OverlapAllowAll)}
}

// actWords returns the acts of bulk jobs.
func actWords() []string {
	words := make([]string, 0, len(operate.BulkActs()))
	for _, act := range operate.BulkActs() {
		words = append(words, string(act))
	}
	return words
}
