//go:build !unix

package guardtest

import "testing"

// End returns n bytes; nothing guards what is behind them.
func End(_ testing.TB, n int) []byte { return make([]byte, n) }

// Start returns n bytes; nothing guards what is before them.
func Start(_ testing.TB, n int) []byte { return make([]byte, n) }
