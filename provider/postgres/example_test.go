package postgres_test

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/provider/postgres"
)

func ExampleOpen() { //nolint:testableexamples // it takes a server
	ctx := context.Background()
	store, err := postgres.Open(ctx, "postgres://app:secret@db/app")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = store.Close() }()
	fmt.Println("the store is ready for runtime.Start and client.New")
}

func ExampleOpenWith_pooler() { //nolint:testableexamples // it takes a server
	ctx := context.Background()
	store, err := postgres.OpenWith(ctx, "postgres://app:secret@pooler:6432/app", postgres.Options{
		Pooler:    true,
		ListenURL: "postgres://app:secret@db:5432/app",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = store.Close() }()
	fmt.Println("the store is ready for runtime.Start and client.New")
}
