// Command fn-packs is the function that packs large outputs by parts, for
// the state machine of farread pack --on. See functions/bootstrap for its environment.
package main

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/farread/farread/functions/bootstrap"
	"github.com/farread/farread/functions/bootstrap/packing"
	"github.com/farread/farread/functions/parts"
)

func main() {
	function := func(c bootstrap.CallConfig, log *slog.Logger) bootstrap.Callee {
		return packing.Function(c, log).Handle
	}
	if err := bootstrap.Call(function, parts.Permanent); err != nil {
		fmt.Fprintln(os.Stderr, "fn-packs:", err)
		os.Exit(1)
	}
}
