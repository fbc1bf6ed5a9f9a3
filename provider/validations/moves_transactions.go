package validations

import "github.com/perdure/perdure/provider"

func transactor(t *trial) provider.Transactor {
	transactor, _ := provider.As[provider.Transactor](t.trace.note("a call of Transactor"))
	return transactor
}

// inTransaction runs act in a transaction of the caller, and commits it or rolls it back.
func inTransaction(t *trial, commit bool, act func(tx provider.Tx)) {
	tx, err := t.beginTx(t.ctx, t.store.Provider)
	t.ok(err)
	defer func() { _ = tx.Rollback() }()
	act(tx.Tx)
	if commit {
		t.ok(tx.Commit())
	}
}

// createIn starts an instance inside a transaction, with changes to the request.
func createIn(t *trial, tx provider.Tx, id string, changes ...func(*provider.CreateRequest)) provider.CreateResult {
	req := createRequest(id)
	for _, change := range changes {
		change(&req)
	}
	res, err := transactor(t).CreateIn(t.ctx, tx, req)
	t.ok(err)
	return res
}

// exists reports whether there is an instance under the ID.
func exists(t *trial, id string) bool {
	_, err := t.Get(t.ctx, provider.GetRequest{ID: id})
	if err != nil {
		t.want(err, provider.ErrNotFound)
	}
	return err == nil
}
