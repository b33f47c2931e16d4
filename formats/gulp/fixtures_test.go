package gulp_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/rangeio"
)

// expectations were taken from the manifest of the fixtures: what went into
// each file and what the real readers returned.
type expectations struct {
	Chunks map[string]struct {
		GMeta    string `json:"gmeta"`
		GulpSize int64  `json:"gulp_size"`
		Items    []struct {
			ID       string   `json:"id"`
			Frames   [][4]any `json:"frames"` // offset, pad, length, sha256
			MetaData any      `json:"meta_data"`
		} `json:"items"`
	} `json:"chunks"`
	Datasets map[string]struct {
		Chunks    [][2]string       `json:"chunks"`
		ChunkOfID map[string]string `json:"chunk_of_id"`
	} `json:"datasets"`
	Malformed map[string]struct {
		Ours string `json:"ours"`
		Data int    `json:"data"`
	} `json:"malformed"`
}

func expected(tb testing.TB) expectations {
	tb.Helper()
	var e expectations
	if err := json.Unmarshal(load(tb, "expect.json"), &e); err != nil {
		tb.Fatal(err)
	}
	return e
}

func load(tb testing.TB, name string) []byte {
	tb.Helper()
	p, err := os.ReadFile(filepath.Join("testdata", filepath.FromSlash(name)))
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func bytesReader(p []byte) rangeio.Reader {
	return rangeio.FromReaderAt(bytes.NewReader(p), int64(len(p)))
}

func open(tb testing.TB, meta, data []byte) *gulp.Chunk {
	tb.Helper()
	c, err := gulp.Open(tb.Context(), bytesReader(meta), bytesReader(data), gulp.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func digest(p []byte) string {
	sum := sha256.Sum256(p)
	return hex.EncodeToString(sum[:])
}

func TestManifest(t *testing.T) {
	listed := map[string]bool{}
	lines := bufio.NewScanner(bytes.NewReader(load(t, "MANIFEST")))
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 3 || f[0] == "#" {
			continue
		}
		listed[f[2]] = true
		if got := digest(load(t, f[2])); got != f[0] {
			t.Errorf("%s: sha256 %s, listed %s", f[2], got, f[0])
		}
	}
	for _, dir := range []string{"chunks/*/*", "malformed/*"} {
		names, err := filepath.Glob(filepath.Join("testdata", filepath.FromSlash(dir)))
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %d files, %v", dir, len(names), err)
		}
		for _, n := range names {
			rel, _ := filepath.Rel("testdata", n)
			if !listed[filepath.ToSlash(rel)] {
				t.Errorf("%s is not in MANIFEST", n)
			}
		}
	}
}

func TestChunks(t *testing.T) {
	for name, want := range expected(t).Chunks {
		t.Run(name, func(t *testing.T) {
			data := load(t, "chunks/"+name)
			meta := load(t, "chunks/"+path.Dir(name)+"/"+want.GMeta)
			c := open(t, meta, data)
			if c.Len() != len(want.Items) || c.Totals().DataBytes != want.GulpSize || c.Totals().Unclaimed() != 0 {
				t.Fatalf("%d ids, totals %+v", c.Len(), c.Totals())
			}
			for k, w := range want.Items {
				if c.ID(k) != w.ID {
					t.Fatalf("id %d is %q, want %q", k, c.ID(k), w.ID)
				}
				raw, err := c.MetaData(w.ID)
				var got any
				if err != nil || json.Unmarshal(raw, &got) != nil || !cmp.Equal(got, w.MetaData) {
					t.Errorf("%q: meta_data %s (%v), want %v", w.ID, raw, err, w.MetaData)
				}
				if !bytes.Contains(meta, raw) {
					t.Errorf("%q: meta_data %s is not the text of the file", w.ID, raw)
				}
				frames, err := c.AppendFrames(t.Context(), nil, w.ID, 0, len(w.Frames), 1)
				if err != nil || len(frames) != len(w.Frames) {
					t.Fatalf("%q: %d frames, %v", w.ID, len(frames), err)
				}
				for i, f := range w.Frames {
					at, err := c.Frame(w.ID, i)
					info := [3]float64{float64(at.Off), float64(at.Pad), float64(at.Size + int64(at.Pad))}
					if err != nil || info != [3]float64{f[0].(float64), f[1].(float64), f[2].(float64)} {
						t.Errorf("%q frame %d: %v, want %v (%v)", w.ID, i, info, f, err)
					}
					if got := digest(frames[i]); got != f[3] {
						t.Errorf("%q frame %d: sha256 %s, want %s", w.ID, i, got, f[3])
					}
				}
			}
			rep, err := c.Verify(t.Context(), nil)
			if err != nil || rep.JPEG != c.Totals().Frames || rep.Unended != 0 || rep.Other != 0 {
				t.Errorf("verify: %+v, %v", rep, err)
			}
		})
	}
}

// TestRewrite copies every fixture through the Writer, frame by frame in the
// order of the data object, and expects the same bytes in both objects.
func TestRewrite(t *testing.T) {
	for name, want := range expected(t).Chunks {
		data, meta := load(t, "chunks/"+name), load(t, "chunks/"+path.Dir(name)+"/"+want.GMeta)
		var gotData, gotMeta bytes.Buffer
		w := gulp.NewWriter(&gotData, gulp.WriteOptions{})
		if err := copyChunk(t.Context(), w, open(t, meta, data)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := w.WriteMeta(&gotMeta); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !bytes.Equal(gotData.Bytes(), data) {
			t.Errorf("%s: other bytes", name)
		}
		if diff := cmp.Diff(string(meta), gotMeta.String()); diff != "" {
			t.Errorf("%s: gmeta -want +got:\n%s", name, diff)
		}
	}
}

func copyChunk(ctx context.Context, w *gulp.Writer, c *gulp.Chunk) error {
	type at struct {
		id string
		i  int
	}
	byOff := map[int64]at{}
	for it := range c.All() {
		values, err := gulp.MetaList(it.MetaData)
		if err != nil {
			return err
		}
		for _, v := range values {
			if err := w.AddMeta(it.ID, v); err != nil {
				return err
			}
		}
		for i := range it.Frames {
			f, err := c.Frame(it.ID, i)
			if err != nil {
				return err
			}
			byOff[f.Off] = at{it.ID, i}
		}
	}
	for off := int64(0); off < c.Totals().DataBytes; off++ {
		f, ok := byOff[off]
		if !ok {
			continue
		}
		p, err := c.AppendFrame(ctx, nil, f.id, f.i)
		if err != nil {
			return err
		}
		if f.i%2 == 0 {
			err = w.WriteFrame(f.id, p)
		} else {
			_, err = w.CopyFrame(f.id, bytes.NewReader(p))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// accepted are the damaged files that the rule "any" lets us read, each with the
// reason; all others are errors.
var accepted = map[string]string{
	"nan":              "Python writes NaN; the text stays as it is",
	"no_meta_data":     "frames need no meta_data",
	"meta_data_empty":  "an empty list is a list",
	"meta_data_scalar": "meta_data is the user's, of any shape",
}

func TestMalformed(t *testing.T) {
	rules := expected(t).Malformed
	if len(rules) < 40 {
		t.Fatalf("%d malformed fixtures", len(rules))
	}
	data := load(t, "malformed/data.gulp")
	for name, rule := range rules {
		t.Run(name, func(t *testing.T) {
			meta := load(t, "malformed/"+name+".gmeta")
			c, err := gulp.Open(t.Context(), bytesReader(meta), bytesReader(data[:rule.Data]), gulp.Options{})
			if err == nil {
				_, err = c.Verify(t.Context(), nil)
			}
			if accepted[name] != "" {
				if err != nil || rule.Ours == "error" {
					t.Fatalf("%s: rule %q, got %v", accepted[name], rule.Ours, err)
				}
				return
			}
			var e *formats.Error
			if !errors.Is(err, formats.ErrCorrupt) || !errors.As(err, &e) || e.Format != gulp.Format || e.Part == "" {
				t.Fatalf("got %v", err)
			}
			t.Log(err)
		})
	}
}
