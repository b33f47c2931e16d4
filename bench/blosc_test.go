package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
)

// key makes a name fit for the key=value parts of a benchmark's.
func key(s string) string { return strings.ReplaceAll(s, " ", "-") }

func BenchmarkBloscDecode(b *testing.B) {
	x := newBench(b)
	p := orNil(b, x.blosc2)
	for _, c := range codings() {
		s := seriesOf(c.series)
		data := s.bytes(1 << 20)
		chunk, err := blosc.AppendEncoded(nil, data, c.options(c.level, s.typesize))
		if err != nil {
			b.Fatal(err)
		}
		name := fmt.Sprintf("codec=%s-%d/filter=%s/data=%s/side=", c.codec, c.level, c.filter, key(c.series))
		loop(b, name+"farread", "MB", float64(len(data))/1e6, decodeChunk(blosc.DecodeOptions{}, onCPU, chunk, data, 1))
		if p == nil {
			continue
		}
		path := filepath.Join(b.TempDir(), "chunk")
		if err := os.WriteFile(path, chunk, 0o600); err != nil {
			b.Fatal(err)
		}
		var w work
		loop(b, name+"blosc2", "MB", float64(len(data))/1e6, p.side(&w, "decode", path, "1"))
	}
}

func BenchmarkBloscEncode(b *testing.B) {
	x := newBench(b)
	p := orNil(b, x.blosc2)
	for _, c := range codings() {
		s := seriesOf(c.series)
		raw, data, err := x.file(s, 1<<20)
		if err != nil {
			b.Fatal(err)
		}
		name := fmt.Sprintf("codec=%s-%d/filter=%s/data=%s/side=", c.codec, c.level, c.filter, key(c.series))
		loop(b, name+"farread", "MB", float64(len(data))/1e6, encodeChunk(c.options(c.level, s.typesize), data, 1))
		if p != nil {
			var w work
			loop(b, name+"blosc2", "MB", float64(len(data))/1e6, c.theirs(p, &w, raw, filepath.Join(x.dir, "chunk"), s.typesize, 1))
		}
	}
}

func BenchmarkFilter(b *testing.B) {
	x := newBench(b)
	p := orNil(b, x.blosc2)
	path, src, err := x.random(filterBlock)
	if err != nil {
		b.Fatal(err)
	}
	const reps = 20 // the clock of the processor is not fine
	for _, f := range filterings() {
		name := fmt.Sprintf("filter=%s/width=%d/side=", f.name, f.width)
		loop(b, name+"farread", "MB", reps*filterBlock/1e6, f.loop(make([]byte, len(src)), src, reps))
		if p != nil {
			var w work
			loop(b, name+"blosc2", "MB", reps*filterBlock/1e6, p.side(&w, "filter", f.peer, strconv.Itoa(f.width), path, filepath.Join(b.TempDir(), "block"), strconv.Itoa(reps)))
		}
	}
}

func BenchmarkNpyToB2nd(b *testing.B) {
	x := newBench(b)
	c, err := x.newCube("in", seriesOf("f32 sine"), 16, 128, 128)
	if err != nil {
		b.Fatal(err)
	}
	loop(b, "side=farread", "MB", float64(c.nbytes)/1e6, c.packing(1))
	if p := orNil(b, x.blosc2); p != nil {
		var w work
		loop(b, "side=blosc2", "MB", float64(c.nbytes)/1e6, p.side(&w, "to_array", c.npy(), c.peer(), "zstd", "1"))
	}
}

func BenchmarkSlice(b *testing.B) {
	x := newBench(b)
	c, err := x.newCube("in", seriesOf("f32 sine"), 64, 128, 128)
	if err != nil {
		b.Fatal(err)
	}
	if err := c.pack(b.Context(), 1, 0); err != nil {
		b.Fatal(err)
	}
	a, err := farread.New(farread.Config{NoHedge: true}).OpenArray(b.Context(), c.b2nd(), farread.FrameOptions{Options: b2nd.Options{Parallel: 1}})
	if err != nil {
		b.Fatal(err)
	}
	for _, k := range cuts(x) {
		keys := k.keys(c.shape)
		var w, v work
		loop(b, "slice="+key(k.name)+"/side=farread", "slices", float64(k.n), readSlices(a.Array, keys, &w))
		if p := orNil(b, x.blosc2); p != nil {
			loop(b, "slice="+key(k.name)+"/side=blosc2", "slices", float64(k.n), p.side(&v, append([]string{"slices", c.b2nd()}, keys...)...))
			if v != w {
				b.Errorf("%s: %v, the peer %v", k.name, w, v)
			}
		}
	}
}

