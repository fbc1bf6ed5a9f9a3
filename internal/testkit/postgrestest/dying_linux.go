package postgrestest

import "syscall"

// dying makes a server end with the process that started it, however that process ends.
func dying(a *syscall.SysProcAttr) *syscall.SysProcAttr {
	a.Pdeathsig = syscall.SIGQUIT
	return a
}
