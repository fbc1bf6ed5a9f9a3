// A module of its own: users of perdure need neither a reader of YAML nor an interpreter of jq.
module github.com/perdure/perdure/model/serverless

go 1.26.0

require (
	github.com/itchyny/gojq v0.12.20
	github.com/perdure/perdure v0.0.0
	go.yaml.in/yaml/v3 v3.0.6
)

require (
	github.com/google/uuid v1.6.0 // indirect
	github.com/itchyny/timefmt-go v0.1.9 // indirect
	go.uber.org/goleak v1.3.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
)

replace github.com/perdure/perdure => ../../
