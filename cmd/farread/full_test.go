package main

import (
	"bytes"
	"strings"
	"syscall"
	"testing"

	"github.com/farread/farread/cmd/farread/internal/sink"
)

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// TestHelpIsWritten: help that cannot be written is an error.
func TestHelpIsWritten(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"help"}, {"help", "pack"}, {"pack", "--help"}, {"version"}, {"completion", "bash"}} {
		var errs bytes.Buffer
		a := &app{stdin: strings.NewReader(""), stdout: full{}, stderr: &errs, env: func(string) string { return "" }}
		if code := a.main(args, nil, sink.Grace); code != exitUnavailable || !strings.Contains(errs.String(), syscall.ENOSPC.Error()) {
			t.Errorf("%q: exit %d, %q", args, code, errs.String())
		}
	}
}
