package deploy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/farread/farread/e2e/scenario"
)

// Serve deploys the function that serves datasets, over a bucket of its own, with its
// token in Systems Manager, and gives it a URL.
func (c *Cloud) Serve(t *testing.T) scenario.Served {
	t.Helper()
	keys, err := c.AWS.Credentials.Retrieve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n := id()
	name, parameter := "fn-serve-"+n, "/farread-e2e/"+n
	s := scenario.Served{Serve: scenario.Serve{Bucket: c.Bucket(t, false), Token: "token-" + n}, LocalStack: c.LocalStack,
		Endpoint: c.Config.Endpoint, Region: c.AWS.Region, AccessKey: keys.AccessKeyID, SecretKey: keys.SecretAccessKey}
	c.ssm(t.Context(), t, "PutParameter", map[string]any{"Name": parameter, "Value": s.Token, "Type": "SecureString"})
	clean(t, "parameter "+parameter, func(ctx context.Context) error {
		c.ssm(ctx, t, "DeleteParameter", map[string]any{"Name": parameter})
		return nil
	})
	env := s.Environment()
	env["FARREAD_TOKEN_PARAMETER"] = parameter
	c.Deploy(t, name, c.Config.Archive(t, "fn-serve"), env, time.Minute, "")
	u, err := c.Lambda.CreateFunctionUrlConfig(t.Context(), &lambda.CreateFunctionUrlConfigInput{FunctionName: &name,
		AuthType: lambdatypes.FunctionUrlAuthTypeNone, InvokeMode: lambdatypes.InvokeModeResponseStream})
	if err != nil {
		t.Fatal(err)
	}
	s.URL = strings.TrimSuffix(*u.FunctionUrl, "/")
	if c.LocalStack { // its names need a resolver that knows them, its addresses do not
		at, err := url.Parse(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		s.URL, s.Host = strings.TrimSuffix(c.Config.Endpoint, "/"), at.Host
		return s
	}
	for action, p := range map[string]lambda.AddPermissionInput{"lambda:InvokeFunctionUrl": {FunctionUrlAuthType: lambdatypes.FunctionUrlAuthTypeNone}, "lambda:InvokeFunction": {}} {
		sid, all := strings.ReplaceAll(action, ":", "-"), "*"
		p.FunctionName, p.Action, p.Principal, p.StatementId = &name, &action, &all, &sid
		if _, err := c.Lambda.AddPermission(t.Context(), &p); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// ssm calls Systems Manager.
func (c *Cloud) ssm(ctx context.Context, t *testing.T, what string, in map[string]any) {
	t.Helper()
	if err := c.callSSM(ctx, what, in); err != nil {
		t.Error(err)
	}
}

func (c *Cloud) callSSM(ctx context.Context, what string, in map[string]any) error {
	keys, err := c.AWS.Credentials.Retrieve(ctx)
	if err != nil {
		return err
	}
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(c.Config.Endpoint, "/")+"/", bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-amz-json-1.1")
	r.Header.Set("X-Amz-Target", "AmazonSSM."+what)
	sum := sha256.Sum256(body)
	if err := v4.NewSigner().SignHTTP(ctx, keys, r, hex.EncodeToString(sum[:]), "ssm", c.AWS.Region, time.Now()); err != nil {
		return err
	}
	a, err := (&http.Client{Timeout: time.Minute}).Do(r)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err == nil && a.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s %s", what, a.Status, text)
	}
	return err
}
