// Package documented has findings only in its examples.
package documented

// Name is the name of the shop.
const Name = "shop"
