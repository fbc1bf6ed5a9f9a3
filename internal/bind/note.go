package bind

import "github.com/perdure/perdure/internal/replay"

// Note tells the Observer of something when the turn is stored: see replay.Scope.Note. It is for the orchestrations of perdure itself.
func Note[C any, P Holder[C]](ctx P, n replay.Note) { ctx.held().scope.Note(n) }
