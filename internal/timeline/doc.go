// Package timeline turns what is stored about an instance into rows with bars, which the dashboard and the command line draw alike. It is pure,
// except for [Read], which reads a bounded part of a history. What the store does not keep is unknown in a row, and never a zero.
package timeline
