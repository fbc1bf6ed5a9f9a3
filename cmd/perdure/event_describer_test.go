package main

import (
	"testing"

	"github.com/perdure/perdure/client"
)

// A header may hold what a terminal would obey, so it is quoted. Its keys come in order.
func TestNarratorQuotesHeaders(t *testing.T) {
	t.Parallel()
	got := newEventDescriber(20).text(&client.HistoryEvent{
		ID: 1, Kind: "EventReceived", Name: "paid", Header: map[string]string{"tenant": "acme\x1b[2J", "id": "r-1"},
	})
	if want := `paid header "id": "r-1" header "tenant": "acme\x1b[2J"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
