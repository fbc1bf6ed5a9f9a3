package client

import (
	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
)

// serve gives package operate what only this package can do.
func (c *Client) serve(caller *access.Caller) {
	caller.Filter = filterOf
	caller.StartSystem = c.startSystem
	caller.Message = readMessage
	caller.BulkActs = c.bulkActs
	caller.FailureText = failureText
	caller.Limits = func() access.LimitKeeper { return &limitKeeper{c: c} }
}

// readMessage is access.Caller.Message.
func readMessage(stored []byte) (access.Message, error) {
	body, key, err := history.DecodeShown(0, stored)
	if err != nil {
		return access.Message{}, err
	}
	e := describeEvent(body)
	m := access.Message{Kind: e.Kind, Name: e.Name, Payload: e.Input}
	switch {
	case key != "":
		m.Payload = sealedJSON(key)
	case m.Payload == nil:
		m.Payload = e.Output
	}
	return m, nil
}

// failureText is access.Caller.FailureText.
func failureText(excerpt []byte) (text string, whole bool, err error) {
	face, err := failure.DecodeFace(excerpt)
	return face.Text, !face.Cut, err
}
