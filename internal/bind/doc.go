// Package bind connects the public packages with the engine. It holds what package runtime, the engine and
// clients need of packages orchestration and activity, and what users must not see.
//
// The public types embed a handle of this package under an unexported name. The handle has no exported fields or
// methods, so that nothing of it is promoted. The functions of this package open it.
package bind
