package validations

import "github.com/perdure/perdure/provider"

// mover returns the provider's Mover, and notes the call.
func (t *trial) mover(method string) provider.Mover {
	m, _ := provider.As[provider.Mover](t.trace.note(method))
	return m
}

// sealing makes one call of Seal, with changes to the request.
func (t *trial) sealing(key, transfer provider.UUID, to provider.SealState, changes ...func(*provider.SealRequest)) (provider.SealResult, error) {
	req := provider.SealRequest{Key: key, Transfer: transfer, To: to, Commit: unique()}
	for _, change := range changes {
		change(&req)
	}
	return t.mover("Seal").Seal(t.ctx, req)
}

// seal is sealing that must succeed.
func (t *trial) seal(key, transfer provider.UUID, to provider.SealState, changes ...func(*provider.SealRequest)) provider.SealResult {
	res, err := t.sealing(key, transfer, to, changes...)
	t.ok(err)
	is(t, "the seal", res.Seal.State, to)
	return res
}

// back lets an instance that was sealed here run again.
func back(r *provider.SealRequest) { r.Back = true }

// held holds an instance, and returns the transfer.
func (t *trial) held(key provider.UUID) (transfer provider.UUID) {
	transfer = unique()
	t.seal(key, transfer, provider.SealHeld)
	return transfer
}

// closed closes an instance, and returns the transfer.
func (t *trial) closed(key provider.UUID) (transfer provider.UUID) {
	transfer = t.held(key)
	t.seal(key, transfer, provider.SealClosed)
	return transfer
}

// freed frees a closed instance.
func (t *trial) freed(key, transfer provider.UUID) provider.Instance {
	t.seal(key, transfer, provider.SealHeld, back)
	return t.seal(key, transfer, provider.SealNone, back).Instance
}

// A carriage is an instance on its way.
type carriage struct {
	key, transfer provider.UUID
	pages         []provider.ExportResult
}

// export reads all pages of an instance, each with about so many bytes.
func (t *trial) export(key, transfer provider.UUID, bytes int) carriage {
	l := carriage{key: key, transfer: transfer}
	req := provider.ExportRequest{Key: key, Transfer: transfer, MaxBytes: bytes}
	for {
		res, err := t.mover("Export").Export(t.ctx, req)
		t.mustf(err == nil, "Export returned error %v, want none", err)
		l.pages = append(l.pages, res)
		if req.Cursor = res.Cursor; req.Cursor == "" {
			return l
		}
		t.mustf(len(l.pages) < 1000, "an export of a small instance has more than 1000 pages")
	}
}

// page returns the request that imports a page.
func (l *carriage) page(n int, changes ...func(*provider.ImportRequest)) provider.ImportRequest {
	transfer := l.transfer
	if transfer.IsZero() { // it had ended
		transfer = l.key
	}
	req := provider.ImportRequest{
		Key: l.key, Transfer: transfer, Number: n, Last: n == len(l.pages)-1, At: l.pages[n].Now, Parcel: l.pages[n].Parcel,
	}
	for _, change := range changes {
		change(&req)
	}
	return req
}

// imports makes one call of Import that must succeed.
func (t *trial) imports(req provider.ImportRequest) provider.ImportResult {
	res, err := t.mover("Import").Import(t.ctx, req)
	t.mustf(err == nil, "Import of page %d returned error %v, want none", req.Number, err)
	return res
}

// arrive imports all pages and frees the instance.
func (t *trial) arrive(l carriage) provider.Instance {
	for n := range l.pages {
		t.imports(l.page(n))
	}
	transfer := l.page(0).Transfer
	if l.transfer.IsZero() {
		return t.sealed(t.sealing(l.key, transfer, provider.SealHeld))
	}
	t.seal(l.key, transfer, provider.SealHeld)
	return t.seal(l.key, transfer, provider.SealNone).Instance
}

func (t *trial) sealed(res provider.SealResult, err error) provider.Instance {
	t.ok(err)
	return res.Instance
}

// away moves an instance away, so that only what Export has read is left, and returns it.
func (t *trial) away(key provider.UUID, bytes int) carriage {
	var transfer provider.UUID
	if !t.get(key).Status.Ended() {
		transfer = t.closed(key)
	}
	l := t.export(key, transfer, bytes)
	_, err := t.Delete(t.ctx, provider.DeleteRequest{Key: key, Force: true})
	t.ok(err)
	return l
}
