// Command fn-zoom is the function that makes zoom-cache files of uploads: WAV,
// .npy, CSV, raw samples with a note. See functions/bootstrap for its environment.
package main

import (
	"fmt"
	"log/slog"
	"os"
	_ "time/tzdata" // zones of CSVs, on machines without a list of them

	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/bootstrap"
	"github.com/farread/farread/functions/zoom"
)

func main() {
	jobs := func(log *slog.Logger) map[string]functions.JobMaker {
		warn := func(key, text string) { log.Warn("read all the same", "key", key, "why", text) }
		late := func(key, text string) { log.Info("came late", "key", key, "why", text) }
		return map[string]functions.JobMaker{"zoom": zoom.MakerOptions{Warn: warn, Late: late}.Maker()}
	}
	if err := bootstrap.Run(jobs, zoom.Command); err != nil {
		fmt.Fprintln(os.Stderr, "fn-zoom:", err)
		os.Exit(1)
	}
}
