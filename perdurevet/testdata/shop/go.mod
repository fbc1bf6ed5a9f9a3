// The code that the tests of perdurevet check.
module example.com/shop

go 1.26.0

require (
	example.com/other v0.0.0
	github.com/google/uuid v0.0.0
	github.com/perdure/perdure v0.0.0
)

replace (
	example.com/other => ../other
	github.com/google/uuid => ../uuid
	github.com/perdure/perdure => ../perdure
)
