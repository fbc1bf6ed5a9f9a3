package prefix

import (
	own "github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/provider"
)

// Limit sets the time limit of the origin anew, from now on.
func (p *Plan) Limit(now provider.Time) {
	for i := range p.Inst.Attributes {
		a := p.Inst.Attributes[i]
		if a.Name != own.LimitAttribute {
			continue
		}
		if l, ok := own.ParseLimit(a.Text); ok {
			a.Text = l.Renewed(now.Std(), p.Branch.New.Execution).String()
			p.out.Attributes = append(p.out.Attributes, a)
		}
	}
}
