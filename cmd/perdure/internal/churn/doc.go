// Package churn is the workload of the test that kills workers: orchestrations that use
// every kind of step and whose outcome follows from their input, and activities that
// write down what their bodies did.
package churn
