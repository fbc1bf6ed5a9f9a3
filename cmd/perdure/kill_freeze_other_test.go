//go:build !unix

package main

import "testing"

func freeze(*testing.T, *workerProcess) bool { return false }

func thaw(*testing.T, *workerProcess) {}
