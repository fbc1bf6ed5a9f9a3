package simulation

import (
	"maps"
	"slices"
	"time"
)

// shrink searches for a smaller script that still fails, until the given time: fewer decisions, then a smaller workload.
func shrink(s Script, until time.Time, fails func(Script) bool) Script {
	try := func(smaller Script) bool {
		if time.Now().After(until) || !fails(smaller) {
			return false
		}
		s = smaller
		return true
	}
	for again := true; again && time.Now().Before(until); {
		again = fewerPicks(&s, try)
		for n := 0; ; {
			all := smallerWorkloads(s.Workload)
			if n >= len(all) || time.Now().After(until) {
				break
			}
			if try(Script{Workload: all[n], Picks: s.Picks}) {
				again = true
				continue // the list is another one now
			}
			n++
		}
	}
	return s
}

// fewerPicks leaves out decisions: many at once first, then one by one.
func fewerPicks(s *Script, try func(Script) bool) (smaller bool) {
	for size := len(s.Picks); size > 0; size /= 2 {
		steps := slices.Sorted(maps.Keys(s.Picks))
		for from := 0; from < len(steps); from += size {
			picks := maps.Clone(s.Picks)
			for _, step := range steps[from:min(from+size, len(steps))] {
				delete(picks, step)
			}
			smaller = try(Script{Workload: s.Workload, Picks: picks}) || smaller
		}
	}
	return smaller
}

// smallerWorkloads returns workloads with one thing less.
func smallerWorkloads(w Workload) (all []Workload) {
	with := func(edit func(w *Workload)) {
		v := w
		v.Nodes, v.Instances = slices.Clone(w.Nodes), slices.Clone(w.Instances)
		edit(&v)
		all = append(all, v)
	}
	if len(w.Instances) > 1 {
		for i := range w.Instances {
			with(func(v *Workload) { v.Instances = slices.Delete(v.Instances, i, i+1) })
		}
	}
	for i := 1; i < len(w.Nodes); i++ {
		with(func(v *Workload) { v.Nodes = slices.Delete(v.Nodes, i, i+1) })
	}
	if w.Ahead > 0 {
		with(func(v *Workload) { v.Ahead = 0 })
	}
	for i := range w.Instances {
		for _, in := range smallerInstances(w.Instances[i]) {
			with(func(v *Workload) { v.Instances[i] = in })
		}
	}
	return all
}

func smallerInstances(in Instance) (all []Instance) {
	if in.Act != "" && !slices.ContainsFunc(in.Plan.Steps, func(s Step) bool { return s.Do == doNever }) {
		v := in
		v.Act = ""
		all = append(all, v)
	}
	for _, steps := range smallerSteps(in.Plan.Steps) {
		v := in
		v.Plan.Steps = steps
		all = append(all, v)
	}
	for c := range in.Clients {
		for n := range in.Clients[c] {
			v := in
			v.Clients = slices.Clone(in.Clients)
			v.Clients[c] = slices.Delete(slices.Clone(in.Clients[c]), n, n+1)
			v.number()
			all = append(all, v)
		}
		if len(in.Clients) > 1 && len(in.Clients[c]) == 0 {
			v := in
			v.Clients = slices.Delete(slices.Clone(in.Clients), c, c+1)
			all = append(all, v)
		}
	}
	return all
}

// number counts again what clients send.
func (i *Instance) number() {
	i.Plan.Events, i.Plan.Notes, i.Plan.Updates = 0, 0, 0
	counts := map[string]*int{sendEvent: &i.Plan.Events, sendNote: &i.Plan.Notes, sendUpdate: &i.Plan.Updates}
	for c := range i.Clients {
		i.Clients[c] = slices.Clone(i.Clients[c])
		for n := range i.Clients[c] {
			if count := counts[i.Clients[c][n].Do]; count != nil {
				*count++
				i.Clients[c][n].N = *count
			}
		}
	}
	i.Plan.Steps = slices.Clone(i.Plan.Steps)
	i.fit()
}

// smallerSteps returns steps with one less, or with a child that has one less.
func smallerSteps(steps []Step) (all [][]Step) {
	for i := range steps {
		all = append(all, slices.Delete(slices.Clone(steps), i, i+1))
	}
	for i := range steps {
		if steps[i].Child == nil {
			continue
		}
		for _, smaller := range smallerSteps(steps[i].Child.Steps) {
			v := slices.Clone(steps)
			v[i].Child = &Plan{Steps: smaller}
			all = append(all, v)
		}
	}
	return all
}
