// Command fn-zoom is the function that makes zoom-cache files of uploads: WAV,
// .npy, CSV, raw samples with a note. See functions/bootstrap for its environment.
package main

import (
	"fmt"
	"os"

	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/bootstrap"
	"github.com/farread/farread/functions/zoom"
)

func main() {
	if err := bootstrap.Run(map[string]functions.JobMaker{"zoom": zoom.New(zoom.WriteOptions{})}, zoom.Command); err != nil {
		fmt.Fprintln(os.Stderr, "fn-zoom:", err)
		os.Exit(1)
	}
}
