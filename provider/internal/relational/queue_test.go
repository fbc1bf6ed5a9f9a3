package relational

import (
	"slices"
	"testing"
)

// Take keeps within the bounds of a group, and adds nothing to an exclusive one.
func TestTakeAddsToAGroup(t *testing.T) {
	add := func(members ...*Member) *Queue {
		q := NewQueue()
		for _, m := range members {
			q.Add(m, false)
		}
		return q
	}
	began, more, exclusive := &Member{Bytes: 6}, &Member{Bytes: 4}, &Member{Exclusive: true}
	for _, c := range []struct {
		name  string
		queue *Queue
		into  *Member
		most  int
		want  []*Member
	}{
		{"room", add(more), began, 2, []*Member{began, more}},
		{"too many", add(&Member{Bytes: 1}), began, 1, []*Member{began}},
		{"too many bytes", add(&Member{Bytes: 5}), began, 2, []*Member{began}},
		{"exclusive", add(&Member{}), exclusive, 2, []*Member{exclusive}},
		{"an exclusive one behind it", add(&Member{Exclusive: true}), began, 2, []*Member{began}},
	} {
		if got, _ := c.queue.Take([]*Member{c.into}, c.most, 10); !slices.Equal(got, c.want) {
			t.Errorf("%s: a group of %d: want %d", c.name, len(got), len(c.want))
		}
	}
}
