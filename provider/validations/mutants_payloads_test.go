package validations

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/perdure/perdure/provider"
)

func brokenPayloads() []brokenRule {
	return []brokenRule{
		{name: "a start message ends at a NUL", caught: "payloads/of-creates-and-sends", breaks: func(m *mutant) {
			m.create.before(func(r *provider.CreateRequest) { cutNUL(&r.Message.Payload) })
		}},
		{name: "a timer keeps valid text only", caught: "payloads/of-commits", breaks: func(m *mutant) {
			m.commit.before(func(r *provider.CommitTurnRequest) {
				r.Timers = slices.Clone(r.Timers)
				for i := range r.Timers {
					r.Timers[i].Payload = bytes.ToValidUTF8(r.Timers[i].Payload, nil)
				}
			})
		}},
		{name: "a result ends at a NUL", caught: "payloads/of-results", breaks: func(m *mutant) {
			m.commit.before(func(r *provider.CommitTurnRequest) { cutNUL(&r.Result) })
		}},
		{name: "a failure ends at a NUL", caught: "payloads/of-tasks", breaks: func(m *mutant) {
			m.report.before(func(r *provider.ReportTasksRequest) {
				r.Items = slices.Clone(r.Items)
				for i := range r.Items {
					cutNUL(&r.Items[i].Failure)
				}
			})
		}},
		{name: "the result of a termination keeps valid text only", caught: "payloads/of-steering", breaks: func(m *mutant) {
			m.steer.before(func(r *provider.SteerRequest) {
				if r.Result != nil {
					r.Result = bytes.ToValidUTF8(r.Result, nil)
				}
			})
		}},
		{name: "an answer ends at a NUL", caught: "payloads/of-questions", breaks: func(m *mutant) {
			m.answer.before(func(r *provider.AnswerRequest) { cutNUL(&r.Payload) })
		}},
		{name: "a record ends at a NUL", caught: "payloads/of-records", breaks: func(m *mutant) {
			m.record.before(func(r *provider.RecordRequest) { cutNUL(&r.Value) })
		}},
		{name: "a dead letter ends at a NUL", caught: "payloads/of-dead-letters", breaks: func(m *mutant) {
			m.letters.after(func(_ provider.DeadLettersRequest, res *provider.DeadLettersResult, _ *error) {
				for i := range res.Letters {
					cutNUL(&res.Letters[i].Payload)
				}
			})
		}},
		{name: "the failure of a turn keeps valid text only", caught: "release-turns/any-failure", breaks: releases(func(r *provider.TurnRelease) {
			if r.Failure != nil {
				failure := *r.Failure
				failure.Message = strings.ToValidUTF8(failure.Message, "")
				r.Failure = &failure
			}
		})},
	}
}

func cutNUL(b *[]byte) {
	if before, _, found := bytes.Cut(*b, []byte{0}); found {
		*b = before
	}
}

func brokenTexts() []brokenRule {
	return []brokenRule{
		{name: "names may have a NUL", caught: "create/texts", breaks: func(m *mutant) {
			m.create.before(func(r *provider.CreateRequest) { r.Name = withoutNUL(r.Name) })
		}},
		{name: "a steer finds an ID with a NUL", caught: "texts/of-instances", breaks: func(m *mutant) {
			m.steer.before(func(r *provider.SteerRequest) { r.ID = withoutNUL(r.ID) })
		}},
		{name: "fairness keys need not be valid text", caught: "texts/of-commits", breaks: func(m *mutant) {
			m.commit.before(func(r *provider.CommitTurnRequest) {
				r.Tasks = slices.Clone(r.Tasks)
				for i := range r.Tasks {
					r.Tasks[i].FairnessKey = strings.ToValidUTF8(r.Tasks[i].FairnessKey, "?")
				}
			})
		}},
		{name: "versions of capabilities may have a NUL", caught: "texts/of-fetches-and-reports", breaks: func(m *mutant) {
			m.turns.before(func(r *provider.FetchTurnsRequest) {
				r.Capabilities = slices.Clone(r.Capabilities)
				for i := range r.Capabilities {
					r.Capabilities[i].CodeVersion = withoutNUL(r.Capabilities[i].CodeVersion)
				}
			})
		}},
		{name: "filters may have a NUL", caught: "texts/of-reads", breaks: func(m *mutant) {
			m.list.before(func(r *provider.ListRequest) { r.Filter.Name = withoutNUL(r.Filter.Name) })
		}},
		{name: "versions are trimmed", caught: "create/any-valid-text", breaks: func(m *mutant) {
			m.create.before(func(r *provider.CreateRequest) { r.CodeVersion = strings.TrimSpace(r.CodeVersion) })
		}},
	}
}

