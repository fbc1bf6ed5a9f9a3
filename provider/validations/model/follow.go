package model

import (
	"fmt"

	"github.com/perdure/perdure/provider"
)

// followMark returns what compares the marks of an instance on each side with those of earlier steps. A mark changes if and only if
// the rest of the result does. The sides may hash in different ways, so the marks themselves are removed.
func (d *driver) followMark(key provider.UUID) func(*side, *provider.GetResult) {
	return func(s *side, res *provider.GetResult) {
		seen := *res
		seen.Mark, seen.Now = "", 0
		seen.Tasks = append([]provider.TaskInfo(nil), res.Tasks...)
		for i := range seen.Tasks {
			seen.Tasks[i].LeaseUntil, seen.Tasks[i].SessionOwner = 0, ""
		}
		sheet := show(seen, nil)
		now := followed{res.Mark, fmt.Sprint(sheet.text.String(), sheet.times)}
		before, known := s.followed[key]
		if known && (before.mark == now.mark) != (before.shows == now.shows) {
			d.differf("the mark of %s was %q for\n%s\nand is %q for\n%s", uuidName(key), before.mark, before.shows, now.mark, now.shows)
		}
		s.followed[key] = now
		res.Mark = ""
	}
}

// followed is what a side showed of an instance.
type followed struct{ mark, shows string }
