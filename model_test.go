package farread

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// stocked is a client of the objects of kinds, none of which keeps much of its opening.
func stocked(t *testing.T) *Client {
	t.Helper()
	c, b := remote(Config{NoHedge: true, Policy: rangeio.Lean()})
	for key, p := range fixtures(t) {
		put(t, b, key, p, nil)
	}
	return c
}

func opened[T any](t *testing.T, c *Client, key string, o AnyOptions) T {
	t.Helper()
	d, err := c.OpenAny(t.Context(), "s3://b/"+key, o)
	if err != nil {
		t.Fatal(err)
	}
	as, ok := d.(T)
	if !ok {
		t.Fatalf("%s is a %T that can %q", key, d, capabilities(d))
	}
	return as
}

// costs holds a plan against what the read then takes.
func costs(t *testing.T, c *Client, what string, p Plan, err error, read func() (int, error)) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	before := c.Stats()
	n, err := read()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	got, want := minus(c.Stats(), before), p.Cost()
	if !want.Estimated && (got.Requests != int64(want.Requests) || got.Bytes != want.Bytes || got.Phases != int64(want.Phases)) {
		t.Errorf("%s: planned %+v, took %+v", what, want, got)
	}
	if p.Size >= 0 && p.Size != int64(n) {
		t.Errorf("%s: planned %d bytes, got %d", what, p.Size, n)
	}
	for _, r := range p.Requests {
		if !strings.Contains(r.Object, "/") {
			t.Errorf("%s: a request of %q", what, r.Object)
		}
	}
}

func TestSlicers(t *testing.T) {
	t.Parallel()
	c := stocked(t)
	for _, key := range []string{"made/c.npy", "made/f.npy"} {
		s := opened[Slicer](t, c, key, AnyOptions{})
		text, err := b2nd.ParseSlice("1:4, ::-1")
		if err != nil {
			t.Fatal(err)
		}
		box, err := text.Resolve(s.Shape())
		if err != nil {
			t.Fatal(err)
		}
		n, err := s.SizeOf(box)
		if err != nil || n != 48 || s.DType().String() != "<i4" {
			t.Errorf("%d bytes of %s, %v", n, s.DType(), err)
		}
		dst := make([]byte, n)
		plan, err := s.ExplainSlice(t.Context(), box)
		costs(t, c, key, plan, err, func() (int, error) { return len(dst), s.ReadSlice(t.Context(), dst, box) })
		var got []byte
		for i := 0; i < len(dst); i += 4 {
			got = append(got, dst[i])
		}
		if d := cmp.Diff([]byte{7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12}, got); d != "" {
			t.Error(d)
		}
		for _, bad := range []b2nd.Box{b2nd.Whole([]int64{5}), b2nd.Whole([]int64{6, 4})} {
			_, err := s.SizeOf(bad)
			_, eerr := s.ExplainSlice(t.Context(), bad)
			if err == nil || eerr == nil || s.ReadSlice(t.Context(), nil, bad) == nil {
				t.Errorf("a box of %v is taken: %v, %v", bad.OutShape, err, eerr)
			}
		}
	}
	for _, key := range []string{"formats/b2nd/testdata/nd3.b2nd", "formats/b2nd/testdata/sparse_dir.b2nddir/"} {
		s := opened[Slicer](t, c, key, AnyOptions{})
		a, ok := s.Handle().(*Array)
		if !ok {
			t.Fatalf("%T", s.Handle())
		}
		box := b2nd.Whole(s.Shape())
		n, err := s.SizeOf(box)
		if err != nil {
			t.Fatal(err)
		}
		dst, want := make([]byte, n), make([]byte, n)
		plan, err := s.ExplainSlice(t.Context(), box)
		costs(t, c, key, plan, err, func() (int, error) { return len(dst), s.ReadSlice(t.Context(), dst, box) })
		if err := a.ReadSlice(t.Context(), want, box); err != nil || !bytes.Equal(dst, want) {
			t.Errorf("%s: other items, %v", key, err)
		}
	}
}

