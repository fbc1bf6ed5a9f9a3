package orchestration

// EndSession ends a session of activities on purpose: see [WithSession]. Its place on a node is free once the turn is stored, that is,
// when the code waits next or returns. An activity of the session that runs then goes on, and the session ends with it. An activity that
// has not begun, or is called later, opens the session anew, maybe on another node.
//
// Code needs it only where it goes on for long after the last activity of the session: a session ends by itself with the instance that
// opened it, and after runtime.SessionOptions.Idle without use. id has 1 to 512 bytes of UTF-8 without NUL. Any instance may end a session.
// One that does not exist is no error.
//
// EndSession makes no event, and returns nothing. A replay ends nothing again. So a call can be added to running code, and removed. A turn
// ends at most 1,000 sessions. An id that is not allowed, or one too many, ends nothing: the log says so, and Stats.StateRefused counts it.
func EndSession(ctx *Context, id string) { ctx.engine().EndSession(id) }
