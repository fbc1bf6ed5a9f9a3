package provider_test

import (
	"testing"

	"github.com/perdure/perdure/provider"
)

// The token never changes: stores compute it in SQL, and engines of several releases may share a store.
func TestTaskTokenNeverChanges(t *testing.T) {
	t.Parallel()
	task := provider.TaskRef{Key: provider.UUID{1, 15: 2}, Execution: 3, EventID: 70_000}
	if got, want := provider.TaskToken(provider.UUID{9, 15: 8}, task).String(), "9014f581-a02e-26ba-8f87-a5efe397c409"; got != want {
		t.Errorf("the token is %s, want %s", got, want)
	}
}

func TestSameToken(t *testing.T) {
	t.Parallel()
	a := provider.UUID{1, 15: 2}
	for i := range a {
		b := a
		b[i] ^= 0x80
		if provider.SameToken(a, b) {
			t.Errorf("byte %d is not compared", i)
		}
	}
	if !provider.SameToken(a, a) {
		t.Error("a token differs from itself")
	}
}
