// Package database shows activities that use a separate database. If the store is in the same database, an effect
// can be part of the commit that completes the activity: see examples/transactions.
package database

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/orchestration"
)

// User is a row.
type User struct {
	ID    int64
	Name  string
	Email string
}

// Users has the activities.
type Users struct {
	DB      *sql.DB
	Welcome func(ctx context.Context, u User) error // may fail after the user was saved
}

// Table creates the table. The column written_by records the idempotency key of a row's writer, so that no row is
// written twice.
func (u *Users) Table(ctx context.Context) error {
	_, err := u.DB.ExecContext(ctx, `CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL, written_by TEXT NOT NULL UNIQUE)`)
	return err
}

// Find returns nil if there is no such user. A read can be repeated without a key.
func (u *Users) Find(ctx context.Context, id int64) (*User, error) {
	found := User{ID: id}
	err := u.DB.QueryRowContext(ctx, `SELECT name, email FROM users WHERE id = ?`, id).Scan(&found.Name, &found.Email)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // a missing user is a result, not an error
	}
	return &found, err
}

// Save may run again after it has saved: its node may die, or a later step may fail. The key is the same for all
// attempts of this call and different for every other call.
func (u *Users) Save(ctx context.Context, user User) (int64, error) {
	key := activity.IdempotencyKey(ctx)
	if _, err := u.DB.ExecContext(ctx, `INSERT INTO users (name, email, written_by) VALUES (?, ?, ?) ON CONFLICT (written_by) DO NOTHING`,
		user.Name, user.Email, key); err != nil {
		return 0, err
	}
	if err := u.DB.QueryRowContext(ctx, `SELECT id FROM users WHERE written_by = ?`, key).Scan(&user.ID); err != nil {
		return 0, err
	}
	return user.ID, u.Welcome(ctx, user)
}

// SignUp saves a user and reads it back.
func SignUp(ctx *orchestration.Context, user User) (*User, error) {
	var users *Users
	id, err := orchestration.CallActivity(ctx, users.Save, user,
		orchestration.WithRetry(orchestration.RetryPolicy{InitialInterval: 10 * time.Millisecond}))
	if err != nil {
		return nil, err
	}
	return orchestration.CallActivity(ctx, users.Find, id, orchestration.WithRetry(orchestration.RetryPolicy{}))
}
