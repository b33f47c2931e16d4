package sdkhttp

import (
	"context"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
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
		{"AWS_USE_DUALSTACK_ENDPOINT": "False", "AWS_USE_FIPS_ENDPOINT": "FALSE"}, {"AWS_REGION": "", "AWS_DEFAULT_REGION": "eu-west-2"},
		{"AWS_ACCESS_KEY_ID": "", "AWS_ACCESS_KEY": "D", "AWS_SECRET_ACCESS_KEY": "", "AWS_SECRET_KEY": "E"},
		{"AWS_ENDPOINT_URL": "https://near.example", "AWS_ENDPOINT_URL_S3": "https://s3.example"}, {"AWS_DEFAULTS_MODE": "legacy"},
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

// TestLoadEnvAnswers: a service gets an answer to all that it asks the SDK's own reader of the
// environment, and a value that is none is an error of both.
func TestLoadEnvAnswers(t *testing.T) {
	whole, ours := reflect.TypeFor[config.EnvConfig](), reflect.TypeFor[environment]()
	for m := range whole.Methods() {
		switch name := m.Name; {
		case strings.HasPrefix(name, "GetEC2IMDS"), strings.HasPrefix(name, "GetRetry"), name == "GetEnableEndpointDiscovery":
			continue // no metadata, retries of our own, no service that has to be found
		default:
			if got, ok := ours.MethodByName(name); !ok || got.Type.NumIn() != m.Type.NumIn() || got.Type.NumOut() != m.Type.NumOut() {
				t.Errorf("no %s in the environment", name)
			}
		}
	}
	for _, name := range append(flags(), "AWS_DEFAULTS_MODE") {
		lambda(t, map[string]string{name: "perhaps"})
		_, err := config.NewEnvConfig()
		if _, ours := loadEnv(t.Context(), LoadOptions{}); err == nil || ours == nil || !strings.HasPrefix(ours.Error(), name+": ") {
			t.Errorf("%s: %v, %v", name, ours, err)
		}
	}
}

// TestLoadEnvFlags: each variable is asked for by its own method.
func TestLoadEnvFlags(t *testing.T) {
	for _, v := range []string{"", "true", "false"} {
		for _, name := range flags() {
			lambda(t, map[string]string{name: v, "AWS_ENDPOINT_URL_TWO_WORDS": "https://x.example"})
			whole, err := config.NewEnvConfig()
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(asked(whole), asked(environment{})); d != "" {
				t.Errorf("%s=%s (-whole +of the environment):\n%s", name, v, d)
			}
		}
	}
}

// asked are the answers of a source.
func asked(source interface {
	GetServiceBaseEndpoint(context.Context, string) (string, bool, error)
	GetIgnoreConfiguredEndpoints(context.Context) (bool, bool, error)
	GetS3UseARNRegion(context.Context) (bool, bool, error)
	GetS3DisableMultiRegionAccessPoints(context.Context) (bool, bool, error)
	GetS3DisableExpressAuth() (bool, bool)
	GetUseDualStackEndpoint(context.Context) (aws.DualStackEndpointState, bool, error)
	GetUseFIPSEndpoint(context.Context) (aws.FIPSEndpointState, bool, error)
}) []any {
	ctx := context.Background()
	of := func(v ...any) []any { return v }
	return slices.Concat(of(source.GetServiceBaseEndpoint(ctx, "Two words")), of(source.GetIgnoreConfiguredEndpoints(ctx)),
		of(source.GetS3UseARNRegion(ctx)), of(source.GetS3DisableMultiRegionAccessPoints(ctx)), of(source.GetS3DisableExpressAuth()),
		of(source.GetUseDualStackEndpoint(ctx)), of(source.GetUseFIPSEndpoint(ctx)))
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
