// Package perdure is the root of a durable-execution engine that Go services embed:
// ordinary functions that survive crashes, restarts and deploys.
//
// It holds no code. A service uses these packages:
//
//   - orchestration: what orchestration code sees
//   - activity: what activity code sees
//   - runtime: registers functions and runs them on a store
//   - client: starts, observes and steers instances
//   - provider/sqlite: the store in a file
//
// Package provider is the contract for those who write a store. README.md has a quick
// start, ARCHITECTURE.md the map.
package perdure
