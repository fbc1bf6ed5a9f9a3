// Package bind connects the public packages with the engine. It holds the parts of packages orchestration and
// activity that package runtime, the engine and clients use and that users must not see.
//
// The public types embed a handle of this package under an unexported name. The handle has no exported fields or
// methods, so that nothing of it is promoted. The functions of this package open it.
package bind
