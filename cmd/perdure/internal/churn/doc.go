// Package churn is the workload of the test that kills workers. Its orchestrations use every kind of step, and their
// outcome follows from their input. Its activities log the start and the end of their bodies.
package churn
