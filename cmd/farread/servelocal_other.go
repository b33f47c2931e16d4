//go:build !unix

package main

import (
	"context"
	"net"
)

// listenAlone refuses: nothing says here who may connect to a socket of the file system.
func listenAlone(context.Context, string) (net.Listener, error) {
	return nil, usagef("no sockets of the file system on this system: give --addr 127.0.0.1:0 and --token-file")
}
