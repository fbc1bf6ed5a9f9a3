//go:build !unix

package postgrestest

import "syscall"

func serverUser() (*struct{ Uid, Gid uint32 }, error) { return nil, nil } //nolint:nilnil // nobody else

func attributes(*struct{ Uid, Gid uint32 }) *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
