// Command fn-zoom is the function that makes zoom-cache files of uploads: WAV,
// .npy, CSV, raw samples with a note. See functions/bootstrap for its environment.
package main

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/bootstrap"
	"github.com/farread/farread/functions/zoom"
)

func main() {
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	warn := func(key, text string) { log.Warn("read all the same", "key", key, "why", text) }
	if err := bootstrap.Run(map[string]functions.JobMaker{"zoom": zoom.New(zoom.WriteOptions{}, warn)}, zoom.Command); err != nil {
		fmt.Fprintln(os.Stderr, "fn-zoom:", err)
		os.Exit(1)
	}
}