// BenchmarkTable makes the rows of the Blosc family with small inputs: both sides
// agree on what they have read and written.
func BenchmarkTable(b *testing.B) {
	x := newBench(b)
	match := regexp.MustCompile("^(blosc-|decode$|npy-to-b2nd|local-slices|full-scan)")
	for _, j := range jobs() {
		if !match.MatchString(j.name) {
			continue
		}
		b.Run("job="+j.name, func(b *testing.B) {
			for b.Loop() {
				rows, err := j.run(context.WithoutCancel(b.Context()), x)
				if skip := (*skipped)(nil); errors.As(err, &skip) {
					b.Skip(skip)
				}
				if err != nil || len(rows) == 0 {
					b.Fatal(len(rows), err)
				}
			}
		})
	}
}

// TestSeries: items have their size, the same bytes come each time, and no two
// kinds of data are alike.
func TestSeries(t *testing.T) {
	seen := map[string]string{}
	for _, c := range codings() {
		p := seriesOf(c.series).bytes(4096 + 3)
		if string(p) != string(seriesOf(c.series).bytes(4096+3)) || len(p) != 4096+3 {
			t.Errorf("%s: %d bytes, or not the same again", c.series, len(p))
		}
		if other, ok := seen[string(p)]; ok && other != c.series {
			t.Errorf("%s is %s", c.series, other)
		}
		seen[string(p)] = c.series
	}
	if d := cmp.Diff([]byte{0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}, seriesOf("i64 ramp").bytes(16)); d != "" {
		t.Error(d)
	}
}

// TestEqualRatio: the first level counts whose chunk is small enough; where none
// is, the row says so.
func TestEqualRatio(t *testing.T) {
	c := coding{series: "f32 sine", codec: "zlib", filter: "shuffle"}
	data := seriesOf(c.series).bytes(1 << 16)
	var sizes []int
	for l := 1; l <= 9; l++ {
		chunk, err := blosc.AppendEncoded(nil, data, c.options(l, 4))
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, len(chunk))
	}
	for _, theirs := range []int{len(data), sizes[0], sizes[8], sizes[8] / 2} {
		level, size, equal, err := c.level4(data, 4, theirs)
		if err != nil {
			t.Fatal(err)
		}
		want := theirs >= sizes[8]
		if equal != want || size != sizes[level-1] || equal != (float64(size) <= 1.02*float64(theirs)) {
			t.Errorf("%d: level %d of %d bytes, %v; sizes %v", theirs, level, size, equal, sizes)
		}
		for l := 1; l < level && equal; l++ {
			if float64(sizes[l-1]) <= 1.02*float64(theirs) {
				t.Errorf("%d: level %d would do, not %d", theirs, l, level)
			}
		}
	}
}

// TestKeys: slices lie inside the array, and differ.
func TestKeys(t *testing.T) {
	shape := []int64{512, 512, 1024}
	for _, c := range cuts(&bench{}) {
		seen := map[string]bool{}
		for _, k := range c.keys(shape) {
			s, err := b2nd.ParseSlice(k)
			if err != nil {
				t.Fatal(err)
			}
			box, err := s.Resolve(shape)
			if err != nil {
				t.Fatal(err)
			}
			for i := range shape {
				if lo, hi := box.Cover(i); lo < 0 || hi > shape[i] || lo >= hi {
					t.Errorf("%s: %s: axis %d: %d to %d", c.name, k, i, lo, hi)
				}
			}
			seen[k] = true
		}
		if len(seen) != c.n {
			t.Errorf("%s: %d slices of %d differ", c.name, len(seen), c.n)
		}
	}
}

// TestCube: a .npy whose content repeats is what its header says.
func TestCube(t *testing.T) {
	x := &bench{dir: t.TempDir()}
	c, err := x.newCube("in", seriesOf("f64 walk"), 3, 1<<10, 1<<10)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(c.npy())
	if err != nil {
		t.Fatal(err)
	}
	if c.nbytes != 24<<20 || info.Size() != c.nbytes+128 {
		t.Errorf("%d bytes of items in a file of %d", c.nbytes, info.Size())
	}
	if err := c.pack(t.Context(), 1, 1); err != nil {
		t.Fatal(err)
	}
}
