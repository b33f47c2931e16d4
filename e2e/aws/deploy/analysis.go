package deploy

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"github.com/farread/farread/e2e/scenario"
)

// Analysis deploys the function zip as the one that makes parts of analyses, with the state
// machine of the module around it, and returns the machine's ARN.
func (c *Cloud) Analysis(t *testing.T, zip []byte) (machine string) {
	t.Helper()
	return c.parts(t, "analysis", zip)
}

// Packs is as Analysis for the function that packs by parts.
func (c *Cloud) Packs(t *testing.T, zip []byte) (machine string) {
	t.Helper()
	return c.parts(t, "packs", zip)
}

// parts deploys the function zip as the one that does plans of a kind, which it hears of in
// FAULTY.
func (c *Cloud) parts(t *testing.T, kind string, zip []byte) (machine string) {
	t.Helper()
	n := id()
	function := c.Deploy(t, "fn-"+kind+"-"+n, zip, map[string]string{"FAULTY": kind}, time.Minute, "")
	text, err := os.ReadFile(filepath.Join(scenario.Root(t), "terraform/modules/pipeline/analysis.asl.json"))
	if err != nil {
		t.Fatal(err)
	}
	definition := strings.NewReplacer("${function_arn}", function, "${max_concurrency}", "4").Replace(string(text))
	name := kind + "-" + n
	m, err := c.States.CreateStateMachine(t.Context(), &sfn.CreateStateMachineInput{Name: &name, Definition: &definition, RoleArn: &c.Config.Role, Type: sfntypes.StateMachineTypeStandard})
	if err != nil {
		t.Fatal(err)
	}
	clean(t, "state machine "+name, func(ctx context.Context) error {
		_, err := c.States.DeleteStateMachine(ctx, &sfn.DeleteStateMachineInput{StateMachineArn: m.StateMachineArn})
		return err
	})
	return *m.StateMachineArn
}
