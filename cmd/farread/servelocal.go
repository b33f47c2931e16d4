package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/farread/farread/internal/human"
)

// unixAddress is what --addr begins with for a socket in the file system.
const unixAddress = "unix:"

// patient is how long a program of the same user may take nothing of an answer: a step of a
// training is long.
const patient = time.Hour

// local reports whether a server is one for programs of its own user: on a socket of the
// file system.
func (o *serveFlags) local() bool { return strings.HasPrefix(o.addr, unixAddress) }

// checkLocal refuses flags that do not go with others, of a server for one user.
func (o *serveFlags) checkLocal() error {
	switch {
	case o.local() && (o.open || o.cert != ""):
		return usagef("--addr %s: a socket has no page and no TLS", human.Printable(o.addr))
	case o.any && o.public:
		return usagef("--any answers for whatever you can read: it does not go with --public")
	case o.any && !o.local() && o.tokenFile == "":
		return usagef("--any answers for whatever you can read: give --addr unix:, or --token-file")
	}
	return nil
}

// listener listens at --addr. A socket of the file system is for its own user alone; one
// without a name lies in a new folder, which goes when the server ends.
func (o *serveFlags) listener(ctx context.Context) (l net.Listener, done func(), err error) {
	done = func() {}
	if !o.local() {
		l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", o.addr)
		return l, done, err
	}
	name := strings.TrimPrefix(o.addr, unixAddress)
	if name == "" {
		dir, err := os.MkdirTemp("", "farread-") // 0700
		if err != nil {
			return nil, done, err
		}
		done = func() { _ = os.RemoveAll(dir) } // it is one of temporary files
		name = filepath.Join(dir, "s")
	}
	if l, err = listenAlone(ctx, name); err != nil {
		done()
		return nil, func() {}, err
	}
	return l, done, nil
}

// heed reads what comes on standard input: the token of --token-file -, and with
// --exit-with-stdin its end, with which the context ends.
func (a *app) heed(ctx context.Context, o *serveFlags) (_ context.Context, token string, err error) {
	in := bufio.NewReader(a.stdin)
	if o.tokenFile == "-" {
		line, err := in.ReadString('\n')
		if err != nil && (err != io.EOF || line == "") { //nolint:errorlint // of a bufio.Reader
			return ctx, "", usagef("--token-file -: no line on standard input")
		}
		if token, err = oneToken("--token-file -", line); err != nil {
			return ctx, "", err
		}
	}
	if !o.withStdin {
		return ctx, token, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, in) // an error is an end, too
		cancel()
	}()
	return ctx, token, nil
}
