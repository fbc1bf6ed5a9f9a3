package database_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"

	_ "modernc.org/sqlite" // the driver

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/database"
	"github.com/perdure/perdure/examples/internal/local"
	"github.com/perdure/perdure/runtime"
)

func Example() {
	ctx := context.Background()
	db, err := sql.Open("sqlite", "file::memory:")
	if err != nil {
		log.Panic(err)
	}
	defer db.Close()      //nolint:errcheck // it is in memory
	db.SetMaxOpenConns(1) // each connection would open a separate database

	users := &database.Users{DB: db, Welcome: func(ctx context.Context, u database.User) error {
		attempt := activity.GetInfo(ctx).Attempt
		fmt.Println("attempt", attempt, "saved", u)
		if attempt == 1 {
			return errors.New("the mail server is away")
		}
		return nil
	}}
	if err := users.Table(ctx); err != nil {
		log.Panic(err)
	}
	c, stop := local.Start(func(reg *runtime.Registry) {
		if err := errors.Join(
			runtime.AddOrchestration(reg, database.SignUp), runtime.AddActivity(reg, users.Save), runtime.AddActivity(reg, users.Find),
		); err != nil {
			log.Panic(err)
		}
	})
	defer stop()

	for _, name := range []string{"Ann", "Ben"} {
		h, err := client.Start(ctx, c, database.SignUp, database.User{Name: name, Email: name + "@example.org"})
		if err != nil {
			log.Panic(err)
		}
		user, err := h.Wait(ctx)
		fmt.Println(*user, err)
	}
	var rows int
	fmt.Println(db.QueryRowContext(ctx, `SELECT count(*) FROM users`).Scan(&rows), rows)
	nobody, err := users.Find(ctx, 7)
	fmt.Println(nobody, err)
	// Output:
	// attempt 1 saved {1 Ann Ann@example.org}
	// attempt 2 saved {1 Ann Ann@example.org}
	// {1 Ann Ann@example.org} <nil>
	// attempt 1 saved {2 Ben Ben@example.org}
	// attempt 2 saved {2 Ben Ben@example.org}
	// {2 Ben Ben@example.org} <nil>
	// <nil> 2
	// <nil> <nil>
}
