package fetch_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/perdure/perdure/examples/fetch"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// service keeps users. It fails at the worst moments.
type service struct {
	mu    sync.Mutex
	users []fetch.User
	keys  map[string]fetch.User
	asked int
}

// add stores a user once per key. It loses its first response: the user is stored, but the caller gets an error.
func (s *service) add(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := r.Header.Get("Idempotency-Key")
	user, again := s.keys[key]
	if !again {
		name, _ := io.ReadAll(r.Body)
		user = fetch.User{ID: fmt.Sprint(len(s.users) + 1), Name: string(name)}
		s.users = append(s.users, user)
		s.keys[key] = user
		http.Error(w, "try later", http.StatusServiceUnavailable)
		return
	}
	_ = json.NewEncoder(w).Encode(user)
}

// find rejects two of three requests as busy.
func (s *service) find(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	for _, user := range s.users {
		if user.ID != r.PathValue("id") {
			continue
		}
		if s.asked < 3 {
			http.Error(w, "busy", http.StatusTooManyRequests)
			return
		}
		_ = json.NewEncoder(w).Encode(user)
		return
	}
	http.Error(w, "who?", http.StatusNotFound)
}

// run runs a test with the activities of a service. A socket stops virtual time, so the test runs in real time.
func run(t *testing.T, mux *http.ServeMux, test func(e *orchestrationtest.Env)) {
	t.Helper()
	server := httptest.NewServer(mux)
	defer server.Close()
	store := memory.New(memory.Options{})
	defer store.Close() //nolint:errcheck // nothing to lose in memory
	orchestrationtest.RunRealTime(t, store, func(e *orchestrationtest.Env) {
		users := &fetch.Users{Client: server.Client(), URL: server.URL}
		orchestrationtest.AddActivity(e, users.Find)
		orchestrationtest.AddActivity(e, users.Add)
		e.Register(func(reg *runtime.Registry) error { return runtime.AddError(reg, "not found", fetch.ErrNotFound) })
		test(e)
	})
}

func TestFailuresOfTheService(t *testing.T) {
	s := &service{keys: map[string]fetch.User{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /users", s.add)
	mux.HandleFunc("GET /users/{id}", s.find)
	run(t, mux, func(e *orchestrationtest.Env) {
		user, err := orchestrationtest.Start(e, fetch.Invite, "Ann").Wait(e.Context())
		if want := (fetch.User{ID: "1", Name: "Ann"}); user != want || err != nil || len(s.users) != 1 {
			t.Errorf("%+v, %v, %d users", user, err, len(s.users))
		}
		if out, err := orchestrationtest.Start(e, fetch.Greet, "1").Wait(e.Context()); out != "hello Ann" || err != nil || s.asked != 3 {
			t.Errorf("%q, %v, asked %d times", out, err, s.asked)
		}
		if _, err := orchestrationtest.Start(e, fetch.Greet, "2").Wait(e.Context()); !errors.Is(err, fetch.ErrNotFound) || s.asked != 4 {
			t.Errorf("%v, asked %d times", err, s.asked)
		}
	})
}

// Cancelling the orchestration ends the request in flight.
func TestCancelledRequest(t *testing.T) {
	reached, gone := make(chan struct{}), make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /users/{id}", func(_ http.ResponseWriter, r *http.Request) {
		close(reached)
		<-r.Context().Done()
		close(gone)
	})
	run(t, mux, func(e *orchestrationtest.Env) {
		h := orchestrationtest.Start(e, fetch.Greet, "1")
		<-reached
		if err := h.Cancel(e.Context(), "no longer wanted"); err != nil {
			t.Fatal(err)
		}
		<-gone
		if _, err := h.Wait(e.Context()); !errors.Is(err, orchestration.ErrCancelled) {
			t.Error(err)
		}
	})
}
