// Package waiting says why an activity that could run has not begun. It decides from facts that others have read: the records of the nodes, the
// orders of operators, and rates of queues. Clients show the reason to people, and a node logs the reasons that need somebody.
package waiting
