package main

import (
	"os"
	"os/user"

	"github.com/perdure/perdure/client"
)

// shellUser returns the principal of the commands, for the audit. Access to the database is all the right that they need.
func shellUser() client.Principal {
	name := ""
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "unknown host"
	}
	if name == "" {
		name = "unknown user"
	}
	return client.Principal{Name: name + "@" + host, Role: client.RoleAdmin}
}
