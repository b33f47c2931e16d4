package cframe

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/rangeio"
)

// TestAppendStoredOfAnyFrame: of each frame of the reference tools the stored chunks are
// those that AppendChunk decodes, a plan is one request for each that is stored, and Verify
// finds them. Malformed frames, cut ones and flipped ones give an error of this package,
// or bytes with a right header.
func TestAppendStoredOfAnyFrame(t *testing.T) {
	t.Parallel()
	chunks := 0
	err := filepath.WalkDir("testdata/fixtures", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".b2frame") || strings.Contains(name, "dir/") {
			return err
		}
		p, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		chunks += storedOf(t, name, p)
		for i := 97; i < len(p); i += 1 + len(p)/20 {
			flipped := bytes.Clone(p)
			flipped[i] ^= 0x10
			storedOf(t, "malformed", flipped)
			storedOf(t, "malformed", p[:i])
		}
		return nil
	})
	if err != nil || chunks < 50 {
		t.Errorf("%d chunks, %v", chunks, err)
	}
}

// storedOf reads all stored chunks of a frame, which is well unless its name says
// otherwise.
func storedOf(t *testing.T, name string, p []byte) (n int) {
	t.Helper()
	well := !strings.Contains(name, "malformed")
	f, err := Open(t.Context(), rangeio.FromReaderAt(bytes.NewReader(p), int64(len(p))), Options{})
	if err != nil || f.Refused() != nil {
		return 0
	}
	if well {
		eachStored(t, name, f)
	}
	for i := range f.Chunks() {
		stored, err := f.AppendStored(t.Context(), nil, i)
		if err != nil {
			var e *formats.Error
			if well || !errors.As(err, &e) {
				t.Errorf("%s: chunk %d: %v", name, i, err)
			}
			continue
		}
		if h, err := blosc.ParseHeader(stored); err != nil || h.CBytes != len(stored) {
			t.Fatalf("%s: chunk %d: %d bytes, %+v, %v", name, i, len(stored), h, err)
		}
		if !well {
			continue
		}
		n++
		want, err := f.AppendChunk(t.Context(), nil, i)
		if err != nil {
			continue // a codec or a filter that is not read
		}
		got, err := blosc.DecodeOptions{TypeSize: f.Info().TypeSize}.AppendDecoded(nil, stored)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: chunk %d decodes to others, %v", name, i, err)
		}
		plan, err := f.ExplainStored(t.Context(), i)
		if err != nil || len(plan) > 1 || len(plan) == 0 && f.chunk(i).Special == blosc.None {
			t.Errorf("%s: chunk %d: plan %v, %v", name, i, plan, err)
		}
	}
	if r, err := f.Verify(t.Context(), nil); well && (err != nil || r.Chunks != f.Chunks() || r.NBytes != f.Info().NBytes) {
		t.Errorf("%s: verify %+v, %v", name, r, err)
	}
	return n
}

// eachStored holds EachStored against AppendStored.
func eachStored(t *testing.T, name string, f *Frame) {
	t.Helper()
	var mu sync.Mutex
	list, got := make([]int, f.Chunks()), map[int][]byte{}
	for i := range list {
		list[i] = i
	}
	err := f.EachStored(t.Context(), list, func(i int, p []byte) error {
		mu.Lock()
		defer mu.Unlock()
		if got[i] != nil {
			t.Errorf("%s: chunk %d twice", name, i)
		}
		got[i] = p
		return nil
	})
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	for i := range list {
		want, err := f.AppendStored(t.Context(), nil, i)
		c := f.chunk(i)
		if is := got[i] != nil; err != nil || is && !bytes.Equal(got[i], want) || !is && c.Special == blosc.None && c.NBytes >= 0 && !f.info.Sparse {
			t.Errorf("%s: chunk %d: %d bytes, want %d, %v", name, i, len(got[i]), len(want), err)
		}
	}
	if err := f.EachStored(t.Context(), []int{f.Chunks()}, nil); !f.info.Sparse && !errors.Is(err, formats.ErrNoEntry) {
		t.Errorf("%s: a chunk beyond: %v", name, err)
	}
}
