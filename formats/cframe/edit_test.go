package cframe

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
)

// An op is one change of a file, or a Sync.
type op struct {
	off  int64
	p    []byte
	size int64 // of a Truncate
	kind byte  // 'w', 't', 's'
}

// memFile is a formats.File in memory that keeps a record of its changes.
type memFile struct {
	b    []byte
	ops  []op
	fail int // the change that fails, from 1, having done half of it
}

func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	if off >= int64(len(f.b)) {
		return 0, io.EOF
	}
	n := copy(p, f.b[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memFile) do(o op) error {
	f.ops = append(f.ops, o)
	if len(f.ops) == f.fail {
		if o.kind == 'w' {
			o.p = o.p[:len(o.p)/2]
			f.b = o.apply(f.b)
		}
		return errSink
	}
	f.b = o.apply(f.b)
	return nil
}

func (o op) apply(b []byte) []byte {
	switch o.kind {
	case 'w':
		if n := o.off + int64(len(o.p)); n > int64(len(b)) {
			b = append(b, make([]byte, n-int64(len(b)))...)
		}
		copy(b[o.off:], o.p)
	case 't':
		b = b[:o.size]
	}
	return b
}

func (f *memFile) WriteAt(p []byte, off int64) (int, error) {
	return len(p), f.do(op{off: off, p: bytes.Clone(p), kind: 'w'})
}
func (f *memFile) Truncate(size int64) error { return f.do(op{size: size, kind: 't'}) }
func (f *memFile) Sync() error               { return f.do(op{kind: 's'}) }

func edit(t *testing.T, f formats.File, o EditOptions, change func(e *Editor)) {
	t.Helper()
	e, err := Edit(t.Context(), f, o)
	if err != nil {
		t.Fatal(err)
	}
	change(e)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

// sample is a frame with a bit of everything, and what is in it.
func sample(t *testing.T) ([]byte, content) {
	t.Helper()
	c := content{
		Chunks: [][]byte{ramp(400, 1), noise(400, 2), make([]byte, 400), bytes.Repeat([]byte{1, 2, 3, 4}, 100), ramp(400, 5), ramp(100, 6)},
		Meta:   []Metalayer{{"m", []byte("four")}, {"n", ramp(40, 0)}},
		VL:     []Metalayer{{"v", []byte("value")}, {"w", ramp(300, 1)}},
	}
	return write(t, WriteOptions{TypeSize: 4, Metalayers: c.Meta}, func(w *Writer) {
		for _, p := range c.Chunks {
			must(t, w.WriteChunk(p))
		}
		for _, m := range c.VL {
			must(t, w.SetVLMetalayer(m.Name, m.Data))
		}
	}), c
}

func (c content) clone() content {
	return content{slices.Clone(c.Chunks), slices.Clone(c.Meta), slices.Clone(c.VL)}
}

// The changes of the tests, each with what it makes of a sample.
var changes = []struct {
	name string
	do   func(e *Editor, c *content) error
}{
	{"update", func(e *Editor, c *content) error { c.Chunks[1] = ramp(400, 9); return e.Update(1, c.Chunks[1]) }},
	{"update the last", func(e *Editor, c *content) error { c.Chunks[5] = ramp(80, 9); return e.Update(5, c.Chunks[5]) }},
	{"fill the last and append", func(e *Editor, c *content) error {
		c.Chunks[5] = noise(400, 9)
		c.Chunks = append(c.Chunks, ramp(40, 8))
		return errors.Join(e.Update(5, c.Chunks[5]), e.Extend(c.Chunks[6]))
	}},
	{"insert", func(e *Editor, c *content) error {
		c.Chunks = slices.Insert(c.Chunks, 2, ramp(400, 7))
		return e.Insert(2, c.Chunks[2])
	}},
	{"insert zeros first", func(e *Editor, c *content) error {
		c.Chunks = slices.Insert(c.Chunks, 0, make([]byte, 400))
		return e.InsertSpecial(0, blosc.Zeros, 400)
	}},
	{"update by NaN", func(e *Editor, c *content) error {
		c.Chunks[0] = bytes.Repeat([]byte{0, 0, 0xc0, 0x7f}, 100)
		return e.UpdateSpecial(0, blosc.NaN, 400)
	}},
	{"delete", func(e *Editor, c *content) error { c.Chunks = slices.Delete(c.Chunks, 1, 2); return e.Delete(1) }},
	{"delete the last", func(e *Editor, c *content) error { c.Chunks = c.Chunks[:5]; return e.Delete(5) }},
	{"delete all", deleteAll},
	{"delete all and append", func(e *Editor, c *content) error {
		err := deleteAll(e, c)
		c.Chunks = [][]byte{ramp(400, 3)}
		return errors.Join(err, e.Extend(c.Chunks[0]))
	}},
	{"delete all and the vlmetalayers", func(e *Editor, c *content) error {
		c.VL = nil
		return errors.Join(deleteAll(e, c), e.DeleteVLMetalayer("v"), e.DeleteVLMetalayer("w"))
	}},
	{"delete all with longer vlmetalayers", func(e *Editor, c *content) error {
		c.VL = append(c.VL, Metalayer{"x", noise(5000, 1)})
		return errors.Join(deleteAll(e, c), e.SetVLMetalayer("x", c.VL[2].Data))
	}},
	{"reorder", func(e *Editor, c *content) error {
		c.Chunks = [][]byte{c.Chunks[2], c.Chunks[1], c.Chunks[0], c.Chunks[4], c.Chunks[3], c.Chunks[5]}
		return e.Reorder([]int{2, 1, 0, 4, 3, 5})
	}},
	{"vary", func(e *Editor, c *content) error {
		c.Chunks = append(c.Chunks, ramp(404, 1))
		return e.Extend(c.Chunks[6])
	}},
	{"vary with zeros first", func(e *Editor, c *content) error {
		c.Chunks = append([][]byte{make([]byte, 44)}, c.Chunks[3:]...)
		return errors.Join(e.Delete(0), e.Delete(0), e.UpdateSpecial(0, blosc.Uninit, 44))
	}},
	{"metalayer", func(e *Editor, c *content) error {
		c.Meta[0].Data = []byte("five")
		return e.SetMetalayer("m", []byte("five"))
	}},
	{"vlmetalayers", func(e *Editor, c *content) error {
		c.VL = []Metalayer{{"w", []byte("short")}, {"x", noise(600, 3)}}
		return errors.Join(e.SetVLMetalayer("w", c.VL[0].Data), e.SetVLMetalayer("x", c.VL[1].Data), e.DeleteVLMetalayer("v"))
	}},
	{"nothing", func(*Editor, *content) error { return nil }},
}

func deleteAll(e *Editor, c *content) error {
	var errs []error
	for range c.Chunks {
		errs = append(errs, e.Delete(0))
	}
	c.Chunks = [][]byte{}
	return errors.Join(errs...)
}

func TestEdit(t *testing.T) {
	for _, c := range changes {
		t.Run(c.name, func(t *testing.T) {
			b, want := sample(t)
			f := &memFile{b: bytes.Clone(b)}
			edit(t, f, EditOptions{Vary: true}, func(e *Editor) { must(t, c.do(e, &want)) })
			info, got := mustRead(t, f.b)
			compare(t, "content", got, want)
			if info.FrameLen != int64(len(f.b)) {
				t.Errorf("a frame of %d bytes in a file of %d", info.FrameLen, len(f.b))
			}
			if len(want.Chunks) == 0 && (info.CBytes != 0 || info.FrameLen != info.HeaderLen+trailerLenOf(t, f.b)) {
				t.Errorf("not shrunk: %+v", info)
			}
			if info.VariableChunks != strings.HasPrefix(c.name, "vary") {
				t.Errorf("%+v", info)
			}
			if c.name == "nothing" && len(f.ops) > 0 {
				t.Errorf("%d changes", len(f.ops))
			}
			// Once more, back to where it was, through new editors.
			edit(t, f, EditOptions{Vary: true}, func(e *Editor) {
				must(t, deleteAll(e, &want))
				for _, m := range want.VL {
					must(t, e.DeleteVLMetalayer(m.Name))
				}
			})
			edit(t, f, EditOptions{Vary: true}, func(e *Editor) {
				_, want = sample(t)
				for _, p := range want.Chunks {
					must(t, e.Extend(p))
				}
				for _, m := range want.VL {
					must(t, e.SetVLMetalayer(m.Name, m.Data))
				}
				must(t, e.SetMetalayer("m", want.Meta[0].Data))
			})
			_, got = mustRead(t, f.b)
			compare(t, "back again", got, want)
		})
	}
}

func trailerLenOf(t *testing.T, b []byte) int64 {
	t.Helper()
	f, err := openBytes(t.Context(), b)
	must(t, err)
	return f.trailerLen
}

// Whatever part of the changes of a commit reached the disk, a reader finds the
// old frame or the new one. Writes may be cut anywhere, but for those of the
// header, which one sector holds. And who has the old frame open reads it on,
// unless all chunks are gone: then what it misses is an error.
func TestCrash(t *testing.T) {
	for _, c := range changes {
		t.Run(c.name, func(t *testing.T) {
			b, before := sample(t)
			f := &memFile{b: bytes.Clone(b)}
			after := before.clone()
			edit(t, f, EditOptions{Vary: true}, func(e *Editor) { must(t, c.do(e, &after)) })
			disk := bytes.Clone(b)
			seenOld, seenNew := 0, 0
			for i := 0; i <= len(f.ops); i++ {
				cuts := []int{0}
				if i < len(f.ops) && f.ops[i].kind == 'w' && f.ops[i].off > 0 {
					for n := 1; n < len(f.ops[i].p); n += 1 + n/3 {
						cuts = append(cuts, n)
					}
				}
				for _, cut := range cuts {
					state := bytes.Clone(disk)
					if cut > 0 {
						o := f.ops[i]
						o.p = o.p[:cut]
						state = o.apply(state)
					}
					got, err := readBytes(t.Context(), state)
					if err != nil {
						t.Fatalf("change %d cut at %d: %v", i, cut, err)
					}
					switch {
					case equalContent(got, before):
						seenOld++
					case equalContent(got, after):
						seenNew++
					default:
						t.Fatalf("change %d cut at %d: neither the old nor the new content", i, cut)
					}
					reopened(t, b, state, before, len(after.Chunks) == 0)
					mended(t, state)
				}
				if i < len(f.ops) {
					disk = f.ops[i].apply(disk)
				}
			}
			if len(f.ops) > 0 && (seenOld == 0 || seenNew == 0) {
				t.Errorf("old content %d times, new %d times", seenOld, seenNew)
			}
		})
	}
}

func equalContent(a, b content) bool {
	layers := func(a, b []Metalayer) bool {
		return slices.EqualFunc(a, b, func(x, y Metalayer) bool { return x.Name == y.Name && bytes.Equal(x.Data, y.Data) })
	}
	return slices.EqualFunc(a.Chunks, b.Chunks, bytes.Equal) && layers(a.Meta, b.Meta) && layers(a.VL, b.VL)
}

// reopened reads the file as one does who opened it before.
func reopened(t *testing.T, old, now []byte, want content, shrinks bool) {
	t.Helper()
	f, err := openBytes(t.Context(), old)
	must(t, err)
	g, err := openBytes(t.Context(), now)
	must(t, err)
	f.r = g.r
	f.index = g.index
	for i, p := range want.Chunks {
		got, err := f.AppendChunk(t.Context(), nil, i)
		if err != nil && shrinks {
			continue
		}
		if err != nil || !bytes.Equal(got, p) {
			t.Fatalf("an open frame: chunk %d: %v", i, err)
		}
	}
}

// mended edits what a crash has left.
func mended(t *testing.T, state []byte) {
	t.Helper()
	f := &memFile{b: bytes.Clone(state)}
	want, err := readBytes(t.Context(), state)
	must(t, err)
	edit(t, f, EditOptions{Vary: true}, func(e *Editor) {
		must(t, e.Extend(ramp(44, 3)))
		want.Chunks = append(want.Chunks, ramp(44, 3))
	})
	_, got := mustRead(t, f.b)
	compare(t, "after a crash and an append", got, want)
}

// A header that is cut inside, which no disk that writes whole sectors does, is
// an error, one of the two frames, or the chunks of one and the vlmetalayers of
// the other. Only a metalayer of the header may be half old and half new.
func TestTornHeader(t *testing.T) {
	wrong := map[string]int{}
	for _, c := range changes {
		b, before := sample(t)
		f := &memFile{b: bytes.Clone(b)}
		after := before.clone()
		edit(t, f, EditOptions{Vary: true}, func(e *Editor) { must(t, c.do(e, &after)) })
		disk := bytes.Clone(b)
		for _, o := range f.ops {
			if o.kind == 'w' && o.off == 0 {
				for cut := 1; cut < len(o.p); cut++ {
					half := o
					half.p = o.p[:cut]
					got, err := readBytes(t.Context(), half.apply(bytes.Clone(disk)))
					if err == nil && !equalContent(got, before) && !equalContent(got, after) {
						// The chunks of one state and the vlmetalayers of the other
						// are what each commit wrote as a whole.
						mixed := before.clone()
						mixed.VL = after.VL
						other := after.clone()
						other.VL = before.VL
						if !equalContent(got, mixed) && !equalContent(got, other) {
							wrong[c.name]++
						}
					}
				}
			}
			disk = o.apply(disk)
		}
	}
	for name, n := range wrong {
		if name != "metalayer" { // which may be half old, half new
			t.Errorf("%s: %d of the header's cuts show another frame", name, n)
		}
	}
}

// An error of the file leaves the old frame, and Abort its length.
func TestEditErrors(t *testing.T) {
	for _, c := range changes {
		for fail := 1; ; fail++ {
			b, before := sample(t)
			f := &memFile{b: bytes.Clone(b), fail: fail}
			after := before.clone()
			e, err := Edit(t.Context(), f, EditOptions{Vary: true})
			must(t, err)
			err = c.do(e, &after)
			if err == nil {
				err = e.Close()
			}
			if err == nil {
				break
			}
			if !errors.Is(err, errSink) {
				t.Fatalf("%s: %v", c.name, err)
			}
			if f.ops[fail-1].off == 0 && f.ops[fail-1].kind == 'w' {
				continue // half a header: see TestTornHeader
			}
			if e.Commit() == nil || e.Extend(ramp(4, 0)) == nil {
				t.Fatalf("%s: an editor goes on after an error", c.name)
			}
			got, err := readBytes(t.Context(), f.b)
			if err != nil || !equalContent(got, before) && !equalContent(got, after) {
				t.Fatalf("%s: change %d failed: neither the old nor the new content: %v", c.name, fail, err)
			}
			must(t, e.Abort())
			got, err = readBytes(t.Context(), f.b)
			if err != nil || !equalContent(got, before) && !equalContent(got, after) {
				t.Fatalf("%s: change %d failed, aborted: neither the old nor the new content: %v", c.name, fail, err)
			}
		}
	}
	b, _ := sample(t)
	f := &memFile{b: bytes.Clone(b)}
	e, err := Edit(t.Context(), f, EditOptions{})
	must(t, err)
	must(t, e.Update(0, noise(400, 3)), e.Abort(), e.Abort())
	if !bytes.Equal(f.b, b) {
		t.Error("Abort leaves something")
	}
	if err := e.Extend(nil); err == nil {
		t.Error("an editor goes on after Abort")
	}
}

// What is refused leaves the editor as it was.
func TestEditRefused(t *testing.T) {
	b, want := sample(t)
	f := &memFile{b: bytes.Clone(b)}
	edit(t, f, EditOptions{}, func(e *Editor) {
		vl, err := blosc.AppendEncodedVL(nil, [][]byte{ramp(300, 1), ramp(100, 1)}, blosc.EncodeOptions{})
		must(t, err)
		for name, err := range map[string]error{
			"append after a short one": e.Extend(ramp(400, 0)),
			"insert a short one":       e.Insert(0, ramp(396, 0)),
			"update by a short one":    e.Update(0, ramp(396, 0)),
			"update by a long one":     e.Update(5, ramp(404, 0)),
			"empty":                    e.Update(0, nil),
			"VL":                       e.UpdateEncoded(0, vl),
			"special of no items":      e.UpdateSpecial(5, blosc.NaN, 99),
			"order of five":            e.Reorder([]int{0, 1, 2, 3, 4}),
			"order with a double":      e.Reorder([]int{0, 1, 2, 3, 3, 5}),
			"short one not last":       e.Reorder([]int{5, 1, 2, 3, 4, 0}),
			"metalayer's length":       e.SetMetalayer("m", []byte("three")),
			"vlmetalayer's name":       e.SetVLMetalayer("\x00", nil),
		} {
			if !errors.Is(err, ErrRefused) {
				t.Errorf("%s: %v", name, err)
			}
		}
		_, err = e.AppendStored(nil, 6)
		for name, err := range map[string]error{
			"update": e.Update(6, ramp(400, 0)), "delete": e.Delete(-1), "insert": e.Insert(7, ramp(400, 0)), "chunk": err,
			"metalayer": e.SetMetalayer("o", nil), "vlmetalayer": e.DeleteVLMetalayer("o"),
		} {
			if !errors.Is(err, formats.ErrNoEntry) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
	_, got := mustRead(t, f.b)
	compare(t, "content", got, want)
	if !bytes.Equal(f.b, b) || len(f.ops) > 0 {
		t.Error("the file was changed")
	}
	if _, err := Edit(t.Context(), &memFile{}, EditOptions{}); !errors.Is(err, formats.ErrCorrupt) {
		t.Error(err)
	}
	index, err := os.ReadFile("testdata/fixtures/cframe/sparse_plain.b2dir/chunks.b2frame")
	must(t, err)
	if _, err := Edit(t.Context(), &memFile{b: index}, EditOptions{}); err == nil {
		t.Error("a sparse frame is edited")
	}
}

// Bytes behind a frame are somebody's.
func TestEditKeepsOthers(t *testing.T) {
	b, want := sample(t)
	other := noise(3000, 4)
	for _, c := range changes {
		f := &memFile{b: append(bytes.Clone(b), other...)}
		after := want.clone()
		edit(t, f, EditOptions{Vary: true}, func(e *Editor) { must(t, c.do(e, &after)) })
		_, got := mustRead(t, f.b)
		compare(t, c.name, got, after)
		if !bytes.Equal(f.b[len(b):len(b)+len(other)], other) {
			t.Errorf("%s: the bytes behind the frame changed", c.name)
		}
	}
}

func TestEditStack(t *testing.T) {
	b, _ := sample(t)
	if _, err := Edit(t.Context(), &memFile{b: append(bytes.Clone(b), b...)}, EditOptions{}); !errors.Is(err, ErrRefused) {
		t.Error(err)
	}
}

// Every frame of the reference, in whatever state its own edits left it, is
// edited by ours: what was there before is there after.
func TestEditFixtures(t *testing.T) {
	files, err := filepath.Glob("testdata/fixtures/*/*.b2frame")
	must(t, err)
	old, err := filepath.Glob("testdata/fixtures/cframe/old_*/*.b2frame")
	must(t, err)
	for _, name := range append(files, old...) {
		t.Run(strings.TrimPrefix(name, "testdata/fixtures/"), func(t *testing.T) {
			b, err := os.ReadFile(name)
			must(t, err)
			info, want := mustRead(t, b)
			f := &memFile{b: bytes.Clone(b)}
			chunk := ramp(max(info.ChunkSize, 400), 3)
			edit(t, f, EditOptions{Vary: true, Encode: &blosc.EncodeOptions{Codec: blosc.LZ4}}, func(e *Editor) {
				must(t, e.SetVLMetalayer("farread", []byte("x")))
				want.VL = setLayer(want.VL, Metalayer{"farread", []byte("x")})
				if !info.VLBlocks {
					must(t, e.Insert(0, chunk))
					want.Chunks = slices.Insert(want.Chunks, 0, chunk)
				}
				for i := range want.Chunks { // all are there before the commit
					p, err := e.AppendStored(nil, i)
					must(t, err)
					if p, err = (blosc.DecodeOptions{TypeSize: info.TypeSize}).AppendDecoded(nil, p); err != nil || !bytes.Equal(p, want.Chunks[i]) {
						t.Errorf("chunk %d: %v", i, err)
					}
				}
			})
			_, got := mustRead(t, f.b)
			compare(t, "content", got, want)
		})
	}
}

// On a real file.
func TestEditFile(t *testing.T) {
	b, want := sample(t)
	name := filepath.Join(t.TempDir(), "x.b2frame")
	must(t, os.WriteFile(name, b, 0o600))
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	edit(t, f, EditOptions{}, func(e *Editor) {
		must(t, e.Update(5, ramp(400, 2)), e.Extend(ramp(100, 9)), e.Commit(), e.Delete(0))
	})
	want.Chunks[5] = ramp(400, 2)
	want.Chunks = append(want.Chunks[1:], ramp(100, 9))
	b, err = os.ReadFile(name)
	must(t, err)
	_, got := mustRead(t, b)
	compare(t, "content", got, want)
}

// A chunk of one repeated byte needs no memory to be made, of any length.
func TestRunChunk(t *testing.T) {
	for _, n := range []int{1, 33, 70000} {
		for _, v := range []byte{0, 1, 255} {
			p, err := blosc.AppendDecoded(nil, runChunk(v, n))
			if err != nil || !bytes.Equal(p, bytes.Repeat([]byte{v}, n)) {
				t.Errorf("%d of %d: %d bytes, %v", n, v, len(p), err)
			}
		}
	}
	x, err := blosc.ParseIndex(runChunk(7, math.MaxInt32-32))
	must(t, err)
	if h := x.Header(); h.Blocks() != 5 || h.CBytes != len(runChunk(7, math.MaxInt32-32)) {
		t.Errorf("%+v", h)
	}
}

func TestProbeSize(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 100, 1023, 1024, 1025, 70000} {
		if got, err := probeSize(&memFile{b: make([]byte, n)}); err != nil || got != int64(n) {
			t.Errorf("%d: %d, %v", n, got, err)
		}
	}
}
