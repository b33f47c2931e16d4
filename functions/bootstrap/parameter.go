package bootstrap

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/farread/farread/internal/sdkhttp"
)

// parameterTime bounds the wait for a parameter: the start of a function has 10 s.
const parameterTime = 5 * time.Second

// Parameter reads a parameter of Systems Manager, decrypted: one request, signed with the
// credentials of the environment. It takes no client of the SDK, which knows 150 calls.
func Parameter(ctx context.Context, name string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, parameterTime)
	defer cancel()
	value, err := parameter(ctx, name)
	if err == nil && (value == "" || badToken(value)) {
		err = errToken
	}
	if err != nil {
		return "", fmt.Errorf("%s: parameter %s: %w", EnvParameter, name, err)
	}
	return value, nil
}

func parameter(ctx context.Context, name string) (string, error) {
	c, err := sdkhttp.Load(ctx, sdkhttp.LoadOptions{})
	if err != nil {
		return "", err
	}
	keys, err := c.Credentials.Retrieve(ctx)
	if err != nil {
		return "", err
	}
	body, err := json.Marshal(map[string]any{"Name": name, "WithDecryption": true})
	if err != nil {
		return "", err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, parameterPlace(c.Region, os.Getenv), bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", "application/x-amz-json-1.1")
	r.Header.Set("X-Amz-Target", "AmazonSSM.GetParameter")
	sum := sha256.Sum256(body)
	if err := v4.NewSigner().SignHTTP(ctx, keys, r, hex.EncodeToString(sum[:]), "ssm", c.Region, time.Now()); err != nil {
		return "", err
	}
	a, err := (&http.Client{Timeout: parameterTime}).Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = a.Body.Close() }() // only read
	text, err := io.ReadAll(io.LimitReader(a.Body, 64<<10))
	if err != nil {
		return "", err
	}
	var said struct {
		Parameter struct{ Value string }
		Type      string `json:"__type"`
		Message   string `json:"message"`
	}
	if err := json.Unmarshal(text, &said); err != nil || a.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the answer is %s: %s %s", a.Status, said.Type, said.Message)
	}
	return said.Parameter.Value, nil
}

// parameterPlace is the URL of Systems Manager.
func parameterPlace(region string, getenv func(string) string) string {
	for _, name := range []string{"AWS_ENDPOINT_URL_SSM", "AWS_ENDPOINT_URL"} {
		if v := getenv(name); v != "" {
			return strings.TrimSuffix(v, "/") + "/"
		}
	}
	end := "amazonaws.com"
	if strings.HasPrefix(region, "cn-") {
		end += ".cn"
	}
	return "https://ssm." + region + "." + end + "/"
}
