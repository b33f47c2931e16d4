package scenario

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farread/farread/internal/stack"
)

// Programs are the programs of a pipeline, built from this checkout.
type Programs struct {
	Folder string // folder with fn-pack/bootstrap and fn-zoom/bootstrap
	CLI    string // farread
}

// Build builds the programs for this machine; what Go's build cache knows costs a
// moment.
func Build(t *testing.T) *Programs {
	t.Helper()
	p := &Programs{Folder: t.TempDir()}
	p.CLI = filepath.Join(p.Folder, "farread")
	build(t, p.CLI, "./cmd/farread")
	for name := range Prefixes() {
		BuildFunction(t, p.Folder, name)
	}
	return p
}

// BuildCLI builds farread alone, and returns its path.
func BuildCLI(t *testing.T) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "farread")
	build(t, out, "./cmd/farread")
	return out
}

// BuildFunction builds a function as folder/NAME/bootstrap, and returns that path.
func BuildFunction(t *testing.T, folder, name string) string {
	t.Helper()
	out := filepath.Join(folder, name, "bootstrap")
	build(t, out, "./cmd/"+name, "-tags", "lambda.norpc,nethttpomithttp2", "-trimpath", "-ldflags", "-s -w")
	return out
}

func build(t *testing.T, out, pkg string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append(append([]string{"build", "-o", out}, args...), pkg)...)
	cmd.Dir = Root(t)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", pkg, err, b)
	}
}

// Root is the root of the checkout.
func Root(t *testing.T) string {
	t.Helper()
	root := stack.Checkout(".")
	if root == "" {
		t.Fatal("not in a checkout of farread")
	}
	return root
}

// cli runs the command line against the pipeline and returns its standard output.
func (r *session) cli(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), r.programs.CLI, append(args, "--quiet")...)
	cmd.Env = []string{"AWS_ENDPOINT_URL=" + r.Endpoint, "AWS_REGION=" + r.Region, "AWS_ACCESS_KEY_ID=" + r.AccessKey, "AWS_SECRET_ACCESS_KEY=" + r.SecretKey,
		"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("farread %s: %v\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return stdout.Bytes()
}