// TestChunkers: stored chunks decode to what the frame says, also those that are not
// stored, and come from a shared cache the second time.
func TestChunkers(t *testing.T) {
	t.Parallel()
	c := stocked(t)
	specials := "formats/cframe/testdata/fixtures/cframe/special_mixed.b2frame"
	p, err := os.ReadFile(specials)
	if err != nil {
		t.Fatal(err)
	}
	b, _, err := c.Bucket(t.Context(), "s3://b/")
	if err != nil {
		t.Fatal(err)
	}
	put(t, b, specials, p, nil)
	keys := []string{specials, "formats/b2nd/testdata/nd3.b2nd", "formats/b2nd/testdata/sparse_dir.b2nddir/",
		"formats/cframe/testdata/fixtures/cframe/sparse_plain.b2dir/", "formats/cframe/testdata/fixtures/upstream/varchunks-lz4-3.0.0.b2frame",
		"formats/cframe/testdata/fixtures/upstream/vlblocks-lz4-fixed-3.0.0.b2frame"}
	cache := formats.NewCache(1 << 20)
	for _, key := range keys {
		d := opened[Chunker](t, c, key, AnyOptions{Cache: cache})
		f, ok := d.Handle().(*Frame)
		if a, is := d.Handle().(*Array); is {
			f, ok = a.Source, true
		}
		if !ok {
			t.Fatalf("%T", d.Handle())
		}
		for i := range d.Chunks() {
			var stored []byte
			plan, err := d.ExplainStored(t.Context(), i)
			plan.Size = -1 // the most that it can be
			costs(t, c, key, plan, err, func() (int, error) {
				stored, err = d.AppendStored(t.Context(), []byte("before"), i)
				return 0, err
			})
			want, err := f.AppendChunk(t.Context(), nil, int(i))
			if err != nil {
				t.Fatal(err)
			}
			h, err := blosc.ParseHeader(stored[6:])
			if err != nil || string(stored[:6]) != "before" || h.CBytes != len(stored)-6 {
				t.Fatalf("%s: chunk %d: %+v, %v", key, i, h, err)
			}
			got, err := blosc.DecodeOptions{TypeSize: f.Info().TypeSize}.AppendDecoded(nil, stored[6:])
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: chunk %d: %d bytes, %d wanted, %v", key, i, len(got), len(want), err)
			}
			before := c.Stats()
			again, err := d.AppendStored(t.Context(), []byte("before"), i)
			if err != nil || !bytes.Equal(again, stored) {
				t.Errorf("%s: chunk %d again: %v", key, i, err)
			}
			lent, err := d.Stored(t.Context(), i)
			if kept := d.KeptStored(i); err != nil || !bytes.Equal(lent, stored[6:]) || (kept != nil) == f.Info().Sparse || kept != nil && !bytes.Equal(kept, lent) {
				t.Errorf("%s: chunk %d lent: %d bytes, %d kept, %v", key, i, len(lent), len(kept), err)
			}
			if n := c.Stats().Requests - before.Requests; n > 0 && !f.Info().Sparse {
				t.Errorf("%s: chunk %d again: %d requests", key, i, n)
			}
		}
		for _, i := range []int64{-1, d.Chunks(), 1 << 40} {
			got, err := d.AppendStored(t.Context(), []byte("before"), i)
			_, eerr := d.ExplainStored(t.Context(), i)
			if !errors.Is(err, formats.ErrNoEntry) || !errors.Is(eerr, formats.ErrNoEntry) || string(got) != "before" {
				t.Errorf("%s: chunk %d: %v, %v", key, i, err, eerr)
			}
		}
	}
	if cache.Size() == 0 {
		t.Error("nothing is kept")
	}
	k := opened[Chunker](t, c, "formats/all/testdata/chunk.blosc", AnyOptions{})
	plan, err := k.ExplainStored(t.Context(), 0)
	costs(t, c, "chunk", plan, err, func() (int, error) {
		p, err := k.AppendStored(t.Context(), nil, 0)
		return len(p), err
	})
}

// TestOneCacheForManyArrays: two openings of one array share its blocks, and arrays
// share the budget.
func TestOneCacheForManyArrays(t *testing.T) {
	t.Parallel()
	c, b := remote(Config{NoHedge: true, Policy: rangeio.Lean()})
	array(t, b, "x.b2nd")
	array(t, b, "y.b2nd")
	cache := formats.NewCache(4 << 20)
	read := func(key string) int64 {
		s := opened[Slicer](t, c, key, AnyOptions{Cache: cache})
		start, stop := make([]int64, len(s.Shape())), s.Shape()
		for i := range stop {
			start[i], stop[i] = stop[i]/2, stop[i]/2+1
		}
		box := b2nd.Sub(start, stop)
		n, err := s.SizeOf(box)
		if err != nil {
			t.Fatal(err)
		}
		before := c.Stats().Requests
		if err := s.ReadSlice(t.Context(), make([]byte, n), box); err != nil {
			t.Fatal(err)
		}
		return c.Stats().Requests - before
	}
	first, second := read("x.b2nd"), read("x.b2nd")
	one := cache.Size()
	if first == 0 || second != 0 || one == 0 {
		t.Errorf("%d requests, then %d; %d bytes kept", first, second, one)
	}
	if other := read("y.b2nd"); other == 0 || cache.Size() <= one {
		t.Errorf("another array: %d requests, %d bytes kept after %d", other, cache.Size(), one)
	}
}

