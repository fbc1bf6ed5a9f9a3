package payload

import (
	"bytes"
	"encoding/json"
)

// maxIndent is how many levels Pretty indents. What is nested deeper stays on one line, since indentation grows with the square of
// the depth: 18 KB of brackets would become 160 MB.
const maxIndent = 20

// Pretty indents JSON for people, at most limit bytes of it, and reports whether it was cut. It reads and keeps no more than it
// returns. Data that is no JSON comes back as text.
func Pretty(data []byte, limit int) (text []byte, cut bool) {
	if !json.Valid(data) {
		if len(data) <= limit {
			return data, false
		}
		return bytes.ToValidUTF8(data[:limit], nil), true
	}
	p := printer{out: make([]byte, 0, min(limit, 2*len(data))+1), limit: limit}
	for i := 0; i < len(data) && len(p.out) <= limit; i++ {
		p.next(data, i)
	}
	if len(p.out) <= limit {
		return p.out, false
	}
	return bytes.ToValidUTF8(p.out[:limit], nil), true
}

// printer is the state of Pretty.
type printer struct {
	out      []byte
	limit    int
	depth    int
	inString bool
	escaped  bool
}

// next takes the byte at i.
func (p *printer) next(data []byte, i int) {
	c := data[i]
	switch {
	case p.inString:
		p.inString = c != '"' || p.escaped
		p.escaped = c == '\\' && !p.escaped
		p.out = append(p.out, c)
	case c == '"':
		p.inString = true
		p.out = append(p.out, c)
	case c == ' ' || c == '\n' || c == '\t' || c == '\r':
	case c == ':':
		p.out = append(p.out, ": "...)
	case c == ',':
		p.out = append(p.out, c)
		p.line()
	case c == '[' || c == '{':
		p.out = append(p.out, c)
		p.depth++
		if !closes(data, i+1) {
			p.line()
		}
	case c == ']' || c == '}':
		p.depth--
		if last := p.out[max(len(p.out)-1, 0):]; !bytes.Equal(last, []byte("[")) && !bytes.Equal(last, []byte("{")) {
			p.lineAt(p.depth + 1)
		}
		p.out = append(p.out, c)
	default:
		p.out = append(p.out, c)
	}
}

// closes reports whether an array or object that has just begun is empty.
func closes(data []byte, i int) bool {
	for ; i < len(data); i++ {
		switch data[i] {
		case ' ', '\n', '\t', '\r':
		case ']', '}':
			return true
		default:
			return false
		}
	}
	return false
}

// line begins a line for what stands at the present depth.
func (p *printer) line() { p.lineAt(p.depth) }

// lineAt begins a line at the present depth, unless what encloses it lies too deep.
func (p *printer) lineAt(enclosing int) {
	if enclosing > maxIndent {
		return
	}
	p.out = append(p.out, '\n')
	for range p.depth {
		p.out = append(p.out, "  "...)
	}
}
