package dashboard

import (
	"slices"

	"github.com/perdure/perdure/operate"
)

// apiCountPrune counts what a prune would delete.
func (c *call) apiCountPrune() error {
	in, err := c.readQuery(pruneFields())
	if err != nil {
		return err
	}
	n, err := operate.New(c.client).PreviewPrune(c.r.Context(), in.pruning())
	if err != nil {
		return err
	}
	return c.answer(n)
}

// apiCountTrim counts what a trim would delete.
func (c *call) apiCountTrim() error {
	in, err := c.readQuery(trimFields())
	if err != nil {
		return err
	}
	t, err := in.trimming()
	if err != nil {
		return err
	}
	n, err := operate.New(c.client).PreviewTrim(c.r.Context(), t)
	if err != nil {
		return err
	}
	return c.answer(n)
}

// apiCountRetention counts what rules would remove: those that are given, or else those that are set.
func (c *call) apiCountRetention() error {
	in, err := c.readQuery(ruleFields())
	if err != nil {
		return err
	}
	r, err := in.retention()
	if err != nil {
		return err
	}
	o := operate.New(c.client)
	if q := c.r.URL.Query(); !slices.ContainsFunc(ruleFields(), func(f field) bool { return q.Has(f.name) }) {
		info, err := o.Retention(c.r.Context())
		if err != nil {
			return err
		}
		r = info.Retention
	}
	p, err := o.PreviewRetention(c.r.Context(), r)
	if err != nil {
		return err
	}
	return c.answer(p)
}
