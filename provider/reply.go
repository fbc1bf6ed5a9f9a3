package provider

import "errors"

// Reply returns what the sender gets for a message, or nil for nothing. Refused is why the message was not delivered, and nil if
// it was. Ends reports whether the sender ends in the same commit. It is for providers.
func (m *OutMessage) Reply(refused error, ends bool) *NewMessage {
	r := m.Replies
	switch {
	case refused != nil && r == nil:
		return m.Refused
	case r == nil || refused == nil && ends:
		return nil
	case refused == nil:
		return &r.Accepted
	case errors.Is(refused, ErrInboxFull):
		return &r.Full
	case errors.Is(refused, ErrEnded):
		return &r.Ended
	default:
		return &r.Gone
	}
}
