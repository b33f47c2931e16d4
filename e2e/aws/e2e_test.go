//go:build e2e

package aws_test

import (
	"testing"

	"github.com/farread/farread/e2e/scenario"
)

// TestScenarios runs the scenarios on every way that an event can take.
func TestScenarios(t *testing.T) { scenario.Run(t, cloud, scenario.Paths()) }

// TestServing deploys the function that serves datasets behind a URL, and asks it.
func TestServing(t *testing.T) {
	t.Parallel()
	scenario.Serving(t, cloud.Serve(t))
}
