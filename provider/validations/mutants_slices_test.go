package validations

import (
	"reflect"
	"slices"
	"sync"

	"github.com/perdure/perdure/provider"
)

func brokenSlices() []brokenRule {
	return []brokenRule{
		{name: "attributes of a turn are handed out again", caught: "slices/turns-are-the-callers", breaks: fetched(sharesAttributes())},
		{name: "the custom status of a turn is handed out again", caught: "slices/turns-are-the-callers", breaks: fetched(sharesCustomStatus())},
		{name: "the payload of a task is handed out again", caught: "slices/tasks-are-the-callers", breaks: sharesTaskPayloads},
		{name: "a page of a history is handed out again", caught: "slices/results-are-the-callers", breaks: sharesHistories},
		{name: "the events of a page lie in one buffer", caught: "slices/results-are-the-callers", breaks: sharesBuffers},
		{name: "the attributes of a Create are kept", caught: "slices/requests-are-copied", breaks: keepsAttributes},
	}
}

// handsOut returns the previous result for a key if it was equal.
func handsOut[T any]() func(key any, list []T) []T {
	type given[T any] struct{ list, was []T }
	var mu sync.Mutex
	last := map[any]given[T]{}
	return func(key any, list []T) []T {
		mu.Lock()
		defer mu.Unlock()
		if g, ok := last[key]; ok && reflect.DeepEqual(g.was, list) {
			return g.list
		}
		last[key] = given[T]{list, slices.Clone(list)}
		return list
	}
}

func sharesAttributes() func(provider.FetchTurnsRequest, *provider.Turn) {
	shared := handsOut[provider.Attribute]()
	return func(_ provider.FetchTurnsRequest, turn *provider.Turn) {
		turn.Instance.Attributes = shared(turn.Instance.Key, turn.Instance.Attributes)
	}
}

func sharesCustomStatus() func(provider.FetchTurnsRequest, *provider.Turn) {
	shared := handsOut[byte]()
	return func(_ provider.FetchTurnsRequest, turn *provider.Turn) {
		turn.Instance.CustomStatus = shared(turn.Instance.Key, turn.Instance.CustomStatus)
	}
}

func sharesTaskPayloads(m *mutant) {
	shared := handsOut[byte]()
	m.tasks.after(func(_ provider.FetchTasksRequest, res *provider.FetchTasksResult, _ *error) {
		for n := range res.Tasks {
			res.Tasks[n].Payload = shared(res.Tasks[n].TaskRef, res.Tasks[n].Payload)
		}
	})
}

func sharesHistories(m *mutant) {
	shared := handsOut[byte]()
	m.history.after(func(req provider.ReadHistoryRequest, res *provider.ReadHistoryResult, _ *error) {
		for n := range res.Events {
			res.Events[n].Data = shared([2]any{req.Key, res.Events[n].ID}, res.Events[n].Data)
		}
	})
}

func sharesBuffers(m *mutant) {
	m.history.after(func(_ provider.ReadHistoryRequest, res *provider.ReadHistoryResult, _ *error) {
		var buffer []byte
		for _, e := range res.Events {
			buffer = append(buffer, e.Data...)
		}
		for n, e := range res.Events {
			res.Events[n].Data, buffer = buffer[:len(e.Data)], buffer[len(e.Data):]
		}
	})
}

func keepsAttributes(m *mutant) {
	kept := sync.Map{}
	m.create.after(func(req provider.CreateRequest, _ *provider.CreateResult, err *error) {
		if *err == nil {
			kept.Store(req.Key, req.Attributes)
		}
	})
	m.get.after(func(_ provider.GetRequest, res *provider.GetResult, _ *error) {
		list, _ := kept.Load(res.Instance.Key)
		if was, _ := list.([]provider.Attribute); len(was) == len(res.Instance.Attributes) && len(was) > 0 && was[0].Name != res.Instance.Attributes[0].Name {
			res.Instance.Attributes = was
		}
	})
}
