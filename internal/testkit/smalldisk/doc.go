// Package smalldisk mounts a small disk and fills it, for tests of a full or read-only disk. Only Linux has it, and only with the right
// to mount. The package is for tests only.
package smalldisk
