package database_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	_ "modernc.org/sqlite" // the driver

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/examples/database"
	"github.com/perdure/perdure/orchestrationtest"
)

// The first attempt saves the user and fails after that. The second one saves nothing.
func TestEachUserIsSavedOnce(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		db, err := sql.Open("sqlite", "file::memory:")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()      //nolint:errcheck // it is in memory
		db.SetMaxOpenConns(1) // each connection would open a separate database

		welcomes := 0
		users := &database.Users{DB: db, Welcome: func(ctx context.Context, _ database.User) error {
			welcomes++
			if activity.GetInfo(ctx).Attempt == 1 {
				return errors.New("the mail server is away")
			}
			return nil
		}}
		if err := users.Table(e.Context()); err != nil {
			t.Fatal(err)
		}
		orchestrationtest.AddActivity(e, users.Save)
		orchestrationtest.AddActivity(e, users.Find)
		for i, name := range []string{"Ann", "Ben"} {
			want := database.User{ID: int64(i + 1), Name: name, Email: name + "@example.org"}
			user, err := orchestrationtest.Start(e, database.SignUp, database.User{Name: want.Name, Email: want.Email}).Wait(e.Context())
			if err != nil || *user != want {
				t.Errorf("%+v, %v, want %+v", user, err, want)
			}
		}
		var rows int
		if err := db.QueryRowContext(e.Context(), `SELECT count(*) FROM users`).Scan(&rows); err != nil || rows != 2 || welcomes != 4 {
			t.Errorf("%d rows, %v, %d attempts", rows, err, welcomes)
		}
		if nobody, err := users.Find(e.Context(), 7); nobody != nil || err != nil {
			t.Errorf("%+v, %v", nobody, err)
		}
	})
}
