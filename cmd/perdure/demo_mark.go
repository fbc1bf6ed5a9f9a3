package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// markID is the ID of the instance that marks a database as made by the demo. The demo starts it first.
const markID = "perdure-demo"

// mark is the orchestration of that instance. It does nothing.
//
//nolint:gochecknoglobals // constant: a function with a name
var mark = orchestration.Define("perdure-demo.Mark", func(*orchestration.Context, orchestration.None) (orchestration.None, error) {
	return orchestration.None{}, nil
})

// openForDemo opens a database that is empty or was made by the demo, and marks it. It never migrates a service's
// database.
func (a *app) openForDemo(ctx context.Context, db database) (provider.Provider, error) {
	if err := a.admitDemo(ctx, db); err != nil {
		return nil, err
	}
	store, err := db.create(ctx, a.logger)
	if err != nil {
		return nil, err
	}
	c, err := client.New(store, client.Options{Logger: a.logger})
	if err == nil {
		_, err = client.Start(ctx, c, mark, orchestration.None{}, client.WithID(markID))
	}
	if err != nil && !errors.Is(err, client.ErrExists) {
		return nil, errors.Join(fmt.Errorf("marking the database as made by the demo: %w", err), store.Close())
	}
	return store, nil
}

// admitDemo returns an error if the database exists and was not made by the demo.
func (a *app) admitDemo(ctx context.Context, db database) (err error) {
	store, err := db.open(ctx, a.logger)
	if f, ok := db.(file); ok && errors.Is(err, provider.ErrNotStore) && f.hasTables() {
		return refusal(db)
	}
	if errors.Is(err, errNoFile) || errors.Is(err, provider.ErrNotStore) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	c, err := client.New(store, client.Options{Logger: a.logger})
	if err != nil {
		return err
	}
	marked, err := hasDemoMark(ctx, c)
	if err != nil || marked {
		return err
	}
	for _, err := range c.All(ctx, client.Filter{}) {
		if err != nil {
			return err
		}
		return refusal(db)
	}
	return nil
}

// hasDemoMark reports whether a database has the demo's mark.
func hasDemoMark(ctx context.Context, c *client.Client) (bool, error) {
	name, _, err := bind.OrchestrationName(mark)
	if err != nil {
		return false, err
	}
	d, err := c.Describe(ctx, markID)
	if errors.Is(err, client.ErrNotFound) {
		return false, nil
	}
	return err == nil && d.Orchestration == name, err
}

func refusal(db database) error {
	return badUsage("%s was not made by the demo, which stores made-up results: name another database", db)
}
