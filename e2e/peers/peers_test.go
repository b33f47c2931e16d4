//go:build peers

package peers

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// A frame, an item, a chunk and a folder as a reader saw them.
type (
	frame struct {
		SHA256 string `json:"sha256"`
		Size   int    `json:"size"`
		Shape  []int  `json:"shape,omitempty"`
	}
	item struct {
		ID       string  `json:"id"`
		MetaData []any   `json:"meta_data"`
		First    any     `json:"first"`
		Frames   []frame `json:"frames"`
	}
	chunk struct {
		Name  string `json:"name"`
		Items []item `json:"items"`
	}
	folder struct {
		Chunks []chunk  `json:"chunks"`
		IDs    []string `json:"ids"`
	}
)

func frameOf(p []byte) frame {
	h := sha256.Sum256(p)
	return frame{SHA256: hex.EncodeToString(h[:]), Size: len(p)}
}

// same compares what a reader saw with what was written; nil and empty lists are
// equal.
func same(t *testing.T, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("(-written +read)\n%.4000s", d)
	}
}

// python is an interpreter that has the reference readers. Without one the test is skipped, or
// fails where FARREAD_PEERS_REQUIRE is set.
func python(t *testing.T) string {
	t.Helper()
	missing := t.Skipf
	if os.Getenv("FARREAD_PEERS_REQUIRE") != "" {
		missing = t.Fatalf
	}
	for _, name := range []string{os.Getenv("FARREAD_PYTHON"), "python3", "../../.venv/bin/python"} {
		path, err := exec.LookPath(name)
		if name == "" || err != nil {
			continue
		}
		if path, err = filepath.Abs(path); err != nil {
			t.Fatal(err)
		}
		if exec.CommandContext(t.Context(), path, "-c", "import blosc, blosc2, gulpio2, old_bloscpack").Run() == nil {
			return path
		}
	}
	missing("no Python with blosc, blosc2, bloscpack and gulpio2: run 'make venv'")
	return ""
}

// run runs a script and decodes the JSON that it prints.
func run(ctx context.Context, t *testing.T, out any, args ...string) {
	t.Helper()
	runIn(ctx, t, nil, out, args...)
}

// runIn is run with something to read for the script.
func runIn(ctx context.Context, t *testing.T, in io.Reader, out any, args ...string) {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, python(t), args...)
	// The index must not depend on the locale that it is opened in.
	cmd.Env = append(os.Environ(), "LC_ALL=C", "PYTHONUTF8=0", "PYTHONCOERCECLOCALE=0", "PYTHONDONTWRITEBYTECODE=1")
	cmd.Stdin, cmd.Stderr = in, &stderr
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s%.2000s", args, err, stderr.Bytes(), text)
	}
	if err := json.Unmarshal(text, out); err != nil {
		t.Fatalf("%v: %v in %.200s", args, err, text)
	}
}

// read reads folders or .gulp files with GulpIO's reader.
func read(t *testing.T, decode bool, paths ...string) []folder {
	t.Helper()
	args := []string{"read_gulp.py"}
	if decode {
		args = append(args, "--decode")
	}
	var out []folder
	run(t.Context(), t, &out, append(args, paths...)...)
	return out
}

// sharedReader reads one path with the reader that the project shares with
// others, where that is at hand, and holds it against what ours found.
func sharedReader(t *testing.T, decode bool, path string, want folder) {
	t.Helper()
	root := os.Getenv("FARREAD_SHARED")
	if root == "" {
		root = "../../../shared"
	}
	script := filepath.Join(root, "fixtures", "tools", "check_gulp.py")
	if _, err := os.Stat(script); err != nil {
		t.Logf("%s is not here", script)
		return
	}
	var got struct {
		Chunks []struct {
			Gulp  string
			Items []struct {
				ID     string
				Meta   []any `json:"meta_data"`
				First  any   `json:"first_meta"`
				Frames []string
				Shapes [][]int
			}
		}
		Total int `json:"total_frames"`
	}
	args, frames := []string{script, path}, 0
	if decode {
		args = append(args, "--decode")
	}
	for _, c := range want.Chunks {
		for _, it := range c.Items {
			frames += len(it.Frames)
		}
	}
	run(t.Context(), t, &got, append(args, "--expect-frames", fmt.Sprint(frames))...)
	for i, c := range got.Chunks {
		have := chunk{Name: c.Gulp}
		for _, it := range c.Items {
			w := item{ID: it.ID, MetaData: it.Meta, First: it.First}
			for k, sum := range it.Frames {
				f := frame{SHA256: sum, Size: want.Chunks[i].Items[len(have.Items)].Frames[k].Size}
				if decode {
					f.Shape = it.Shapes[k]
				}
				w.Frames = append(w.Frames, f)
			}
			have.Items = append(have.Items, w)
		}
		same(t, want.Chunks[i], have)
	}
	if len(got.Chunks) != len(want.Chunks) || got.Total != frames {
		t.Errorf("%d chunks and %d frames, wrote %d and %d", len(got.Chunks), got.Total, len(want.Chunks), frames)
	}
}

// random makes the inputs of one test; the seed is part of the test's name.
type random struct{ *rand.Rand }

func seeded(n uint64) random { return random{rand.New(rand.NewPCG(n, 0x6a7067))} }

// id is a name as people and programs invent them, made unique by n.
func (r random) id(n int) string {
	forms := []string{"%d", "clip_%d", "walk/w%d", "a/b/c/d %d", "häßlich-%d", "中文/%d", "😀%d", "..%d", `q"uote\%d`, "tab\tnew\nline %d", "\u2028%d\x7f", "C:%d", "null%d\x00"}
	return fmt.Sprintf(forms[r.IntN(len(forms))], n)
}

func (r random) payload() []byte {
	p := make([]byte, 1+r.IntN(300))
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	if r.IntN(4) == 0 { // ends like padding
		p[len(p)-1] = 0
	}
	return p
}

func (r random) meta() map[string]any {
	m := map[string]any{}
	for range r.IntN(4) {
		m[r.id(r.IntN(100))] = r.value(3)
	}
	return m
}

func (r random) value(depth int) any {
	switch k := r.IntN(7); {
	case k == 0:
		return r.id(r.IntN(100))
	case k == 1:
		return float64(r.Int64N(1<<53)) * 0.37
	case k == 2:
		return float64(r.Int64N(1<<53) - 1<<52)
	case k == 3:
		return nil
	case k == 4 || depth == 0:
		return r.IntN(2) == 0
	case k == 5:
		list := []any{}
		for range r.IntN(4) {
			list = append(list, r.value(depth-1))
		}
		return list
	default:
		return map[string]any{"in": r.value(depth - 1), r.id(1): r.value(depth - 1)}
	}
}
