// Package reserved names the corner of a store that belongs to perdure itself: its orchestrations, such as schedules and bulk jobs, and
// their instances. Users cannot take these names, start such instances or steer them, except by the calls made for them.
package reserved

import "strings"

const (
	// NamePrefix begins the names of perdure's own orchestrations and activities.
	NamePrefix = "perdure."
	// IDPrefix begins the IDs of their instances.
	IDPrefix = "perdure/"
	// Queue is the activity queue of perdure's own activities.
	Queue = "perdure"
)

// Name reports whether the name of an orchestration or activity is reserved.
func Name(name string) bool { return strings.HasPrefix(name, NamePrefix) }

// ID reports whether the ID of an instance is reserved.
func ID(id string) bool { return strings.HasPrefix(id, IDPrefix) }

// Named reports whether a prefix of IDs finds reserved instances only.
func Named(prefix string) bool { return ID(prefix) }

// Reaches reports whether a prefix of IDs finds reserved instances among others.
func Reaches(prefix string) bool { return !Named(prefix) && strings.HasPrefix(IDPrefix, prefix) }
