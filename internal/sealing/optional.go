package sealing

import (
	"context"

	"github.com/perdure/perdure/codec"
	"github.com/perdure/perdure/provider"
)

var (
	_ provider.Transactor = (*Store)(nil)
	_ provider.Opener     = (*Store)(nil)
	_ provider.Asker      = (*Store)(nil)
)

// Ask implements provider.Asker.
func (st *Store) Ask(ctx context.Context, req provider.AskRequest) (provider.AskResult, error) {
	out, s := new(req), new(sealer)
	s.whole(codec.Question, &out.Payload)
	if err := st.seal(ctx, "ask", false, s); err != nil {
		return provider.AskResult{}, err
	}
	res, err := st.Full.Ask(ctx, *out)
	if err != nil {
		return res, err
	}
	o := new(opener)
	o.whole(codec.Answer, &res.Payload)
	if err := st.open(ctx, callTimeout, o); err != nil {
		return provider.AskResult{}, err
	}
	return res, nil
}

// FetchAsks implements provider.Asker. What cannot be opened stays sealed: another node may answer it.
func (st *Store) FetchAsks(ctx context.Context, req provider.FetchAsksRequest) (provider.FetchAsksResult, error) {
	res, err := st.Full.FetchAsks(ctx, req)
	if err != nil {
		return res, err
	}
	o := new(opener)
	for i := range res.Asks {
		o.whole(codec.Question, &res.Asks[i].Payload)
		o.instance(&res.Asks[i].Instance)
	}
	_ = st.open(context.WithoutCancel(ctx), fetchTimeout, o)
	return res, nil
}

// Answer implements provider.Asker.
func (st *Store) Answer(ctx context.Context, req provider.AnswerRequest) error {
	out, s := new(req), new(sealer)
	s.whole(codec.Answer, &out.Payload)
	if err := st.seal(ctx, "answer", false, s); err != nil {
		return err
	}
	return st.Full.Answer(ctx, *out)
}

// Reset implements provider.Opener.
func (st *Store) Reset(ctx context.Context, req provider.ResetRequest) (provider.SteerResult, error) {
	out, s := new(req), new(sealer)
	s.event(&out.Event)
	s.prefix(&out.Prefix, &out.EngineLevel)
	s.sends(&out.Notices)
	if err := st.seal(ctx, "reset", false, s); err != nil {
		return provider.SteerResult{}, err
	}
	res, err := st.Full.Reset(ctx, *out)
	if err == nil {
		st.instances(ctx, &res.Instance)
	}
	return res, err
}

// Fork implements provider.Opener.
func (st *Store) Fork(ctx context.Context, req provider.ForkRequest) (provider.CreateResult, error) {
	out, s := new(req), new(sealer)
	s.create(&out.Create)
	s.prefix(&out.Prefix, &out.Create.EngineLevel)
	if err := st.seal(ctx, "fork", false, s); err != nil {
		return provider.CreateResult{}, err
	}
	res, err := st.Full.Fork(ctx, *out)
	if err == nil {
		st.instances(ctx, &res.Instance)
	}
	return res, err
}

// transactor returns the Transactor of the decorated provider.
func (st *Store) transactor(call string) (provider.Transactor, error) {
	t, ok := provider.As[provider.Transactor](st.inner)
	if !ok {
		return nil, provider.Lacking(call, "Transactor")
	}
	return t, nil
}

// CreateIn implements provider.Transactor. A codec that does not answer is no reason to hold the transaction of the caller for long: the call fails.
func (st *Store) CreateIn(ctx context.Context, tx provider.Tx, req provider.CreateRequest) (res provider.CreateResult, err error) {
	t, err := st.transactor("create in a transaction")
	if err != nil {
		return res, err
	}
	sealed, err := st.create(ctx, req, true)
	if err != nil {
		return res, err
	}
	res, err = t.CreateIn(ctx, tx, *sealed)
	st.made.over(req.Commit, err)
	if err == nil {
		st.instances(ctx, &res.Instance)
	}
	return res, err
}

// SendIn implements provider.Transactor.
func (st *Store) SendIn(ctx context.Context, tx provider.Tx, req provider.SendRequest) (res provider.SendResult, err error) {
	t, err := st.transactor("send in a transaction")
	if err != nil {
		return res, err
	}
	out, s := new(req), new(sealer)
	s.message(&out.Message)
	if err := st.seal(ctx, "send", true, s); err != nil {
		return res, err
	}
	return t.SendIn(ctx, tx, *out)
}

// CompleteIn implements provider.Transactor.
func (st *Store) CompleteIn(
	ctx context.Context, item provider.TaskReport, fn func(provider.Tx) error,
) (res provider.TaskReportResult, err error) {
	t, err := st.transactor("complete in a transaction")
	if err != nil {
		return res, err
	}
	out, s := new(item), new(sealer)
	if out.Details == nil {
		out.Details = st.late.get(item.Token)
	}
	s.report(out)
	if err := st.seal(ctx, "complete", false, s); err != nil {
		return res, err
	}
	res, err = t.CompleteIn(ctx, *out, fn)
	if err == nil {
		st.notLate([]provider.TaskReport{item})
	}
	return res, err
}
