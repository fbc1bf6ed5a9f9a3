package reserved

// The names of perdure's own orchestrations besides schedules.
const (
	Bulk      = NamePrefix + "bulk"
	Retention = NamePrefix + "retention"
)

// Names returns the names of all of perdure's own orchestrations.
func Names() []string { return []string{Schedule, Bulk, Retention} }
