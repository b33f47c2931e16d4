package main

import (
	"context"
	"net"
	"net/url"
	"os/exec"
	"runtime"
	"time"
)

// openPage shows a page in the browser, by the system's own program for that. The address
// is one of a server of this process; no shell sees it.
func openPage(ctx context.Context, address string) error {
	args := opener(runtime.GOOS, address)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), openWait)
	defer cancel()
	return exec.CommandContext(ctx, args[0], args[1:]...).Run()
}

// openWait is how long the program may take: it hands the address on, and ends.
const openWait = 20 * time.Second

// opener is the command that opens an address.
func opener(system, address string) []string {
	switch system {
	case "darwin":
		return []string{"open", address}
	case "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler", address}
	default:
		return []string{"xdg-open", address}
	}
}

// pageAddress is the address of the page for a browser on this machine: a server that
// listens on all addresses has no address that every system can go to.
func pageAddress(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	if ip := net.ParseIP(u.Hostname()); ip != nil && ip.IsUnspecified() {
		u.Host = net.JoinHostPort("localhost", u.Port())
	}
	u.Path = "/"
	return u.String()
}
