// Package encryption keeps what customers write out of the database: a codec encrypts payloads before the store gets them.
package encryption

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/perdure/perdure/codec"
	"github.com/perdure/perdure/orchestration"
)

var errNoKeys = errors.New("there are no keys: give a JSON list of objects with ID and Bytes, 32 bytes in base 64")

// Codec makes a codec of the keys that a secret holds, as JSON: [{"ID": "2026-11", "Bytes": "..."}]. The first one encrypts, and all of them
// decrypt. To change the key, deploy the new one in the second place, then in the first. Keep the old one as long as it has encrypted anything.
func Codec(secret string) (codec.Codec, error) {
	var keys []codec.Key
	if err := json.Unmarshal([]byte(secret), &keys); err != nil { //nolint:musttag // the secret has the names of the fields
		return nil, fmt.Errorf("%w: %T", errNoKeys, err) // the error itself may quote the secret
	}
	return codec.AES(keys...)
}

// Payment is the input of Pay. Number never stands in the store.
type Payment struct {
	Number string
	Cents  int
}

// Pay waits for a confirmation. Code sees plain values: it does not know of the codec.
func Pay(ctx *orchestration.Context, p Payment) (string, error) {
	ctx.SetStatus("waits for the confirmation of " + p.Number)
	by, err := orchestration.Events[string](ctx, "confirm").Receive(ctx)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d cents from %s, confirmed by %s", p.Cents, p.Number, by), nil
}
