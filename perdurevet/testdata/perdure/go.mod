// What the tests of perdurevet need of perdure. TestStubs compares it with the real packages.
module github.com/perdure/perdure

go 1.26.0
