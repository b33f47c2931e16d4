// Command fn-pack is the function that packs uploads: archives and folders of
// JPEGs become gulp datasets. See functions/bootstrap for its environment.
package main

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/bootstrap"
	"github.com/farread/farread/functions/pack"
)

func main() {
	jobs := func(log *slog.Logger) map[string]functions.JobMaker {
		warn := func(key, text string) { log.Warn("left undone", "key", key, "why", text) }
		late := func(key, text string) { log.Info("came late", "key", key, "why", text) }
		return map[string]functions.JobMaker{"pack": pack.New(pack.Options{Warn: warn, Remark: late})}
	}
	if err := bootstrap.Run(jobs, pack.Command); err != nil {
		fmt.Fprintln(os.Stderr, "fn-pack:", err)
		os.Exit(1)
	}
}
