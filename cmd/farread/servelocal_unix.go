//go:build unix

package main

import (
	"context"
	"net"
	"sync"
	"syscall"
)

// umask is that of the process, which a socket is made under.
var umask sync.Mutex

// listenAlone listens at a socket that its own user alone may connect to, from the moment
// on that it is there.
func listenAlone(ctx context.Context, name string) (net.Listener, error) {
	umask.Lock()
	defer umask.Unlock()
	defer syscall.Umask(syscall.Umask(0o177))
	return (&net.ListenConfig{}).Listen(ctx, "unix", name)
}
