package pack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/objstore/simstore"
)

// TestNames: order, ids, labels and kinds of names on the edge.
func TestNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b  string
		order int
	}{{"f1", "f1", 0}, {"f1", "f2", -1}, {"f2", "f10", -1}, {"f01", "f1", -1}, {"f1", "f1a", -1}, {"a1b2", "a1b10", -1}, {"", "a", -1}, {"7", "7", 0}, {"f9", "g1", -1}} {
		sign := func(n int) int { return min(max(n, -1), 1) }
		if got, back := sign(natural(c.a, c.b)), sign(natural(c.b, c.a)); got != c.order || back != -c.order {
			t.Errorf("%q and %q: %d, %d", c.a, c.b, got, back)
		}
	}
	for id, want := range map[string]string{"x": "", "/x": "", "cats/x": "cats", "a/cats/x": "cats"} {
		if got := labelOf(id); got != want {
			t.Errorf("%q: label %q", id, got)
		}
	}
	for name, ok := range map[string]bool{"a:/x": false, "Z:\\x": false, "z:x": false, "A:": false, "1:/x": true, "ab:/x": true, "{:/x": true, "@:/x": true} {
		if _, err := cleanName(name, DefaultLimits()); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
	for head, want := range map[string]kind{
		"\x50\x2A\x4D\x18": kindZstd, "\x5F\x2A\x4D\x18": kindZstd, "\x40\x2A\x4D\x18": kindNone, "\x50\x2A\x4D": kindNone, "\x50\x2A\x4D\x19": kindNone,
	} {
		if got := detect([]byte(head), "k"); got != want {
			t.Errorf("%x: %s", head, got)
		}
	}
	if got := ByContent.String() + " " + Lines.String(); got != "items lines" {
		t.Error(got)
	}
}

// TestLabelsByID: ids may be numbers. The last part of an id finds a label only if no
// other id has that part.
func TestLabelsByID(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{`702766`: "702766", `"a"`: "a", `-1.5`: "-1.5", `true`: "", `{}`: "", `null`: "", `[1]`: ""} {
		if got, ok := idText(json.RawMessage(raw)); got != want || ok != (want != "") && raw != "null" {
			t.Errorf("%s: %q, %v", raw, got, ok)
		}
	}
	l := newLabels("x", DefaultLimits())
	if err := l.add("x", []fields{{"n": json.RawMessage("1")}}); err != nil {
		t.Fatal(err)
	}
	for _, alone := range []bool{false, true} {
		got, err := l.of(subject{id: "d/x", alone: alone}, nil)
		unused, _, _ := l.unused()
		if err != nil || len(got) != 1 || strings.Contains(string(got[0]), `"n"`) != alone || (unused == 0) != alone {
			t.Errorf("alone %v: %s, %v, %d unused", alone, got, err, unused)
		}
	}
}

