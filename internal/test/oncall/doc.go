// Package oncall tests what somebody on call sees of a store with many instances in which much goes wrong. It has tests only.
package oncall
