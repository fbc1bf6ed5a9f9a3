package fetch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"sync"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/fetch"
	"github.com/perdure/perdure/examples/internal/local"
	"github.com/perdure/perdure/orchestration"
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

// serve starts a service and a node that uses it.
func serve(mux *http.ServeMux) (c *client.Client, stop func()) {
	server := httptest.NewServer(mux)
	users := &fetch.Users{Client: server.Client(), URL: server.URL}
	c, end := local.Start(func(reg *runtime.Registry) {
		if err := errors.Join(
			runtime.AddActivity(reg, users.Find), runtime.AddActivity(reg, users.Add),
			runtime.AddOrchestration(reg, fetch.Invite), runtime.AddOrchestration(reg, fetch.Greet),
			runtime.AddError(reg, "not found", fetch.ErrNotFound),
		); err != nil {
			log.Panic(err)
		}
	})
	return c, func() {
		end()
		server.Close()
	}
}

func call[Out any](c *client.Client, fn func(*orchestration.Context, string) (Out, error), in string) (Out, error) {
	h, err := client.Start(context.Background(), c, fn, in)
	if err != nil {
		log.Panic(err)
	}
	return h.Wait(context.Background())
}

func Example() {
	s := &service{keys: map[string]fetch.User{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /users", s.add)
	mux.HandleFunc("GET /users/{id}", s.find)
	c, stop := serve(mux)
	defer stop()

	fmt.Println(call(c, fetch.Invite, "Ann"))
	fmt.Println("users:", len(s.users))
	fmt.Println(call(c, fetch.Greet, "1"))
	fmt.Println("asked:", s.asked)
	_, err := call(c, fetch.Greet, "2")
	fmt.Println(errors.Is(err, fetch.ErrNotFound), s.asked)
	// Output:
	// {1 Ann} <nil>
	// users: 1
	// hello Ann <nil>
	// asked: 3
	// true 4
}

// Cancelling the orchestration ends the request in flight.
func Example_cancel() {
	reached, gone := make(chan struct{}), make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /users/{id}", func(_ http.ResponseWriter, r *http.Request) {
		close(reached)
		<-r.Context().Done()
		close(gone)
	})
	c, stop := serve(mux)
	defer stop()

	ctx := context.Background()
	h, err := client.Start(ctx, c, fetch.Greet, "1")
	if err != nil {
		log.Panic(err)
	}
	<-reached
	if err := h.Cancel(ctx, "no longer wanted"); err != nil {
		log.Panic(err)
	}
	<-gone
	_, err = h.Wait(ctx)
	fmt.Println(errors.Is(err, orchestration.ErrCancelled))
	// Output:
	// true
}
