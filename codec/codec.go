package codec

import (
	"context"
	"errors"
)

// MaxGrowth is the most bytes that encrypting may add to one item. Limits that code sees are of plain bytes. The limits of stores have room for
// this much.
const MaxGrowth = 256

// MaxKeyID is the greatest length of the ID of a key, in bytes.
const MaxKeyID = 64

var (
	// ErrDamaged means that encrypted bytes are not what a codec has made, and never will be decrypted: somebody has changed them. The instance that
	// they belong to becomes Blocked with the reason "codec". Any other error of a codec is an outage, after which the call is repeated.
	ErrDamaged = errors.New("encrypted bytes are damaged")
	// ErrNoKey means that a codec has not got the key that it needs, or another one of the same ID. It is an outage: another node may have the
	// key, and this one may get it.
	ErrNoKey = errors.New("no key to decrypt bytes")
)

// Purpose says what an item is. A codec authenticates it together with the ID of the key. It has nothing of the place where an item is stored,
// since items travel: from a schedule to an instance, from a child to its parent, from one store to another.
type Purpose string

// The purposes. Their texts are part of what is stored.
const (
	Event     Purpose = "event"     // the values of an event, of the message that becomes one, or of a task
	Outcome   Purpose = "outcome"   // how an instance ended
	Value     Purpose = "value"     // a key-value, and the state of an update
	Status    Purpose = "status"    // a custom status
	Heartbeat Purpose = "heartbeat" // details of a heartbeat
	Failure   Purpose = "failure"   // failures of the attempts of an activity
	Blocked   Purpose = "blocked"   // why an instance is blocked
	Question  Purpose = "question"  // a query with its input
	Answer    Purpose = "answer"    // an answer to a query
	Excerpt   Purpose = "excerpt"   // what lists show of the error that an instance has failed with
)

// Plain is an item to encrypt.
type Plain struct {
	Purpose Purpose
	Bytes   []byte // at most 2 MiB and 64 KiB
}

// Sealed is an item to decrypt.
type Sealed struct {
	Purpose Purpose
	KeyID   string // 1 to MaxKeyID bytes of printable ASCII; stored beside Bytes, in plain
	Bytes   []byte
}

// Codec encrypts and decrypts batches of items. Many goroutines may call it at once. Each call should return when its context is finished. A codec
// must not keep or change the bytes that it is given.
//
// Whatever a codec encrypts, all nodes and clients that read the store must be able to decrypt for as long as it is stored.
type Codec interface {
	// Seal encrypts: it returns one item for each of the given ones, in order. It may add MaxGrowth bytes to each. An error means that none is
	// encrypted; the call is repeated later, and the instance waits.
	Seal(ctx context.Context, items []Plain) ([]Sealed, error)
	// Open decrypts: it returns one item for each of the given ones, in order. An error means that none is decrypted. Then the items of
	// each key are decrypted again by themselves, so that the outage of one key is that of no other. After an ErrDamaged, halves of them follow, to
	// find what it concerns. What an ErrNoKey or any other error concerns is tried again later.
	Open(ctx context.Context, items []Sealed) ([]Plain, error)
	// Growth returns the most bytes that Seal adds to an item, without the ID of the key; at most MaxGrowth. It is asked once, at the start.
	Growth() int
}

// Digester is implemented by codecs that make digests by which equal bytes are found and nobody without the key learns what they are. The engine
// stores them as the keys of groups of failures. With a codec that encrypts and is no Digester, failures have no groups. [AES] and [AESFrom] make one.
type Digester interface {
	// Digest returns a message authentication code of at least 16 bytes, such as an HMAC. It is the same for the same bytes as long as the key that
	// encrypts is the same. An error is an outage, like one of Seal. It must not keep or change the bytes.
	Digest(ctx context.Context, data []byte) ([]byte, error)
}

// OpenOnly returns a codec that decrypts what c has encrypted and encrypts nothing. It is for the first deploy of a codec or of another kind of
// codec: all nodes and clients must be able to decrypt before one encrypts. When all have it, run perdure upgrade --finish, and then deploy c.
// What a node with it stores is plain, also if it has decrypted that.
func OpenOnly(c Codec) Codec { return openOnly{c} }

type openOnly struct{ Codec }

// Seals reports whether a codec encrypts: it is no OpenOnly.
func Seals(c Codec) bool {
	_, only := c.(openOnly)
	return c != nil && !only
}

// errOpenOnly is the error of Seal of an OpenOnly, which the engine never calls.
var errOpenOnly = errors.New("the codec only decrypts")

// Seal implements Codec.
func (openOnly) Seal(context.Context, []Plain) ([]Sealed, error) { return nil, errOpenOnly }
