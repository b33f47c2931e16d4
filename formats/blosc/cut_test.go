package blosc_test

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/internal/bufpool"
)

// drawCut draws rows of a block of n bytes, n at least 1, and memory for them.
func drawCut(r *rapid.T, n, width int) blosc.Cut {
	unit := rapid.SampledFrom([]int{1, width}).Draw(r, "unit")
	pick := func(most int, name string) int { return rapid.IntRange(0, max(most, 0)/unit).Draw(r, name) * unit }
	c := blosc.Cut{From: pick(n, "from"), To: rapid.IntRange(0, 9).Draw(r, "to")}
	c.Len = pick(n-c.From, "len")
	last, end := c.From+c.Len, c.To+c.Len // ends of the last row
	for i := range c.N {
		c.N[i] = rapid.IntRange(1, 5).Draw(r, "n")
		if c.N[i] == 1 {
			continue
		}
		c.FromStep[i] = pick((n-last)/(c.N[i]-1), "from step")
		c.ToStep[i] = rapid.IntRange(0, 50).Draw(r, "to step") + c.Len
		last, end = last+(c.N[i]-1)*c.FromStep[i], end+(c.N[i]-1)*c.ToStep[i]
	}
	c.Dst = bytes.Repeat([]byte{0xa5}, end+rapid.IntRange(0, 9).Draw(r, "more"))
	return c
}

// rows puts the rows of c, of a decoded block, into dst.
func rows(c *blosc.Cut, dst, block []byte) {
	for i := range c.N[0] {
		for j := range c.N[1] {
			for k := range c.N[2] {
				from := c.From + i*c.FromStep[0] + j*c.FromStep[1] + k*c.FromStep[2]
				copy(dst[c.To+i*c.ToStep[0]+j*c.ToStep[1]+k*c.ToStep[2]:][:c.Len], block[from:])
			}
		}
	}
}

// TestDecodeCut: rows of a block are those of the decoded block, and nothing else is written.
func TestDecodeCut(t *testing.T) {
	before := bufpool.Loans()
	rapid.Check(t, func(r *rapid.T) {
		o := drawOptions(r)
		o.Blosc1, o.Dict = false, false
		src := drawData(r, o.TypeSize)
		chunk, err := blosc.AppendEncoded(nil, src, o)
		if err != nil {
			r.Skip(err)
		}
		x, err := blosc.ParseIndex(chunk)
		if err != nil {
			r.Fatal(err)
		}
		if h := x.Header(); h.Blocks() == 0 || h.VL {
			r.Skip("no blocks")
		}
		i := rapid.IntRange(0, x.Header().Blocks()-1).Draw(r, "block")
		d := blosc.DecodeOptions{TypeSize: o.TypeSize}
		off, n := x.Block(i)
		encoded := chunk[off : off+n]
		var first []byte
		if x.NeedsFirst() {
			first = src[:x.BlockLen(0)]
		}
		block := make([]byte, x.BlockLen(i))
		if err := d.DecodeBlock(block, x, i, encoded, first, nil); err != nil {
			r.Fatal(err)
		}
		c := drawCut(r, len(block), o.TypeSize)
		want := bytes.Clone(c.Dst)
		rows(&c, want, block)
		if err := d.DecodeCut(x, i, encoded, first, nil, c); err != nil || !bytes.Equal(c.Dst, want) {
			r.Fatalf("%+v of %d bytes: %v, or other bytes", c, len(block), err)
		}
	})
	if n := bufpool.Loans(); n != before {
		t.Errorf("%d buffers were not given back", n-before)
	}
}

// TestDecodeCutRefuses: rows outside of a block or of their memory, blocks that are not there, and
// streams that are damaged where no byte is wanted.
func TestDecodeCutRefuses(t *testing.T) {
	src := sample("sine", 4096, 4, 1)
	chunk := encode(t, src, blosc.EncodeOptions{Codec: blosc.LZ4, TypeSize: 4, BlockSize: 1024})
	x, err := blosc.ParseIndex(chunk)
	if err != nil {
		t.Fatal(err)
	}
	off, n := x.Block(1)
	encoded := chunk[off : off+n]
	one := [blosc.CutAxes]int{1, 1, 1}
	good := blosc.Cut{Dst: make([]byte, 64), Len: 16, N: [blosc.CutAxes]int{1, 2, 2}, FromStep: [blosc.CutAxes]int{0, 512, 16}, ToStep: [blosc.CutAxes]int{0, 32, 16}}
	with := func(change func(c *blosc.Cut)) blosc.Cut {
		c := good
		change(&c)
		return c
	}
	const huge = int(^uint(0) >> 1)
	for name, c := range map[string]struct {
		cut   blosc.Cut
		block int
		src   []byte
		want  error
	}{
		"good":              {good, 1, encoded, nil},
		"behind the block":  {with(func(c *blosc.Cut) { c.From = 1024 - 512 - 31 }), 1, encoded, formats.ErrCorrupt},
		"behind Dst":        {with(func(c *blosc.Cut) { c.Dst = c.Dst[:63] }), 1, encoded, formats.ErrCorrupt},
		"before":            {with(func(c *blosc.Cut) { c.From = -4 }), 1, encoded, formats.ErrCorrupt},
		"backwards":         {with(func(c *blosc.Cut) { c.FromStep[2] = -4 }), 1, encoded, formats.ErrCorrupt},
		"none":              {with(func(c *blosc.Cut) { c.N = [blosc.CutAxes]int{} }), 1, encoded, formats.ErrCorrupt},
		"overflow":          {with(func(c *blosc.Cut) { c.FromStep[1] = huge / 2; c.N[1] = 5 }), 1, encoded, formats.ErrCorrupt},
		"overflow of rows":  {with(func(c *blosc.Cut) { c.N[1], c.N[2], c.FromStep, c.ToStep = huge, huge, one, one }), 1, encoded, formats.ErrCorrupt},
		"longer than block": {with(func(c *blosc.Cut) { c.Len, c.N, c.Dst = 2000, one, make([]byte, 2000) }), 1, encoded, formats.ErrCorrupt},
		"no such block":     {good, 4, encoded, formats.ErrNoEntry},
		"no block":          {good, -1, encoded, formats.ErrNoEntry},
		"cut stream":        {good, 1, encoded[:n-1], formats.ErrCorrupt},
		"damaged stream":    {good, 1, append(bytes.Repeat([]byte{0xff}, 8), encoded[8:]...), formats.ErrCorrupt},
	} {
		if err := (blosc.DecodeOptions{}).DecodeCut(x, c.block, c.src, nil, nil, c.cut); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}
