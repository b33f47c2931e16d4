package bootstrap

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func env(pairs ...string) func(string) string {
	m := map[string]string{}
	for _, p := range pairs {
		k, v, _ := strings.Cut(p, "=")
		m[k] = v
	}
	return func(name string) string { return m[name] }
}

// TestLoadServe: the environment of a function that serves, and what is wrong with it.
func TestLoadServe(t *testing.T) {
	got, err := LoadServe(env("FARREAD_ROOTS=d=s3://b/p/\n e=s3://b/x=y.b2nd", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=1024"))
	want := ServeConfig{Roots: map[string]string{"d": "s3://b/p/", "e": "s3://b/x=y.b2nd"}, TTL: 10 * time.Second, MaxResponse: 16 << 20, MaxRead: 128 << 20, Redirect: 5 << 20, Memory: 1 << 30}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(err, d)
	}
	got, err = LoadServe(env(`FARREAD_ROOTS= {"a b":"s3://b/with blank/"}`, "FARREAD_TOKEN=t", "FARREAD_CORS=https://a.example,https://b.example", "FARREAD_TTL=1m", "FARREAD_MAX_RESPONSE=3",
		"FARREAD_MAX_READ=4", "FARREAD_RAW=all", "FARREAD_LOG=warn", "FARREAD_HEDGE=off"))
	want = ServeConfig{Roots: map[string]string{"a b": "s3://b/with blank/"}, Token: "t", CORS: []string{"https://a.example", "https://b.example"}, TTL: time.Minute,
		MaxResponse: 3 << 20, MaxRead: 4 << 20, Memory: 512 << 20, Level: slog.LevelWarn, NoHedge: true}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(err, d)
	}
	if got, err = LoadServe(env("FARREAD_ROOTS=d=s3://b/", "FARREAD_RAW=off")); err != nil || !got.NoRaw || got.Redirect != 0 {
		t.Errorf("%+v %v", got, err)
	}
	for text, part := range map[string]string{
		"":                                  "FARREAD_ROOTS is not set",
		"FARREAD_ROOTS=s3://b/":             "want NAME=URI",
		"FARREAD_ROOTS=d=s3://b/ d=s3://c/": "each name once",
		"FARREAD_ROOTS=d=/etc":              "want a name, and a URI s3://",
		"FARREAD_ROOTS=d=http://169.254.169.254/": "want a name, and a URI s3://",
		`FARREAD_ROOTS={"d":1}`:                   "no JSON object",
		"FARREAD_TTL=soon":                        "FARREAD_TTL",
		"FARREAD_TTL=-1s":                         "FARREAD_TTL",
		"FARREAD_RAW=-1":                          "FARREAD_RAW",
		"FARREAD_MAX_RESPONSE=201":                "FARREAD_MAX_RESPONSE",
		"FARREAD_MAX_READ=x":                      "FARREAD_MAX_READ",
		"FARREAD_TOKEN=two words":                 "without blanks",
		"FARREAD_LOG=loud":                        "FARREAD_LOG",
		"FARREAD_HEDGE=perhaps":                   "FARREAD_HEDGE",
	} {
		pairs := []string{text}
		if !strings.HasPrefix(text, EnvRoots) && text != "" {
			pairs = append(pairs, "FARREAD_ROOTS=d=s3://b/")
		}
		if _, err := LoadServe(env(pairs...)); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := LoadServe(env("FARREAD_ROOTS=d=s3://b/", "FARREAD_TOKEN=a", "FARREAD_TOKEN_PARAMETER=b")); err == nil {
		t.Error("two tokens")
	}
}

// TestParameter: one signed request, and what its answer says.
func TestParameter(t *testing.T) {
	answers := map[string]string{
		"/farread/token": `{"Parameter":{"Name":"/farread/token","Value":"s3cret","Type":"SecureString"}}`,
		"/blank":         `{"Parameter":{"Value":"two words"}}`, "/none": `{"Parameter":{}}`, "/odd": "<html>",
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, _ := io.ReadAll(r.Body)
		var q struct {
			Name           string
			WithDecryption bool
		}
		if err := json.Unmarshal(p, &q); err != nil || !q.WithDecryption || r.Method != http.MethodPost || r.Header.Get("X-Amz-Target") != "AmazonSSM.GetParameter" ||
			!strings.Contains(r.Header.Get("Authorization"), "/eu-central-1/ssm/aws4_request, SignedHeaders=") || r.Header.Get("X-Amz-Security-Token") != "session" {
			t.Errorf("%s %v %s", r.Method, r.Header, p)
		}
		if answers[q.Name] == "" {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"__type":"ParameterNotFound","message":"no such thing"}`)
			return
		}
		_, _ = io.WriteString(w, answers[q.Name])
	}))
	defer s.Close()
	for k, v := range map[string]string{"AWS_ENDPOINT_URL_SSM": s.URL, "AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_SESSION_TOKEN": "session"} {
		t.Setenv(k, v)
	}
	if v, err := Parameter(t.Context(), "/farread/token"); v != "s3cret" || err != nil {
		t.Errorf("%q %v", v, err)
	}
	for name, part := range map[string]string{"/absent": "ParameterNotFound no such thing", "/blank": "without blanks", "/none": "without blanks", "/odd": "the answer is 200"} {
		if v, err := Parameter(t.Context(), name); v != "" || err == nil || !strings.Contains(err.Error(), part) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %q %v", name, v, err)
		}
	}
	for region, want := range map[string]string{"eu-central-1": "https://ssm.eu-central-1.amazonaws.com/", "cn-north-1": "https://ssm.cn-north-1.amazonaws.com.cn/"} {
		if got := parameterPlace(region, env()); got != want {
			t.Errorf("%s: %s", region, got)
		}
	}
}
