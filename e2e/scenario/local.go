package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/farread/farread/internal/teststack"
)

// Local is the local cloud: a process for each pipeline.
type Local struct{ Programs *Programs }

// Start starts a local cloud with the pipeline's rules.
func (l Local) Start(t *testing.T, o Options) *Pipeline {
	t.Helper()
	p := &Pipeline{Uploads: "uploads", Datasets: "datasets", Spare: "spare", Refuses: refusedByFiles}
	rules, err := json.Marshal(Rules(p, "", o.Path))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "rules.json")
	if err := os.WriteFile(file, rules, 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"--rules", file, "--functions", l.Programs.Folder}
	if o.Hasty {
		args = append(args, "--retry-delay", "50ms", "--tries", "2")
	}
	s := teststack.Run(t, teststack.Options{Versioning: o.Versioned, Args: args})
	p.Endpoint, p.Region, p.AccessKey, p.SecretKey = s.Endpoint, s.Region, s.AccessKey, s.SecretKey
	p.Dead = func(ctx context.Context) (int, error) {
		var status struct {
			Letters int `json:"dead_letters"`
		}
		err := ask(ctx, s.Endpoint+"/_localcloud/status", &status)
		return status.Letters, err
	}
	p.ReplayDLQ = []string{"--local", s.Endpoint}
	return p
}

// ServeLocal starts a local cloud with a function that serves datasets.
func ServeLocal(t *testing.T) Served {
	t.Helper()
	serve := Serve{Bucket: "datasets", Token: "s3cret"}
	env := serve.Environment()
	env["FARREAD_TOKEN"] = serve.Token
	args := slices.Concat([]string{"--function", "fn-serve=" + BuildFunction(t, t.TempDir(), "fn-serve"), "--url", "fn-serve"}, settings(env))
	s := teststack.Run(t, teststack.Options{Buckets: []string{serve.Bucket}, Args: args})
	return Served{Serve: serve, Endpoint: s.Endpoint, Region: s.Region, AccessKey: s.AccessKey, SecretKey: s.SecretKey, URL: strings.TrimSuffix(s.URLs["fn-serve"], "/")}
}

// settings are the flags of localcloud that set variables of functions.
func settings(env map[string]string) []string {
	flags := make([]string, 0, 2*len(env))
	for name, value := range env {
		flags = append(flags, "--env", name+"="+value)
	}
	return flags
}

// ask gets a JSON document.
func ask(ctx context.Context, url string, answer any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	client := &http.Client{Timeout: patience}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, resp.Status)
	}
	return json.NewDecoder(resp.Body).Decode(answer)
}

// refusedByFiles: the local cloud keeps objects as files, and says no to keys that
// are no paths.
func refusedByFiles(key string) string {
	if strings.HasPrefix(key, "/") {
		return "leading slash"
	}
	if strings.ContainsFunc(key, func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' }) {
		return "control character"
	}
	for _, s := range strings.Split(key, "/") {
		switch {
		case s == "":
			return "empty segment"
		case s == "." || s == "..":
			return "dot segment"
		case len(s) > 255:
			return "segment over 255 bytes"
		}
	}
	return ""
}
