//go:build !linux

package postgrestest

import "syscall"

func dying(a *syscall.SysProcAttr) *syscall.SysProcAttr { return a }
