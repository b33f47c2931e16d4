package deploy

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"github.com/farread/farread/e2e/scenario"
	"github.com/farread/farread/functions"
)

// Backfill deploys the function fn-pack with rules, and the module's state machine that calls
// it, and returns the machine's ARN.
func (c *Cloud) Backfill(t *testing.T, rules functions.Rules) (machine string) {
	t.Helper()
	n := id()
	text, err := json.Marshal(rules)
	if err != nil {
		t.Fatal(err)
	}
	function := c.Deploy(t, n+"-pack", c.Config.Archive(t, "fn-pack"), map[string]string{"FARREAD_RULES": string(text)}, time.Minute, "")
	definition, err := os.ReadFile(filepath.Join(scenario.Root(t), "terraform/modules/pipeline/backfill.asl.json"))
	if err != nil {
		t.Fatal(err)
	}
	def := strings.NewReplacer("${function_prefix}", strings.TrimSuffix(function, "pack"), "${max_concurrency}", "4").Replace(string(definition))
	name := "backfill-" + n
	m, err := c.States.CreateStateMachine(t.Context(), &sfn.CreateStateMachineInput{Name: &name, Definition: &def, RoleArn: &c.Config.Role, Type: sfntypes.StateMachineTypeStandard})
	if err != nil {
		t.Fatal(err)
	}
	clean(t, "state machine "+name, func(ctx context.Context) error {
		_, err := c.States.DeleteStateMachine(ctx, &sfn.DeleteStateMachineInput{StateMachineArn: m.StateMachineArn})
		return err
	})
	return *m.StateMachineArn
}
