package replay

import (
	"math/rand/v2" //nolint:depguard // seeded by the execution: the same on every replay
)

// random is the source of random numbers of an execution. Only the running coroutine may draw.
type random struct {
	sched   *scheduler
	src     rand.Source
	numbers *rand.Rand // that the code holds
}

// reseed begins another sequence. Code that holds the numbers continues with it.
func (r *random) reseed(seed [32]byte) { r.src = rand.NewChaCha8(seed) }

// Uint64 implements rand.Source.
func (r *random) Uint64() uint64 {
	r.sched.enter()
	return r.src.Uint64()
}
