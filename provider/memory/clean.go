package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/perdure/perdure/provider"
)

// Delete implements provider.Provider. Under one mutex nobody sees an instance marked.
func (p *Provider) Delete(ctx context.Context, req provider.DeleteRequest) (res provider.DeleteResult, err error) {
	err = p.do(ctx, req, func(provider.Time) error {
		i, err := p.find(req.ID, req.Key)
		if err != nil {
			return err
		}
		if !req.Force && p.runs(i) {
			return provider.ErrRunning
		}
		res.Instances = p.erase(i)
		return nil
	})
	return res, err
}

// runs tells whether the instance or one below it has not ended. An abandoned child outlives
// its parent, so a plain delete of the parent must not take it down unasked.
func (p *Provider) runs(i *instance) bool {
	return !i.row.Status.Ended() || slices.ContainsFunc(p.children[i.row.Key], p.runs)
}

// erase removes the instance and all below it, and answers how many that were.
func (p *Provider) erase(i *instance) int64 {
	var n int64 = 1
	for _, child := range slices.Clone(p.children[i.row.Key]) {
		n += p.erase(child)
	}
	p.dropWork(i)
	key := i.row.Key
	delete(p.instances, key)
	delete(p.live, key)
	delete(p.children, key)
	if p.current[i.row.ID] == i {
		delete(p.current, i.row.ID)
	}
	if parent := i.row.Parent.Key; len(p.children[parent]) > 0 {
		p.children[parent] = slices.DeleteFunc(p.children[parent], func(c *instance) bool { return c == i })
	}
	p.letters = slices.DeleteFunc(p.letters, func(l *letter) bool { return l.Key == key })
	p.write()
	return n
}

// Prune implements provider.Provider. Max counts the trees taken, the result all that was
// removed. A tree in which something runs stays. Of those that ended at once the lower key goes first, so that one store always
// does the same.
func (p *Provider) Prune(ctx context.Context, req provider.PruneRequest) (res provider.PruneResult, err error) {
	err = p.do(ctx, req, func(now provider.Time) error {
		var old []*instance
		for _, i := range p.instances {
			if i.row.Status.Ended() && i.row.EndedAt.Add(req.Age) <= now && p.instances[i.row.Parent.Key] == nil && !p.runs(i) {
				old = append(old, i)
			}
		}
		slices.SortFunc(old, func(a, b *instance) int {
			return cmp.Or(cmp.Compare(a.row.EndedAt, b.row.EndedAt), slices.Compare(a.row.Key[:], b.row.Key[:]))
		})
		for _, i := range old[:min(len(old), cmp.Or(req.Max, provider.MaxBatch))] {
			res.Instances += p.erase(i)
		}
		return nil
	})
	return res, err
}

// A letter is a dead letter.
type letter struct {
	provider.DeadLetter

	priority int // of a task
}

func letterOf(i *instance, m provider.Message) *letter {
	return &letter{DeadLetter: provider.DeadLetter{
		Key: i.row.Key, InstanceID: i.row.ID, Execution: m.Execution, EventID: m.EventID, Kind: m.Kind, Payload: m.Payload,
	}}
}

// bury adds a dead letter.
func (p *Provider) bury(l *letter, reason string, now provider.Time) {
	l.ID, l.Reason, l.At = p.next(), reason, now
	p.letters = append(p.letters, l)
	p.write()
}

// DeadLetters implements provider.Provider.
func (p *Provider) DeadLetters(ctx context.Context, req provider.DeadLettersRequest) (res provider.DeadLettersResult, err error) {
	err = p.do(ctx, req, func(now provider.Time) error {
		if req.Action == provider.DeadLettersList {
			for _, l := range p.letters {
				if l.ID > req.Cursor && (req.Key.IsZero() || l.Key == req.Key) && len(res.Letters) < cmp.Or(req.Max, provider.MaxPage) {
					dead := l.DeadLetter
					dead.Payload = slices.Clone(dead.Payload)
					res.Letters = append(res.Letters, dead)
				}
			}
			return nil
		}
		for _, id := range req.IDs {
			n := slices.IndexFunc(p.letters, func(l *letter) bool { return l.ID == id })
			if n >= 0 && (req.Action == provider.DeadLettersDiscard || p.redrive(p.letters[n], now)) {
				p.letters = slices.Delete(p.letters, n, n+1)
				res.Done++
				p.write()
			}
		}
		return nil
	})
	return res, err
}

// redrive puts the item back and tells whether it could: the receiver must still run, the
// execution of a task, too.
func (p *Provider) redrive(l *letter, now provider.Time) bool {
	i := p.live[l.Key]
	if i == nil {
		return false
	}
	if !l.Task {
		p.put(i, provider.NewMessage{Kind: l.Kind, Execution: l.Execution, EventID: l.EventID, Payload: l.Payload}, now)
		return true
	}
	ref := provider.TaskRef{Key: l.Key, Execution: l.Execution, EventID: l.EventID}
	if i.row.Execution != l.Execution || p.tasks[ref] != nil {
		return false
	}
	p.schedule(i, &provider.NewTask{EventID: l.EventID, Queue: l.Queue, Name: l.Name, Payload: l.Payload, Priority: l.priority}, now)
	return true
}
