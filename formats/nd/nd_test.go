package nd_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/farread/farread/formats/nd"
)

// golden is a line of testdata/slices.jsonl; slices.py says what is in it.
type golden struct {
	Shape  []int64 `json:"shape"`
	Item   int     `json:"item"`
	Slice  string  `json:"slice"`
	Out    []int64 `json:"out"`
	SHA256 string  `json:"sha256"`
	Error  string  `json:"error"`
}

func goldens(tb testing.TB) []golden {
	tb.Helper()
	f, err := os.Open("testdata/slices.jsonl")
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var all []golden
	for s := bufio.NewScanner(f); s.Scan(); {
		var g golden
		if err := json.Unmarshal(s.Bytes(), &g); err != nil {
			tb.Fatal(err)
		}
		all = append(all, g)
	}
	if len(all) < 500 {
		tb.Fatalf("%d lines", len(all))
	}
	return all
}

// count makes an array of its own item numbers.
func count(n int64, item int) []byte {
	p := make([]byte, n*int64(item))
	for i := range n {
		for k, v := 0, i; k < item && v > 0; k, v = k+1, v>>8 {
			p[i*int64(item)+int64(k)] = byte(v)
		}
	}
	return p
}

func resolve(tb testing.TB, text string, shape []int64) nd.Box {
	tb.Helper()
	s, err := nd.ParseSlice(text)
	if err != nil {
		tb.Fatal(err)
	}
	b, err := s.Resolve(shape)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// gather copies box out of a through cells of the given shape, and checks that
// each cell met holds something.
func gather(tb testing.TB, a []byte, shape []int64, b nd.Box, cell []int64, item int) []byte {
	tb.Helper()
	items, err := b.Items()
	if err != nil {
		tb.Fatal(err)
	}
	dst := bytes.Repeat([]byte{0xee}, int(items)*item)
	g, err := nd.NewGrid(shape, cell)
	if err != nil {
		tb.Fatal(err)
	}
	zero := make([]int64, len(shape))
	var p nd.Part
	last := int64(-1)
	counts := b.Counts()
	for id, origin := range g.Meet(b, zero, shape) {
		if id <= last || id >= g.Total {
			tb.Fatalf("cell %d of %d after %d", id, g.Total, last)
		}
		last = id
		end := make([]int64, len(shape))
		for i := range end {
			end[i] = min(origin[i]+cell[i], shape[i])
		}
		if !b.Part(&p, origin, end) {
			tb.Fatalf("cell %d at %v of %v was met for nothing by %v", id, origin, cell, b)
		}
		// The cell as it would be stored: full size, padded with a bad value.
		size, _ := nd.Prod(cell)
		src := bytes.Repeat([]byte{0xdd}, int(size)*item)
		n := make([]int64, len(shape))
		for i := range n {
			n[i] = end[i] - origin[i]
		}
		nd.CopyBox(src, cell, zero, a, shape, origin, n, item)
		b.CopyPart(dst, counts, src, cell, &p, item)
	}
	return dst
}

func TestSlicesAreNumPys(t *testing.T) {
	for _, g := range goldens(t) {
		s, err := nd.ParseSlice(g.Slice)
		if err != nil {
			t.Errorf("%q: %v", g.Slice, err)
			continue
		}
		b, err := s.Resolve(g.Shape)
		if g.Error != "" {
			want := map[string]error{"index": nd.ErrIndex, "syntax": nd.ErrSyntax}[g.Error]
			if !errors.Is(err, want) {
				t.Errorf("%v[%s]: %v, want %v", g.Shape, g.Slice, err, want)
			}
			continue
		}
		if err != nil || !slices.Equal(b.OutShape, g.Out) {
			t.Errorf("%v[%s]: shape %v, %v, want %v", g.Shape, g.Slice, b.OutShape, err, g.Out)
			continue
		}
		total, _ := nd.Prod(g.Shape)
		a := count(total, g.Item)
		cell := make([]int64, len(g.Shape))
		for i, n := range g.Shape {
			cell[i] = min(n, 1+int64(i+len(g.Slice))%5)
		}
		for _, cell := range [][]int64{g.Shape, cell} {
			h := sha256.Sum256(gather(t, a, g.Shape, b, cell, g.Item))
			if hex.EncodeToString(h[:]) != g.SHA256 {
				t.Errorf("%v[%s] in cells of %v: wrong items", g.Shape, g.Slice, cell)
			}
		}
	}
}

func TestParseSliceTakes(t *testing.T) {
	for text, want := range map[string]string{
		"":             "[0 0]+[1 1] [4 5]",
		" [ 1 , : ] ":  "[1 0]+[1 1] [5]",
		"...":          "[0 0]+[1 1] [4 5]",
		"1,":           "[1 0]+[1 1] [5]",
		"Ellipsis, -1": "[0 4]+[1 1] [4]",
		"::-1, +2":     "[3 2]+[-1 1] [4]",
		"1_0:, 0":      "[0 0]+[1 1] [0]",
		"-99999999999999999999:99999999999999999999": "[0 0]+[1 1] [4 5]",
		"::99999999999999999999":                     "[0 0]+[9223372036854775807 1] [1 5]",
	} {
		b := resolve(t, text, []int64{4, 5})
		if got := fmt.Sprint(b.Start, "+", b.Step, " ", b.OutShape); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestParseSliceRefuses(t *testing.T) {
	for _, text := range []string{
		"a", "1.5", "1:2:3:4", "::0", ",", "1,,2", ",1", "None", "np.newaxis", "True", "[1, 2], 3", "(1, 2)", "[[1, 2]]", "..., ...", "1 2", "--1", "+-1", "0x10",
		"1__0", "_1", "1_", "...:", "[", "]", "[]]", ":,[True]", "1e3", "١", "-", strings.Repeat("0,", 66) + "0", strings.Repeat(" ", 10000), "'a'",
	} {
		if s, err := nd.ParseSlice(text); !errors.Is(err, nd.ErrSyntax) {
			t.Errorf("%q: %v, %v", text, s, err)
		}
	}
}

func TestResolveRefuses(t *testing.T) {
	for _, c := range []struct {
		text  string
		shape []int64
		want  error
	}{
		{"4", []int64{4}, nd.ErrIndex}, {"-5", []int64{4}, nd.ErrIndex}, {"0", []int64{0}, nd.ErrIndex}, {"...,9", []int64{9, 9}, nd.ErrIndex},
		{"99999999999999999999", []int64{math.MaxInt64}, nd.ErrIndex}, {"-99999999999999999999", []int64{math.MaxInt64}, nd.ErrIndex},
		{"0,0", []int64{4}, nd.ErrSyntax}, {":", nil, nd.ErrSyntax}, {"0", []int64{-1}, nd.ErrOverflow}, {"0", []int64{1 << 32, 1 << 32}, nd.ErrOverflow},
		{"0", []int64{1 << 32, 1 << 32, 0}, nd.ErrOverflow},
	} {
		s, err := nd.ParseSlice(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Resolve(c.shape); !errors.Is(err, c.want) {
			t.Errorf("%v[%s]: %v, want %v", c.shape, c.text, err, c.want)
		}
	}
}

// Positions near the ends of int64 neither overflow nor loop.
func TestHugeAxes(t *testing.T) {
	const n = math.MaxInt64
	for _, c := range []struct {
		text        string
		cells, want int64
	}{
		{"::9223372036854775807", 1 << 40, 1}, {"::-9223372036854775807", 1 << 40, 1}, {"-1::-9223372036854775808", 7, 1},
		{"::4611686018427387904", 1 << 62, 2}, {"::-4611686018427387904", 3, 2}, {"-3:", n, 3}, {"-1::-4611686018427387903", 1, 3},
	} {
		shape := []int64{n}
		b := resolve(t, c.text, shape)
		g, err := nd.NewGrid(shape, []int64{c.cells})
		if err != nil {
			t.Fatal(err)
		}
		var p nd.Part
		found := int64(0)
		for _, origin := range g.Meet(b, []int64{0}, shape) {
			end := int64(n)
			if origin[0] < n-c.cells {
				end = origin[0] + c.cells
			}
			if !b.Part(&p, origin, []int64{end}) {
				t.Fatalf("[%s] cell at %d", c.text, origin)
			}
			found += p.N[0]
		}
		if b.Count(0) != c.want || found != c.want {
			t.Errorf("[%s]: %d items, %d in cells, want %d", c.text, b.Count(0), found, c.want)
		}
	}
}

func TestProd(t *testing.T) {
	for _, c := range []struct {
		shape []int64
		want  int64
		ok    bool
	}{
		{nil, 1, true}, {[]int64{3, 0, 4}, 0, true}, {[]int64{1 << 31, 1 << 31}, 1 << 62, true}, {[]int64{1 << 32, 1 << 31}, 0, false},
		{[]int64{0, 1 << 40, 1 << 40}, 0, false}, {[]int64{-1}, 0, false}, {[]int64{math.MaxInt64}, math.MaxInt64, true},
	} {
		got, err := nd.Prod(c.shape)
		if got != c.want || (err == nil) != c.ok || err != nil && !errors.Is(err, nd.ErrOverflow) {
			t.Errorf("%v: %d, %v", c.shape, got, err)
		}
	}
}

func TestNewGridRefuses(t *testing.T) {
	for _, c := range [][2][]int64{{{1}, {0}}, {{1}, {-1}}, {{-1}, {1}}, {{1}, {}}, {{math.MaxInt64, 2}, {1, 1}}} {
		if g, err := nd.NewGrid(c[0], c[1]); err == nil {
			t.Errorf("%v in %v: %v", c[0], c[1], g)
		}
	}
	if g, err := nd.NewGrid([]int64{0, 5}, []int64{0, 2}); err != nil || g.Total != 0 {
		t.Errorf("no cells: %v, %v", g, err)
	}
}

// A box of any steps is gathered through chunks and their blocks, as b2nd stores them.
// It has the items that plain loops find.
func TestChunksAndBlocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.IntRange(0, 4).Draw(t, "dims")
		var shape, chunk, block []int64
		var b nd.Box
		for i := range d {
			n := rapid.Int64Range(1, 9).Draw(t, "length")
			c := rapid.Int64Range(1, 11).Draw(t, "chunk")
			shape, chunk = append(shape, n), append(chunk, c)
			block = append(block, rapid.Int64Range(1, c).Draw(t, "block"))
			step := rapid.SampledFrom([]int64{1, 1, 2, 3, 7, -1, -2, -4}).Draw(t, "step")
			start := rapid.Int64Range(0, n-1).Draw(t, "start")
			stop := rapid.Int64Range(start, n).Draw(t, "stop")
			if step < 0 {
				stop = rapid.Int64Range(-1, start).Draw(t, "stop")
			}
			b.Start, b.Stop, b.Step = append(b.Start, start), append(b.Stop, stop), append(b.Step, step)
			b.OutShape = append(b.OutShape, b.Count(i))
		}
		item := rapid.SampledFrom([]int{1, 2, 3, 4, 8, 12, 16}).Draw(t, "item")
		total, _ := nd.Prod(shape)
		a := count(total, item)
		got := throughBlocks(t, a, shape, b, chunk, block, item)
		if want := naive(a, shape, b, item); !bytes.Equal(got, want) {
			t.Fatalf("%v %v in chunks %v, blocks %v: %x, want %x", shape, b, chunk, block, got, want)
		}
	})
}

// naive selects item by item.
func naive(a []byte, shape []int64, b nd.Box, item int) []byte {
	var out []byte
	var walk func(axis int, at int64)
	walk = func(axis int, at int64) {
		if axis == len(shape) {
			out = append(out, a[at*int64(item):][:item]...)
			return
		}
		for i := b.Start[axis]; b.Step[axis] > 0 && i < b.Stop[axis] || b.Step[axis] < 0 && i > b.Stop[axis]; i += b.Step[axis] {
			walk(axis+1, at*shape[axis]+i)
		}
	}
	walk(0, 0)
	return out
}

func throughBlocks(t *rapid.T, a []byte, shape []int64, b nd.Box, chunk, block []int64, item int) []byte {
	items, _ := b.Items()
	dst := make([]byte, items*int64(item))
	chunks, err := nd.NewGrid(shape, chunk)
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := nd.NewGrid(chunk, block)
	if err != nil {
		t.Fatal(err)
	}
	zero, counts := make([]int64, len(shape)), b.Counts()
	size, _ := nd.Prod(block)
	var p nd.Part
	for _, origin := range chunks.Meet(b, zero, shape) {
		end := ends(origin, chunk, shape)
		for _, at := range blocks.Meet(b, origin, end) {
			blockEnd := ends(at, block, end)
			if !b.Part(&p, at, blockEnd) {
				t.Fatalf("block at %v was met for nothing", at)
			}
			n := make([]int64, len(shape))
			for i := range n {
				n[i] = blockEnd[i] - at[i]
			}
			stored := make([]byte, size*int64(item))
			nd.CopyBox(stored, block, zero, a, shape, at, n, item)
			b.CopyPart(dst, counts, stored, block, &p, item)
		}
	}
	return dst
}

// Transposed and reversed views, past the sides of tiles.
func TestCopyStrided(t *testing.T) {
	for _, item := range []int{1, 2, 3, 4, 8, 16} {
		for _, shape := range [][]int64{{1}, {70, 33}, {33, 5, 41}, {2, 3, 4, 5}, {64, 32}, {3, 1, 100}} {
			total, _ := nd.Prod(shape)
			src := count(total, item)
			ds, ss := nd.Strides(shape, item), nd.StridesF(shape, item)
			off := (shape[0] - 1) * ss[0]
			ss[0] = -ss[0] // the first axis backwards
			got := make([]byte, len(src))
			nd.Copy(got, 0, ds, src, off, ss, shape, item)
			want := make([]byte, 0, len(src))
			at := make([]int64, len(shape))
			for range total {
				s := off
				for i, x := range at {
					s += x * ss[i]
				}
				want = append(want, src[s:s+int64(item)]...)
				for i := len(at) - 1; i >= 0; i-- {
					if at[i]++; at[i] < shape[i] {
						break
					}
					at[i] = 0
				}
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%v of %d bytes: wrong items", shape, item)
			}
			// And back: dst is the one with the odd strides.
			back := make([]byte, len(src))
			nd.Copy(back, off, ss, got, 0, ds, shape, item)
			if !bytes.Equal(back, src) {
				t.Errorf("%v of %d bytes: not the same after going back", shape, item)
			}
		}
	}
}

func ends(at, n, limit []int64) []int64 {
	end := make([]int64, len(at))
	for i := range end {
		end[i] = min(at[i]+n[i], limit[i])
	}
	return end
}

func FuzzParseSlice(f *testing.F) {
	for _, g := range goldens(f) {
		f.Add(g.Slice, int64(3), int64(5))
	}
	f.Add("::-9223372036854775808,-1", int64(math.MaxInt64), int64(1))
	f.Fuzz(func(t *testing.T, text string, n, m int64) {
		s, err := nd.ParseSlice(text)
		if err != nil {
			if !errors.Is(err, nd.ErrSyntax) {
				t.Fatal(err)
			}
			return
		}
		b, err := s.Resolve([]int64{n, m})
		if err != nil {
			return
		}
		for i, length := range []int64{n, m} {
			lo, hi := b.Cover(i)
			if c := b.Count(i); lo < 0 || hi > length || hi-lo < c || (lo == hi) != (c == 0) {
				t.Fatalf("axis %d of %d: %v covers [%d, %d)", i, length, b, lo, hi)
			}
		}
		if items, err := b.Items(); err != nil || items > 0 && items > n*m {
			t.Fatalf("%d items, %v", items, err)
		}
	})
}

func BenchmarkCopyPart(b *testing.B) {
	for _, c := range []struct {
		name, slice string
		item        int
	}{{"rows", ":, :", 4}, {"box", "10:200, 5:250", 4}, {"step", ":, ::2", 4}, {"reversed", "::-1, ::-1", 8}, {"odd", ":, ::2", 12}} {
		b.Run(c.name, func(b *testing.B) {
			shape := []int64{256, 256}
			box := resolve(b, c.slice, shape)
			src := make([]byte, 256*256*c.item)
			items, _ := box.Items()
			dst := make([]byte, items*int64(c.item))
			counts := box.Counts()
			var p nd.Part
			b.SetBytes(int64(len(dst)))
			b.ReportAllocs()
			for b.Loop() {
				if !box.Part(&p, []int64{0, 0}, shape) {
					b.Fatal("nothing")
				}
				box.CopyPart(dst, counts, src, shape, &p, c.item)
			}
		})
	}
}

func BenchmarkTranspose(b *testing.B) {
	for _, n := range []int64{1000, 1024} {
		for _, item := range []int{1, 4, 8} {
			b.Run(fmt.Sprintf("%dx%d", n, item), func(b *testing.B) {
				shape := []int64{n, n}
				src, dst := make([]byte, n*n*int64(item)), make([]byte, n*n*int64(item))
				b.SetBytes(int64(len(dst)))
				for b.Loop() {
					nd.Copy(dst, 0, nd.Strides(shape, item), src, 0, nd.StridesF(shape, item), shape, item)
				}
			})
		}
	}
}
