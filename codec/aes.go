package codec

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
)

// Key is a key of AES. It should encrypt at most 2^32 items, so give a busy store a new one from time to time.
type Key struct {
	// ID names the key beside the bytes that it has encrypted: 1 to MaxKeyID bytes of printable ASCII without spaces. Never use an ID again.
	ID string
	// Bytes are 16, 24 or 32 secret random bytes. Zeros only are refused.
	Bytes []byte
}

// The form of encrypted bytes: version, check of the key, nonce, cipher text with its tag.
const (
	aesVersion = 1
	checkSize  = 4
	nonceSize  = 12
	tagSize    = 16
	aesGrowth  = 1 + checkSize + nonceSize + tagSize
)

var (
	errKeyID   = fmt.Errorf("the ID of a key is not 1 to %d bytes of printable ASCII without spaces", MaxKeyID)
	errNoKeys  = errors.New("there is no key: give one or more")
	errZeroKey = errors.New("all its bytes are zero: give secret random ones")
	errTwoKeys = errors.New("two keys have one ID")
)

// AES returns a codec of AES-GCM. The first key encrypts, and all of them decrypt. To rotate: deploy the new key behind the old one everywhere,
// then deploy it as the first one. Keep an old key as long as anything that it has encrypted is stored.
//
// An error names the key that is not valid.
func AES(keys ...Key) (Codec, error) {
	if len(keys) == 0 {
		return nil, fmt.Errorf("making an AES codec: %w", errNoKeys)
	}
	ring := aesRing{seal: keys[0].ID, open: make(map[string]*aesKey, len(keys))}
	for _, k := range keys {
		made, err := newAESKey(k)
		if err == nil && ring.open[k.ID] != nil {
			err = errTwoKeys
		}
		if err != nil {
			return nil, fmt.Errorf("making an AES codec: key %.80q: %w", k.ID, err)
		}
		ring.open[k.ID] = made
	}
	return aesCodec{ring}, nil
}

// aesRing holds keys that do not change.
type aesRing struct {
	seal string
	open map[string]*aesKey
}

func (r aesRing) current(context.Context) (*aesKey, error) { return r.open[r.seal], nil }

func (r aesRing) byID(_ context.Context, id string) (*aesKey, error) {
	if k := r.open[id]; k != nil {
		return k, nil
	}
	return nil, fmt.Errorf("%w: there is none with the ID %q", ErrNoKey, id)
}

// aesKeys finds keys.
type aesKeys interface {
	current(ctx context.Context) (*aesKey, error)
	byID(ctx context.Context, id string) (*aesKey, error)
}

// aesKey is a key that was checked.
type aesKey struct {
	id     string
	gcm    cipher.AEAD
	check  [checkSize]byte
	digest []byte // key of digests
}

func newAESKey(k Key) (*aesKey, error) {
	if !ValidKeyID(k.ID) {
		return nil, errKeyID
	}
	if len(k.Bytes) > 0 && len(bytes.Trim(k.Bytes, "\x00")) == 0 {
		return nil, errZeroKey
	}
	block, err := aes.NewCipher(k.Bytes)
	if err != nil {
		return nil, fmt.Errorf("it has %d bytes: give 16, 24 or 32", len(k.Bytes))
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("it makes no cipher: %w", err)
	}
	made := &aesKey{id: k.ID, gcm: gcm}
	// The check tells another key of the same ID from damaged bytes. It gives away nothing of the key.
	mac := hmac.New(sha256.New, k.Bytes)
	mac.Write([]byte("perdure key check"))
	copy(made.check[:], mac.Sum(nil))
	mac = hmac.New(sha256.New, k.Bytes)
	mac.Write([]byte("perdure key of digests"))
	made.digest = mac.Sum(nil)
	return made, nil
}

// ValidKeyID reports whether the ID of a key may be stored.
func ValidKeyID(id string) bool {
	for i := range len(id) {
		if id[i] <= ' ' || id[i] > '~' {
			return false
		}
	}
	return id != "" && len(id) <= MaxKeyID
}

// bound is what is authenticated beside an item.
func (k *aesKey) bound(p Purpose) []byte {
	return append(append(append([]byte("perdure\x01"), k.id...), 0), p...)
}

func (k *aesKey) seal(item Plain) Sealed {
	out := make([]byte, 1+checkSize+nonceSize, len(item.Bytes)+aesGrowth)
	out[0] = aesVersion
	copy(out[1:], k.check[:])
	nonce := out[1+checkSize:]
	_, _ = rand.Read(nonce) // never fails
	return Sealed{Purpose: item.Purpose, KeyID: k.id, Bytes: k.gcm.Seal(out, nonce, item.Bytes, k.bound(item.Purpose))}
}

func (k *aesKey) open(item Sealed) (Plain, error) {
	data := item.Bytes
	switch {
	case len(data) < aesGrowth:
		return Plain{}, fmt.Errorf("%w: %d bytes of key %q are too short", ErrDamaged, len(data), k.id)
	case data[0] > aesVersion:
		return Plain{}, fmt.Errorf("%w: a newer release has encrypted them: upgrade this node", ErrNoKey)
	case data[0] == 0:
		return Plain{}, fmt.Errorf("%w: not the form of this codec", ErrDamaged)
	case subtle.ConstantTimeCompare(data[1:1+checkSize], k.check[:]) == 0:
		return Plain{}, fmt.Errorf("%w: the key %q here is another one than that which has encrypted them: give each process the same Bytes for an ID",
			ErrNoKey, k.id)
	}
	nonce, sealed := data[1+checkSize:1+checkSize+nonceSize], data[1+checkSize+nonceSize:]
	plain, err := k.gcm.Open(nil, nonce, sealed, k.bound(item.Purpose))
	if err != nil {
		return Plain{}, fmt.Errorf("%w: %s under key %q", ErrDamaged, item.Purpose, k.id)
	}
	return Plain{Purpose: item.Purpose, Bytes: plain}, nil
}

// aesCodec implements Codec.
type aesCodec struct{ keys aesKeys }

// Growth implements Codec.
func (aesCodec) Growth() int { return aesGrowth }

// Seal implements Codec.
func (c aesCodec) Seal(ctx context.Context, items []Plain) ([]Sealed, error) {
	key, err := c.keys.current(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Sealed, len(items))
	for i, item := range items {
		out[i] = key.seal(item)
	}
	return out, nil
}

// Digest implements Digester.
func (c aesCodec) Digest(ctx context.Context, data []byte) ([]byte, error) {
	key, err := c.keys.current(ctx)
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, key.digest)
	mac.Write(data)
	return mac.Sum(nil), nil
}

// Open implements Codec.
func (c aesCodec) Open(ctx context.Context, items []Sealed) ([]Plain, error) {
	out := make([]Plain, len(items))
	for i, item := range items {
		key, err := c.keys.byID(ctx, item.KeyID)
		if err == nil {
			out[i], err = key.open(item)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