func withoutNUL(s string) string { return strings.ReplaceAll(s, "\x00", "") }

func brokenValues() []brokenRule {
	return []brokenRule{
		{name: "values that are set at the end of an execution are lost", caught: "values/over-executions", breaks: func(m *mutant) {
			m.commit.before(func(r *provider.CommitTurnRequest) {
				if r.Next != nil {
					r.Values = nil
				}
			})
		}},
		{name: "a value that was deleted cannot be set again", caught: "values/set-again", breaks: buriesValues},
		{name: "deleting a value deletes it everywhere", caught: "values/of-each-instance", breaks: hidesDeletedValues},
		{name: "an ended instance has no values", caught: "values/of-ended", breaks: func(m *mutant) {
			m.get.after(func(_ provider.GetRequest, res *provider.GetResult, _ *error) {
				if res.Instance.Status.Ended() {
					res.Values = nil
				}
			})
		}},
		{name: "values outlive their instance", caught: "values/gone-with-the-instance", breaks: inheritsValues(func(m *mutant, remember func(context.Context, string)) {
			m.remove.around(func(ctx context.Context, req provider.DeleteRequest, remove method[provider.DeleteRequest, provider.DeleteResult]) (provider.DeleteResult, error) {
				remember(ctx, m.stored(ctx, req.Key).ID)
				return remove(ctx, req)
			})
		})},
		{name: "a successor inherits values", caught: "values/of-a-successor", breaks: inheritsValues(func(m *mutant, remember func(context.Context, string)) {
			m.create.around(func(ctx context.Context, req provider.CreateRequest, create method[provider.CreateRequest, provider.CreateResult]) (provider.CreateResult, error) {
				if req.Policy == provider.IDReplaceEnded {
					remember(ctx, req.ID)
				}
				return create(ctx, req)
			})
		})},
	}
}

func buriesValues(m *mutant) {
	var deleted sync.Map
	m.commit.before(func(r *provider.CommitTurnRequest) {
		r.Values = slices.DeleteFunc(slices.Clone(r.Values), func(v provider.KeyValue) bool {
			type place struct {
				of  provider.UUID
				key string
			}
			if v.Value == nil {
				deleted.Store(place{r.Key, v.Key}, true)
				return false
			}
			_, gone := deleted.Load(place{r.Key, v.Key})
			return gone
		})
	})
}

func hidesDeletedValues(m *mutant) {
	var deleted sync.Map // by key, the instance that deleted it
	m.commit.before(func(r *provider.CommitTurnRequest) {
		for _, v := range r.Values {
			if v.Value == nil {
				deleted.Store(v.Key, r.Key)
			}
		}
	})
	m.get.after(func(_ provider.GetRequest, res *provider.GetResult, _ *error) {
		res.Values = slices.DeleteFunc(res.Values, func(v provider.KeyValue) bool {
			by, gone := deleted.Load(v.Key)
			return gone && by != res.Instance.Key
		})
	})
}

// inheritsValues shows an instance without values the values of an earlier one with its ID.
func inheritsValues(when func(m *mutant, remember func(context.Context, string))) func(*mutant) {
	return func(m *mutant) {
		var known sync.Map
		when(m, func(ctx context.Context, id string) {
			if res, err := m.Provider.Get(ctx, provider.GetRequest{ID: id, WithValues: true}); err == nil {
				known.Store(id, res.Values)
			}
		})
		m.get.after(func(req provider.GetRequest, res *provider.GetResult, _ *error) {
			if old, ok := known.Load(res.Instance.ID); ok && req.WithValues && len(res.Values) == 0 {
				res.Values, _ = old.([]provider.KeyValue)
			}
		})
	}
}
