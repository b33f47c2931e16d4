// Command fn-analyze is the function that makes parts of an analysis and merges them, for
// the state machine of farread analyze --on. See functions/bootstrap for its environment.
package main

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/farread/farread/functions/bootstrap"
	"github.com/farread/farread/functions/bootstrap/analysis"
	"github.com/farread/farread/functions/parts"
)

func main() {
	function := func(c bootstrap.CallConfig, log *slog.Logger) bootstrap.Callee {
		return analysis.Function(c, log).Handle
	}
	if err := bootstrap.Call(function, parts.Permanent); err != nil {
		fmt.Fprintln(os.Stderr, "fn-analyze:", err)
		os.Exit(1)
	}
}
