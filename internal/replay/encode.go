package replay

import "github.com/perdure/perdure/internal/payload"

// EncodeInput encodes what code gives to a call. It refuses a value that the receiver would get changed: see payload.EncodeExact. Executions
// from before that flag take such values, because their calls must return what they returned then.
func (s *Scope) EncodeInput(v any) ([]byte, error) {
	if s.x.settings.Flags&flagExact == 0 {
		return payload.Encode(v)
	}
	return payload.EncodeExact(v)
}

// EncodeOutput encodes what a function or a handler returns. Executions from before the flag refuse only what nobody could read.
func (s *Scope) EncodeOutput(v any) ([]byte, error) {
	if s.x.settings.Flags&flagExact == 0 {
		return payload.EncodeReadable(v)
	}
	return payload.EncodeExact(v)
}