// TestFolderMembers: the marker of a folder is not one of its files. If an object goes
// while its folder is packed, the event of the folder is not dropped.
func TestFolderMembers(t *testing.T) {
	t.Parallel()
	b := memstore.New(memstore.Config{})
	put := func(key string) objstore.Info {
		t.Helper()
		info, err := objstore.Put(t.Context(), b, key, strings.NewReader("x"[:len(key)%2]), objstore.PutOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	p := newPrefix(b, "f/", Options{AllFiles: true})
	for _, c := range []struct {
		info    objstore.Info
		members int
	}{{objstore.Info{Key: "f/"}, 0}, {objstore.Info{Key: "f/d/"}, 0}, {put("f/a"), 1}, {put("f/bc"), 2}} {
		if err := p.add("f/", c.info); err != nil || len(p.members) != c.members {
			t.Errorf("%s: %v, %d members", c.info.Key, err, len(p.members))
		}
	}
	for _, change := range []func() error{func() error { put("f/a"); return nil }, func() error { return b.Delete(t.Context(), "f/a") }} {
		was := put("f/a")
		p := newPrefix(b, "f/", Options{AllFiles: true})
		if err := p.add("f/", was); err != nil {
			t.Fatal(err)
		}
		var got []byte
		read := func(_ File, r io.Reader) (err error) {
			got, err = io.ReadAll(r)
			return err
		}
		if err := p.Each(t.Context(), read); err != nil || len(got) != int(was.Size) {
			t.Errorf("%q, %v", got, err)
		}
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if err := p.Each(t.Context(), read); !errors.Is(err, objstore.ErrUnavailable) || errors.Is(err, objstore.ErrChanged) || errors.Is(err, objstore.ErrNotFound) {
			t.Errorf("%v", err)
		}
	}
}

// anyBucket is a bucket of a type that cannot be compared.
type anyBucket struct {
	objstore.Bucket

	_ []byte
}

// TestFolderAhead: small objects of a folder are read 18 side by side, handed on in
// order, and left alone once the reading is cancelled.
func TestFolderAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		begun := map[time.Duration]int{}
		start := time.Now()
		b := objstore.Chain(memstore.New(memstore.Config{}), simstore.Latency(30*time.Millisecond), simstore.Replace(func(_ context.Context, c simstore.Call) error {
			if c.Op == "get" {
				mu.Lock()
				defer mu.Unlock()
				begun[time.Since(start)]++
			}
			return nil
		}))
		const n = 100
		for i := range n {
			if _, err := objstore.Put(t.Context(), b, fmt.Sprintf("f/%d", i), strings.NewReader(strconv.Itoa(i)), objstore.PutOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		s, err := Prefix(t.Context(), anyBucket{Bucket: b}, "f/", Options{AllFiles: true})
		if err != nil {
			t.Fatal(err)
		}
		at, mine := 0, errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := n + 1
		read := func(e File, r io.Reader) error {
			p, err := io.ReadAll(r)
			if want := strconv.Itoa(at); err != nil || e.Name != want || string(p) != want {
				t.Fatalf("%s: %q, %v; want %s", e.Name, p, err, want)
			}
			if at++; at == stop {
				cancel(mine)
			}
			return nil
		}
		if err := s.Each(t.Context(), read); err != nil || at != n {
			t.Errorf("%d objects, %v", at, err)
		}
		for when, k := range begun {
			if k > 18 || len(begun) > (n+17)/18 {
				t.Errorf("%d requests at %v, %d times", k, when, len(begun))
			}
		}
		clear(begun)
		at, stop = 0, 1
		if err := s.Each(ctx, read); !errors.Is(err, mine) && !errors.Is(err, context.Canceled) || at != 1 {
			t.Errorf("cancelled: %v after %d", err, at)
		}
		if len(begun) > 2 {
			t.Errorf("cancelled: %d times requests", len(begun))
		}
	})
}

// TestLayouts: what an output records of how it was made. A text that changes makes
// every output again, with its next event.
func TestLayouts(t *testing.T) {
	t.Parallel()
	lines, chunks := &Items{By: Lines}, &Items{By: Chunks}
	for want, c := range map[string]struct {
		j  Job
		it *Items
	}{
		itemLayout + " lines":                {Job{}, lines},
		itemLayout + " lines lz4-5":          {Job{Items: ItemWrite{Encode: &blosc.EncodeOptions{Codec: blosc.LZ4, Level: 5}}}, lines},
		itemLayout + " lines none":           {Job{Items: ItemWrite{NoChecksum: true}}, lines},
		itemLayout + " lines crc32":          {Job{Items: ItemWrite{Checksum: bloscpack.CRC32}}, lines},
		itemLayout + " lines of 4":           {Job{Items: ItemWrite{TypeSize: 4, Checksum: bloscpack.Adler32}}, lines},
		itemLayout + " chunks 1048576":       {Job{}, chunks},
		itemLayout + " chunks 4096 of 2 md5": {Job{Items: ItemWrite{Chunk: 4096, TypeSize: 2, Checksum: bloscpack.MD5}}, chunks},
	} {
		if got := c.j.itemLayout(c.it); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if _, err := chunks.writeChunks(t.Context(), nil, bloscpack.WriteOptions{}, ItemWrite{Chunk: maxItemChunk + 1}); !errors.Is(err, formats.ErrTooLarge) {
		t.Error(err)
	}
	for text, want := range map[string]blosc.EncodeOptions{"": DefaultEncode(), "zstd": DefaultEncode(), "zstd-9": {Codec: blosc.Zstd, Level: 9}, "lz4": {Codec: blosc.LZ4}, "lz4-3": {Codec: blosc.LZ4, Level: 3}} {
		if got, err := ParseCodec(text); err != nil || got.Codec != want.Codec || got.Level != want.Level {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

// TestJPEGSegments: a segment that is longer than what is left of its file.
func TestJPEGSegments(t *testing.T) {
	t.Parallel()
	err := checkJPEG([]byte("\xff\xd8\xff\xe0\x00\x09"))
	if !errors.Is(err, formats.ErrCorrupt) || !strings.Contains(err.Error(), "has 9 bytes, 2 are left") {
		t.Error(err)
	}
}
