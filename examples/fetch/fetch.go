// Package fetch shows activities that call a service over HTTP.
package fetch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/orchestration"
)

// User is a user of the service.
type User struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Users is a client of the service.
type Users struct {
	Client *http.Client
	URL    string
}

// ErrNotFound means that there is no such user.
var ErrNotFound = errors.New("no such user")

// Find waits for the network, so hundreds of calls can be in flight. Cancelling the call ends the request.
func (u *Users) Find(ctx context.Context, id string) (User, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.URL+"/users/"+url.PathEscape(id), nil)
	if err != nil {
		return User{}, orchestration.NonRetryable(err)
	}
	return u.do(req)
}

// Add may run again after the service has added the user, for example when the response was lost. All attempts send
// the same key, so that the service recognises a repeat.
func (u *Users) Add(ctx context.Context, name string) (User, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.URL+"/users", strings.NewReader(name))
	if err != nil {
		return User{}, orchestration.NonRetryable(err)
	}
	req.Header.Set("Idempotency-Key", activity.IdempotencyKey(ctx))
	return u.do(req)
}

// do classifies each failure: an unavailable or busy service may recover and is retried, a bad request is not.
func (u *Users) do(req *http.Request) (user User, err error) {
	res, err := u.Client.Do(req)
	if err != nil {
		return User{}, err
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()
	switch {
	case res.StatusCode == http.StatusNotFound:
		return User{}, orchestration.NonRetryable(ErrNotFound)
	case res.StatusCode >= http.StatusInternalServerError, res.StatusCode == http.StatusTooManyRequests:
		return User{}, fmt.Errorf("the service responded %s", res.Status)
	case res.StatusCode >= http.StatusBadRequest:
		return User{}, orchestration.NonRetryable(fmt.Errorf("the service responded %s", res.Status))
	}
	return user, json.NewDecoder(res.Body).Decode(&user)
}

// patient retries for a long time and limits each attempt.
func patient() []orchestration.ActivityOption {
	return []orchestration.ActivityOption{
		orchestration.WithStartToCloseTimeout(30 * time.Second),
		orchestration.WithRetry(orchestration.RetryPolicy{InitialInterval: 10 * time.Millisecond, MaxInterval: time.Minute}),
	}
}

// Invite adds a user.
func Invite(ctx *orchestration.Context, name string) (User, error) {
	var users *Users
	return orchestration.CallActivity(ctx, users.Add, name, patient()...)
}

// Greet finds a user.
func Greet(ctx *orchestration.Context, id string) (string, error) {
	var users *Users
	user, err := orchestration.CallActivity(ctx, users.Find, id, patient()...)
	return "hello " + user.Name, err
}
