// Package codec encrypts what user code produces before a store gets it.
//
// A [Codec] encrypts and decrypts byte strings in batches. A node gets one in runtime.Options.Codec, a client of another process in
// client.Options.Codec. Code of orchestrations and activities sees plain values only, and never waits for a codec.
//
// Plain and encrypted bytes mix for ever in one history. So a codec can be added to a store that is in use, and keys can be rotated while
// orchestrations run. All nodes must be able to decrypt before one encrypts: deploy with [OpenOnly], run perdure upgrade --finish, then
// deploy the codec itself. See docs/how-to/encrypt-payloads.md, which has the list of what stays plain.
//
// [AES] and [AESFrom] make codecs of AES-GCM with any number of keys.
package codec
