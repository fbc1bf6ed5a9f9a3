package main

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/provider"
)

const keyUsage = "ID is the key of an instance, which no other instance has later"

// keyFlag adds the flag --key to a command whose argument ID names an instance.
func keyFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("key", false, keyUsage)
}

// instanceOf returns a handle of the instance that an argument names: by its ID, or with the flag --key by its key.
func instanceOf(ctx context.Context, c *client.Client, arg string, byKey bool) (client.Handle[json.RawMessage], error) {
	if !byKey {
		return client.Lookup[json.RawMessage](ctx, c, arg)
	}
	key, err := parseKey("argument ID", arg)
	if err != nil {
		return client.Handle[json.RawMessage]{}, err
	}
	return client.LookupKey[json.RawMessage](ctx, c, key)
}

// actOn acts on the instance that an argument names: by its ID, or with the flag --key by its key. The act by key goes to that instance only.
func actOn(
	ctx context.Context, c *client.Client, arg string, byKey bool, byID func(id string) error, one func(h client.Handle[json.RawMessage]) error,
) (id string, err error) {
	if !byKey {
		return arg, byID(arg)
	}
	h, err := instanceOf(ctx, c, arg, true)
	if err != nil {
		return arg, err
	}
	return h.ID(), one(h)
}

// parseKey parses the key of an instance.
func parseKey(what, text string) (key provider.UUID, err error) {
	if err := key.UnmarshalText([]byte(text)); err != nil || key.IsZero() {
		return key, badUsage("%s is %q: it must be a key such as 01a20e11-e2a6-8398-bdfa-955c1e2eeb7b; 'perdure list -o json' shows keys", what, text)
	}
	return key, nil
}
