// Command fn-packs is the function that packs large outputs by parts, for
// the state machine of farread pack --on. See functions/bootstrap for its environment.
package main

import (
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"

	"github.com/farread/farread/functions/bootstrap"
	"github.com/farread/farread/functions/bootstrap/packing"
	"github.com/farread/farread/functions/parts"
)

func main() {
	c, err := bootstrap.LoadCall(os.Getenv)
	if err != nil {
		fmt.Fprintln(os.Stderr, "fn-packs:", err)
		os.Exit(1)
	}
	log := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: c.Level}))
	debug.SetMemoryLimit(c.Memory / 8 * 7)
	bootstrap.Call(packing.Function(c, log).Handle, parts.Permanent)
}
