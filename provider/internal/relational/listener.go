package relational

// notifyListener delivers the message about the end of an instance. The head no longer accepts messages itself.
func (t *Tx) notifyListener(h *Head) error {
	if !h.Listened {
		return nil
	}
	l, err := t.Rows.Listener(h.Key)
	if err != nil || l == nil {
		return err
	}
	to, err := t.Head(l.Key)
	if err != nil || to.sendable("", l.Key) != nil || l.Message.Execution != 0 && l.Message.Execution != to.Execution {
		return err
	}
	_, err = inbox{t, to}.deliver(&l.Message)
	return err
}
