package provider

import (
	"slices"
	"unicode/utf8"
)

// Trim removes from an instance what a list does not return. It is for providers.
func (r ListRequest) Trim(in *Instance) {
	in.Result = nil
	for _, field := range r.Omit {
		switch field {
		case ListAttributes:
			in.Attributes = nil
		case ListCustomStatus:
			in.CustomStatus = nil
		case ListBlockedMessage:
			if in.Blocked != nil {
				in.Blocked.Message = ""
			}
		}
	}
}

// Limit applies StatsRequest.Most to a count that may be greater. It is for providers.
func (r *RunningInstances) Limit(most int64) {
	if most > 0 && r.Count > most {
		r.Count, r.More = most, true
	}
}

// Omits reports whether the list leaves a field out.
func (r ListRequest) Omits(field ListField) bool { return slices.Contains(r.Omit, field) }

// ListBytes returns how many bytes of a page the instance takes.
func (i *Instance) ListBytes() int {
	n := len(i.CustomStatus) + len(i.Excerpt)
	if i.Blocked != nil {
		n += len(i.Blocked.Message)
	}
	return n
}

// AfterPrefix returns the first text that is after all texts with a prefix, byte by byte, so that a prefix becomes a
// range. ok is false if there is none.
func AfterPrefix(prefix string) (after string, ok bool) {
	for len(prefix) > 0 {
		last, size := utf8.DecodeLastRuneInString(prefix)
		prefix = prefix[:len(prefix)-size]
		switch {
		case last == 0xd7ff:
			return prefix + "\ue000", true // no text has the surrogates between
		case last < utf8.MaxRune:
			return prefix + string(last+1), true
		}
	}
	return "", false
}
