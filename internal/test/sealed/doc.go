// Package sealed tests the engine with a codec: nothing of the user is stored in plain, and a codec that fails delays and loses nothing.
package sealed
