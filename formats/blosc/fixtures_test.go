package blosc_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/formattest"
)

// A fixture is a line of testdata/MANIFEST.
type fixture struct {
	File       string `json:"file"`
	FileSHA256 string `json:"file_sha256"`
	Kind       string `json:"kind"` // blosc1, blosc2, malformed
	Expect     struct {
		Version    uint8   `json:"version"`
		Flags      uint8   `json:"flags"`
		Extended   bool    `json:"extended"`
		Memcpyed   bool    `json:"memcpyed"`
		Split      bool    `json:"split"`
		TypeSize   int     `json:"typesize"`
		NBytes     int     `json:"nbytes"`
		BlockSize  int     `json:"blocksize"`
		CBytes     int     `json:"cbytes"`
		Codec      string  `json:"codec"`
		Filters    []uint8 `json:"filters"`
		Metas      []uint8 `json:"filters_meta"`
		Special    string  `json:"special"`
		UseDict    bool    `json:"use_dict"`
		VL         bool    `json:"vlblocks"`
		SHA256     string  `json:"sha256"`
		Original   string  `json:"original_sha256"`
		Undefined  bool    `json:"undefined_content"`
		Mismatch   bool    `json:"reference_mismatch"`
		Optional   bool    `json:"optional"`
		Lossy      bool    `json:"lossy"`
		BlockShape []int   `json:"blockshape"` // of the array that the chunk is from
		Ours       string  `json:"ours"`       // malformed: error, same_or_error, any
		Ranges     []struct {
			Start, Stop, Unit int
			SHA256            string `json:"sha256"`
		} `json:"ranges"`
	} `json:"expect"`
}

func fixtures(tb testing.TB) []fixture {
	tb.Helper()
	p, err := os.ReadFile(filepath.Join("testdata", "MANIFEST"))
	if err != nil {
		tb.Fatal(err)
	}
	var all []fixture
	if err := json.Unmarshal(p, &all); err != nil {
		tb.Fatal(err)
	}
	return all
}

func (f fixture) data(tb testing.TB) []byte {
	tb.Helper()
	p, err := os.ReadFile(filepath.Join("testdata", filepath.FromSlash(f.File)))
	if err != nil {
		tb.Fatal(err)
	}
	if hash(p) != f.FileSHA256 {
		tb.Fatalf("%s is not the file of the manifest", f.File)
	}
	return p
}

func hash(p []byte) string {
	s := sha256.Sum256(p)
	return hex.EncodeToString(s[:])
}

// TestFixtures decodes chunks of the reference libraries: whole, by several
// goroutines, and block by block.
func TestFixtures(t *testing.T) {
	n := 0
	for _, f := range fixtures(t) {
		if f.Kind == "malformed" {
			continue
		}
		n++
		t.Run(f.File, func(t *testing.T) {
			chunk := f.data(t)
			o := blosc.DecodeOptions{BlockShape: f.Expect.BlockShape}
			got, err := o.AppendDecoded(nil, chunk)
			if f.Expect.Optional && err != nil && formattest.Allowed(err) {
				return
			}
			checkHeader(t, f, chunk)
			if err != nil {
				t.Fatal(err)
			}
			if h := hash(got); !f.Expect.Undefined && h != f.Expect.SHA256 {
				t.Errorf("%d bytes decoded to other content than the reference's", len(got))
				if h == f.Expect.Original {
					t.Error("but to what the writer was given")
				}
			}
			for _, r := range f.Expect.Ranges {
				if !f.Expect.Undefined && !f.Expect.Mismatch && hash(got[r.Start*r.Unit:r.Stop*r.Unit]) != r.SHA256 {
					t.Errorf("items %d to %d differ", r.Start, r.Stop)
				}
			}
			checkWays(t, o, chunk, got)
		})
	}
	if n < 400 {
		t.Errorf("only %d fixtures", n)
	}
}

