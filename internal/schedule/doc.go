// Package schedule has the forms of schedules that clients, the schedules' orchestration and its activities share: the specification, the
// state, the requests. It also computes due times. See package client for what schedules are.
package schedule
