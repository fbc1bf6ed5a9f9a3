package memory_test

import (
	"context"
	"testing"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/provider/validations"
)

func TestConformance(t *testing.T) {
	validations.Run(t, func(t *testing.T) provider.Provider {
		p := memory.New(memory.Options{})
		t.Cleanup(func() { _ = p.Close() })
		return p
	}, validations.Transactions(beginTx))
}

func beginTx(_ context.Context, p provider.Provider) (validations.Transaction, error) {
	own, _ := provider.As[*memory.Provider](p)
	tx := own.Begin()
	return validations.Transaction{Tx: memory.InTx(tx), Commit: tx.Commit, Rollback: tx.Rollback}, nil
}
