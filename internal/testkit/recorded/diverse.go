package recorded

import (
	"compress/gzip"
	"fmt"
	"strings"

	"github.com/perdure/perdure/provider"
)

// Diverse chooses streams that show as much as possible in the given number of bytes: which kinds of messages and of events follow each
// other, what commits hold, and in which order the calls of a turn come.
func Diverse(streams []*Stream, limit int) (chosen []*Stream) {
	shown := map[string]bool{}
	sizes, shapes, left := make([]int, len(streams)), make([]map[string]bool, len(streams)), map[int]bool{}
	for i, s := range streams {
		sizes[i], shapes[i], left[i] = size(s), shapeOf(s), true
	}
	for {
		best, worth := -1, 0.0
		for i := range streams {
			if !left[i] || sizes[i] > limit {
				continue
			}
			fresh := 0
			for shape := range shapes[i] {
				if !shown[shape] {
					fresh++
				}
			}
			if w := float64(fresh) / float64(sizes[i]); w > worth {
				best, worth = i, w
			}
		}
		if best < 0 {
			return chosen
		}
		for shape := range shapes[best] {
			shown[shape] = true
		}
		chosen, limit = append(chosen, streams[best]), limit-sizes[best]
		delete(left, best)
	}
}

// counter counts what is written.
type counter struct{ bytes int }

func (c *counter) Write(data []byte) (int, error) {
	c.bytes += len(data)
	return len(data), nil
}

// size returns the compressed size of a stream.
func size(s *Stream) int {
	var c counter
	packed := gzip.NewWriter(&c)
	_, _ = packed.Write(encode(s)) // a counter takes all
	_ = packed.Close()
	return c.bytes
}

// shapeOf names what a stream shows.
func shapeOf(s *Stream) map[string]bool {
	shape := map[string]bool{}
	for _, t := range s.Turns {
		if t.Fetched != nil {
			last := provider.MessageKind(0)
			for _, m := range t.Fetched.Messages {
				shape[fmt.Sprint("messages ", last, m.Kind)] = true
				last = m.Kind
			}
			shape[fmt.Sprint("last message ", last, t.Fetched.More, t.Fetched.Instance.Blocked != nil)] = true
		}
		calls := make([]string, 0, 2*len(t.Calls))
		for _, c := range t.Calls {
			calls = append(calls, c.Name, c.Refusal)
			if turn := turnOf(c); turn != nil {
				shapeOfTurn(shape, turn)
			}
		}
		shape[strings.Join(calls, " ")] = true
	}
	return shape
}

// turnOf returns the turn that a call stores; nil: none.
func turnOf(c Call) *provider.CommitTurnRequest {
	switch c.Name {
	case "CommitTurn":
		if r, err := decode[provider.CommitTurnRequest](c.Request); err == nil {
			return &r
		}
	case "Create":
		if r, err := decode[provider.CreateRequest](c.Request); err == nil {
			return r.First
		}
	}
	return nil
}

func shapeOfTurn(shape map[string]bool, r *provider.CommitTurnRequest) {
	last := byte(0)
	for _, data := range r.Events {
		kind := data[1]
		shape[fmt.Sprint("events ", last, kind)] = true
		last = kind
	}
	shape[fmt.Sprint("last event ", last)] = true
	for name, has := range map[string]bool{
		"tasks": len(r.Tasks) > 0, "cancelled tasks": len(r.CancelTasks) > 0, "timers": len(r.Timers) > 0, "cancelled timers": len(r.CancelTimers) > 0,
		"sends": len(r.Sends) > 0, "starts": len(r.Starts) > 0, "attributes": len(r.Attributes) > 0, "values": len(r.Values) > 0,
		"closed inbox": r.CloseInbox != "", "next": r.Next != nil, "status": r.CustomStatus != nil, r.Status.String(): true,
	} {
		if has {
			shape[name] = true
		}
	}
}