func checkHeader(t *testing.T, f fixture, chunk []byte) {
	t.Helper()
	h, err := blosc.ParseHeader(chunk)
	if err != nil {
		t.Fatal(err)
	}
	e := f.Expect
	codec := h.Codec.String()
	if codec == "lz4hc" { // the manifest names the format of the streams
		codec = "lz4"
	}
	if h.Version != e.Version || h.Flags != e.Flags || h.TypeSize != e.TypeSize || h.NBytes != e.NBytes || h.BlockSize != e.BlockSize ||
		h.CBytes != e.CBytes || codec != e.Codec || h.Extended != e.Extended || h.Memcpyed != e.Memcpyed || e.Original != "" && h.Split != e.Split ||
		h.Dict != e.UseDict || h.VL != e.VL || e.Special != "" && !sameSpecial(h.Special, e.Special) {
		t.Errorf("header %+v, want %+v", h, e)
	}
	for i, id := range e.Filters {
		if h.Extended && h.Filters[i] != (blosc.Filter{ID: blosc.FilterID(id), Meta: e.Metas[i]}) {
			t.Errorf("filter %d is %v", i, h.Filters[i])
		}
	}
}

func sameSpecial(s blosc.Special, name string) bool {
	return s.String() == name || s == blosc.Zeros && name == "zero"
}

// checkWays decodes a chunk in every way that there is and compares with want.
func checkWays(t *testing.T, o blosc.DecodeOptions, chunk, want []byte) {
	t.Helper()
	po := o
	po.Parallel = 4
	got, err := po.AppendDecoded([]byte("before"), chunk)
	if err != nil || !bytes.Equal(got, append([]byte("before"), want...)) {
		t.Errorf("by several goroutines: %d bytes, %v", len(got), err)
	}
	got, err = blocks(o, chunk)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("block by block: %d bytes, want %d, %v", len(got), len(want), err)
	}
}

// blocks decodes a chunk block by block, in reverse order.
func blocks(o blosc.DecodeOptions, chunk []byte) ([]byte, error) {
	h, err := blosc.ParseHeader(chunk)
	if err != nil {
		return nil, err
	}
	x, err := blosc.ParseIndex(chunk[:min(h.IndexLen(), len(chunk))])
	if err != nil {
		return nil, err
	}
	if len(chunk) < h.CBytes {
		return nil, io.ErrUnexpectedEOF
	}
	off, n := x.Dict()
	dict := chunk[off : off+n]
	var first []byte
	out := make([][]byte, h.Blocks())
	one := func(i int) error {
		off, n := x.Block(i)
		src := chunk[off : off+n]
		size := x.BlockLen(i)
		if h.VL {
			if size, err = x.VLBlockLen(src); err != nil {
				return err
			}
		}
		out[i] = make([]byte, size)
		return o.DecodeBlock(out[i], x, i, src, first, dict)
	}
	if x.NeedsFirst() && len(out) > 0 {
		if err := one(0); err != nil {
			return nil, err
		}
		first = out[0]
	}
	for i := len(out) - 1; i >= 0; i-- {
		if err := one(i); err != nil {
			return nil, err
		}
	}
	return bytes.Join(out, nil), nil
}

// TestMalformed decodes damaged chunks. They give an error of a known class if the
// manifest says so, and never a panic.
func TestMalformed(t *testing.T) {
	n := 0
	for _, f := range fixtures(t) {
		if f.Kind != "malformed" {
			continue
		}
		n++
		t.Run(f.File, func(t *testing.T) {
			chunk := f.data(t)
			got, err := blosc.DecodeOptions{MaxDecoded: 64 << 20}.AppendDecoded(nil, chunk)
			switch {
			case err != nil && !formattest.Allowed(err):
				t.Errorf("error of no known class: %v", err)
			case err == nil && f.Expect.Ours == "error":
				t.Errorf("%d bytes and no error", len(got))
			case err == nil && f.Expect.Ours == "same_or_error" && hash(got) != f.Expect.Original:
				t.Error("other bytes and no error")
			}
			if err == nil {
				checkWays(t, blosc.DecodeOptions{}, chunk, got)
			}
			if _, err := blocks(blosc.DecodeOptions{}, chunk); err != nil && !formattest.Allowed(err) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("block by block: error of no known class: %v", err)
			}
		})
	}
	if n < 140 {
		t.Errorf("only %d fixtures", n)
	}
}