func TestImagers(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"formats/gulp/testdata/chunks/ingest_gulpio2_gray5/data_1.gulp", "formats/gulp/testdata/chunks/ingest_gulpio2_gray5/"} {
		c := stocked(t)
		m := opened[Imager](t, c, key, AnyOptions{})
		entries := entriesOf(t, m, "")
		if len(entries) == 0 {
			t.Fatal("no ids")
		}
		for _, e := range entries {
			n, err := m.Images(t.Context(), e.Name)
			if err != nil || n != e.Images {
				t.Fatalf("%s: %d images, %v", e.Name, n, err)
			}
			var all []byte
			plan, err := m.ExplainImages(t.Context(), e.Name, 0, n, 1)
			costs(t, c, key, plan, err, func() (int, error) {
				err := m.EachImage(t.Context(), e.Name, 0, n, 1, func(_ int, p []byte) error { all = append(all, p...); return nil })
				return len(all), err
			})
			var one []byte
			for i := range n {
				var media string
				if one, media, err = m.AppendImage(t.Context(), one, e.Name, i); err != nil || media != "image/jpeg" {
					t.Errorf("%s %d: %q, %v", e.Name, i, media, err)
				}
			}
			if !bytes.Equal(one, all) || int64(len(all)) != e.Size {
				t.Errorf("%s: %d bytes one by one, %d together, %d said", e.Name, len(one), len(all), e.Size)
			}
		}
		checkAllImages(t, c, key, m, entries)
		if _, err := m.Images(t.Context(), "none"); !errors.Is(err, formats.ErrNoEntry) {
			t.Error(err)
		}
		if p, _, err := m.AppendImage(t.Context(), []byte("before"), "none", 0); !errors.Is(err, formats.ErrNoEntry) || string(p) != "before" {
			t.Error(err)
		}
	}
}

// checkAllImages reads all images at once, and those of each id downwards, by twos.
func checkAllImages(t *testing.T, c *Client, key string, m Imager, entries []Entry) {
	t.Helper()
	var all, want []byte
	plan, err := m.ExplainImagesOfAll(t.Context())
	costs(t, c, key, plan, err, func() (int, error) {
		err := m.EachImageOfAll(t.Context(), func(id string, i int, p []byte) error {
			all = append(append(all, id...), p...)
			return nil
		})
		return int(plan.Size), err
	})
	n := plan.Size
	for _, e := range entries {
		n -= e.Size
		for i := range e.Images {
			want = append(want, e.Name...)
			if want, _, err = m.AppendImage(t.Context(), want, e.Name, i); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n != 0 || !bytes.Equal(all, want) {
		t.Errorf("%s: other images", key)
	}
	for _, e := range entries {
		var down, want []byte
		for i := e.Images - 1; i > -1; i -= 2 {
			if want, _, err = m.AppendImage(t.Context(), want, e.Name, i); err != nil {
				t.Fatal(err)
			}
		}
		plan, err := m.ExplainImages(t.Context(), e.Name, e.Images-1, -1, -2)
		costs(t, c, key, plan, err, func() (int, error) {
			err := m.EachImage(t.Context(), e.Name, e.Images-1, -1, -2, func(_ int, p []byte) error { down = append(down, p...); return nil })
			return len(down), err
		})
		if !bytes.Equal(down, want) {
			t.Errorf("%s %s: other images downwards", key, e.Name)
		}
		_, err = m.ExplainImages(t.Context(), e.Name, 0, e.Images, 0)
		if eerr := m.EachImage(t.Context(), e.Name, 0, e.Images, 0, nil); !errors.Is(err, formats.ErrNoEntry) || !errors.Is(eerr, formats.ErrNoEntry) {
			t.Errorf("%s %s: no step: %v, %v", key, e.Name, err, eerr)
		}
	}
}

func TestMediaTypes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"\xff\xd8\xff\xe0": "image/jpeg", "\x89PNG\r\n\x1a\n": "image/png", "GIF89a": "image/gif",
		"": "application/octet-stream", "<html>": "application/octet-stream", "<svg xmlns='http://www.w3.org/2000/svg'>": "application/octet-stream",
		"text": "application/octet-stream", "%PDF-": "application/octet-stream"} {
		if got := MediaType([]byte(text)); got != want {
			t.Errorf("%q: %s", text, got)
		}
	}
}

