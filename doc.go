// Package perdure is the root of a durable-execution library for Go services:
// ordinary functions survive crashes, restarts and deploys.
//
// It holds no code. A service uses these packages:
//
//   - orchestration: the API for orchestration code
//   - activity: the API for activity code
//   - runtime: registers functions and runs them on a store
//   - client: starts, observes and steers instances
//   - provider/sqlite: a store in a file
//   - provider/postgres: a store in Postgres, for several machines
//
// Package provider is the contract for authors of stores. README.md has a quick
// start, and ARCHITECTURE.md a map of the packages.
package perdure
