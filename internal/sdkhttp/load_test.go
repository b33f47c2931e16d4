package sdkhttp

import (
	"context"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"
)

// lambda is an environment as Lambda has it.
func lambda(t *testing.T, more map[string]string) {
	t.Helper()
	for _, name := range os.Environ() {
		if name, _, _ = strings.Cut(name, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
			_ = os.Unsetenv(name)
		}
	}
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(t.TempDir(), "none"))
	for name, v := range map[string]string{"AWS_REGION": "eu-west-3", "AWS_ACCESS_KEY_ID": "A", "AWS_SECRET_ACCESS_KEY": "B", "AWS_SESSION_TOKEN": "C"} {
		t.Setenv(name, v)
	}
	for name, v := range more {
		t.Setenv(name, v)
	}
}

// TestLoadEnv: of the environment of a function, the configuration that leaves files and
// roles out asks the same places with the same keys as the whole one.
func TestLoadEnv(t *testing.T) {
	for _, more := range []map[string]string{
		{}, {"AWS_ENDPOINT_URL": "https://near.example"}, {"AWS_ENDPOINT_URL_S3": "https://s3.example"}, {"AWS_USE_FIPS_ENDPOINT": "true"},
		{"AWS_ENDPOINT_URL": "https://near.example", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"}, {"AWS_USE_DUALSTACK_ENDPOINT": "true"},
	} {
		lambda(t, more)
		var got [2][]string
		for i, load := range []func(context.Context, LoadOptions) (aws.Config, error){Load, loadEnv} {
			c, err := load(t.Context(), LoadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			keys, err := c.Credentials.Retrieve(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got[i] = []string{c.Region, keys.AccessKeyID, keys.SecretAccessKey, keys.SessionToken}
			_, err = s3.NewFromConfig(c, func(o *s3.Options) {
				o.HTTPClient = doer(func(r *http.Request) (*http.Response, error) {
					got[i] = append(got[i], r.URL.Host)
					return nil, errors.New("enough")
				})
				o.RetryMaxAttempts = 1
			}).HeadBucket(t.Context(), &s3.HeadBucketInput{Bucket: aws.String("b")})
			if err == nil || len(got[i]) != 5 {
				t.Fatalf("%v: %q, %v", more, got[i], err)
			}
		}
		if d := cmp.Diff(got[0], got[1]); d != "" {
			t.Errorf("%v (-whole +of the environment):\n%s", more, d)
		}
	}
}

type doer func(*http.Request) (*http.Response, error)

func (d doer) Do(r *http.Request) (*http.Response, error) { return d(r) }

// TestLoadEnvAlone: what is missing is said, and a bundle of CAs is used.
func TestLoadEnvAlone(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	good, bad := filepath.Join(t.TempDir(), "ca.pem"), filepath.Join(t.TempDir(), "bad.pem")
	if err := errors.Join(os.WriteFile(good, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600), os.WriteFile(bad, []byte("x"), 0o600)); err != nil {
		t.Fatal(err)
	}
	lambda(t, map[string]string{CABundle: good, "AWS_ACCESS_KEY_ID": ""})
	c, err := loadEnv(t.Context(), LoadOptions{Region: "us-west-2"})
	if err != nil || c.Region != "us-west-2" {
		t.Fatalf("%q, %v", c.Region, err)
	}
	if _, err := c.Credentials.Retrieve(t.Context()); err == nil {
		t.Error("credentials out of nowhere")
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := c.HTTPClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = a.Body.Close()
	for _, name := range []string{bad, bad + "none"} {
		lambda(t, map[string]string{CABundle: name})
		if _, err := loadEnv(t.Context(), LoadOptions{}); err == nil || !strings.HasPrefix(err.Error(), CABundle+": ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
