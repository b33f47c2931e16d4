// Farread reads chunked datasets from object storage with few ranged requests,
// and packs uploads into them. `farread help` lists its commands.
package main

import (
	"io"
	"log" //nolint:depguard // to silence net/http, which writes to it
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // zones of CSVs, on machines without a list of them

	"golang.org/x/term"

	"github.com/farread/farread/cmd/farread/internal/sink"
)

func main() {
	log.SetOutput(io.Discard) // net/http logs strange answers; farread's own errors describe these faults
	a := &app{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, env: os.Getenv,
		terminal: term.IsTerminal(int(os.Stderr.Fd())), screen: term.IsTerminal(int(os.Stdout.Fd())),
	}
	if a.screen {
		a.width, _, _ = term.GetSize(int(os.Stdout.Fd())) // 0 if it does not tell
	}
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	os.Exit(a.main(os.Args[1:], interrupts, sink.Grace))
}