func TestItemers(t *testing.T) {
	t.Parallel()
	c := stocked(t)
	for _, key := range []string{"formats/cframe/testdata/fixtures/upstream/vlblocks-lz4-fixed-3.0.0.b2frame",
		"formats/cframe/testdata/fixtures/upstream/varchunks-lz4-3.0.0.b2frame", "formats/bloscpack/testdata/fixtures/bloscpack/append_meta.blp"} {
		d := opened[Itemer](t, c, key, AnyOptions{})
		if d.Items() < 0 { // the first read counts them
			if _, err := d.AppendItem(t.Context(), nil, 0); err != nil {
				t.Fatal(err)
			}
		}
		n := d.Items()
		var all, one []byte
		plan, err := d.ExplainItems(t.Context(), 0, n)
		next := int64(0)
		costs(t, c, key, plan, err, func() (int, error) {
			return 0, d.EachItem(t.Context(), 0, n, func(i int64, p []byte) error {
				if i != next {
					t.Errorf("%s: item %d after %d", key, i, next-1)
				}
				next++
				all = append(all, p...)
				return nil
			})
		})
		for i := range n {
			if one, err = d.AppendItem(t.Context(), one, i); err != nil {
				t.Fatal(err)
			}
		}
		in, err := d.Describe(t.Context(), DescribeOptions{})
		if err != nil || n < 2 || next != n || !bytes.Equal(one, all) || int64(len(all)) != in.NBytes {
			t.Errorf("%s: %d items of %d, %d and %d bytes, %d said, %v", key, next, n, len(all), len(one), in.NBytes, err)
		}
		for _, i := range []int64{-1, n, 1 << 40} {
			if p, err := d.AppendItem(t.Context(), []byte("before"), i); !errors.Is(err, formats.ErrNoEntry) || string(p) != "before" {
				t.Errorf("%s: item %d: %v", key, i, err)
			}
		}
		stop := errors.New("stop")
		if err := d.EachItem(t.Context(), 0, n, func(int64, []byte) error { return stop }); err != stop { // the very same
			t.Errorf("%s: %v", key, err)
		}
		if _, err := d.ItemNumber(t.Context(), "none"); !errors.Is(err, formats.ErrNoEntry) {
			t.Error(err)
		}
	}
}

func TestRangers(t *testing.T) {
	t.Parallel()
	c, b := remote(Config{NoHedge: true})
	p := append(npyFileOf(t, false), noise(5<<20)...)
	put(t, b, "d/x.npy", p, nil)
	r := opened[Ranger](t, c, "d/x.npy", AnyOptions{})
	dst := make([]byte, 4<<20)
	plan, err := r.ExplainRange(t.Context(), 1<<20, int64(len(dst)))
	costs(t, c, "range", plan, err, func() (int, error) { return len(dst), r.ReadRange(t.Context(), dst, 1<<20) })
	if !bytes.Equal(dst, p[1<<20:][:len(dst)]) {
		t.Error("other bytes")
	}
	for _, bad := range [][2]int64{{-1, 1}, {0, -1}, {0, int64(len(p)) + 1}, {1 << 62, 1 << 62}} {
		if _, err := r.ExplainRange(t.Context(), bad[0], bad[1]); !errors.Is(err, objstore.ErrInvalid) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

// TestFolderEntries: one level, in key order, to be gone on with.
func TestFolderEntries(t *testing.T) {
	t.Parallel()
	c, b := remote(Config{NoHedge: true})
	for _, key := range []string{"f/a.b2nd", "f/b/c/d", "f/b/e", "f/z"} {
		put(t, b, key, []byte("x"), nil)
	}
	for _, uri := range []string{"f/", "f"} {
		d := opened[Dataset](t, c, uri, AnyOptions{})
		if d.Format() != "" {
			t.Errorf("%q", d.Format())
		}
		var names []string
		for _, e := range entriesOf(t, d, "") {
			names = append(names, e.Name+" "+e.Format)
		}
		if diff := cmp.Diff([]string{"a.b2nd b2nd", "b/ ", "z "}, names); diff != "" {
			t.Error(diff)
		}
		if rest := entriesOf(t, d, "b/"); len(rest) != 1 || rest[0].Name != "z" {
			t.Errorf("%+v", rest)
		}
		if _, err := d.Verify(t.Context(), nil); !errors.Is(err, formats.ErrUnsupported) {
			t.Error(err)
		}
	}
	none := opened[Dataset](t, c, "none/", AnyOptions{})
	if _, err := none.Describe(t.Context(), DescribeOptions{}); !errors.Is(err, objstore.ErrNotFound) {
		t.Error(err)
	}
	if err := firstError(t.Context(), none, ""); !errors.Is(err, objstore.ErrNotFound) {
		t.Error(err)
	}
}
