package scenario_test

import (
	"testing"

	"github.com/farread/farread/e2e/scenario"
)

// TestLocalCloud runs the scenarios against the local cloud: without Docker, in
// every shape of event that it makes.
func TestLocalCloud(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts the local cloud")
	}
	scenario.Run(t, scenario.Local{Programs: scenario.Build(t)}, scenario.Paths())
}

// TestServing asks the function that serves datasets on the local cloud.
func TestServing(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts the local cloud")
	}
	scenario.Serving(t, scenario.ServeLocal(t))
}
