package relational

import "github.com/perdure/perdure/provider"

// Where translates a filter into conditions on the table of instances, i. Each of them can be checked row by row.
func (d *Dialect) Where(f *provider.Filter, args ...any) *Clauses {
	c := d.plain(f, args...)
	for _, m := range matches(f) {
		c.has(&m)
	}
	return c
}

// matches returns all conditions of a filter on attributes.
func matches(f *provider.Filter) []provider.AttributeMatch {
	list := make([]provider.AttributeMatch, 0, len(f.Attributes)+len(f.Matches))
	for _, a := range f.Attributes {
		list = append(list, provider.AttributeMatch{Name: a.Name, Kind: a.Kind, Any: []provider.AttributeValue{{Text: a.Text, Number: a.Number}}})
	}
	return append(list, f.Matches...)
}

// has restricts the instances, i, to those with an attribute. A scalar query finds it by the key of the instance. No planner turns it
// into a join.
func (c *Clauses) has(m *provider.AttributeMatch) {
	of := &Clauses{dialect: c.dialect, Args: c.Args, text: []string{"a.key = i.key"}}
	of.match("a", m)
	c.Args = of.Args
	c.text = append(c.text, "(SELECT "+c.dialect.True+" FROM "+c.dialect.Table+"attribute a"+of.SQL()+")")
}

// match adds a condition on the table of attributes. Its index begins with name, kind, text and number.
func (c *Clauses) match(table string, m *provider.AttributeMatch) {
	column, value := table+".number", func(v provider.AttributeValue) any { return v.Number }
	c.Add(table+".name = ?", m.Name)
	c.Add(table+".kind = ?", int64(m.Kind))
	if m.Kind == provider.AttributeText {
		column, value = table+".text", func(v provider.AttributeValue) any { return v.Text }
	} else {
		c.Add(table + ".text = ''")
	}
	if len(m.Any) > 0 {
		marks, args := list(m.Any, value)
		c.Add(column+" IN ("+marks+")", args...)
	}
	if m.Prefix != "" {
		c.addPrefix(column, m.Prefix)
	}
	if m.From != nil {
		c.Add(column+" >= ?", value(*m.From))
	}
	if m.To != nil {
		c.Add(column+" < ?", value(*m.To))
	}
}
