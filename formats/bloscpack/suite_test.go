package bloscpack_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/formats/formattest"
	"github.com/farread/farread/internal/bufpool"
	"github.com/farread/farread/rangeio"
)

var _ = flag.Bool("update", false, "rewrite golden traces")

// everything is the content of a file, by each way of reading.
func everything(ctx context.Context, f *bloscpack.File) ([]byte, error) {
	var out []byte
	err := f.Each(ctx, 0, f.Len(), func(_ int64, p []byte) error {
		out = append(fmt.Appendf(out, "%d:", len(p)), p...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if _, err := f.Verify(ctx, nil); err != nil {
		return nil, err
	}
	var again []byte
	for i := range f.Len() {
		p, err := f.AppendItem(ctx, nil, i)
		if err != nil {
			return nil, err
		}
		again = append(fmt.Appendf(again, "%d:", len(p)), p...)
	}
	if !bytes.Equal(out, again) {
		return nil, errors.New("items differ from Each") // an error of no allowed kind
	}
	err = f.Entries(ctx, 0, f.Len(), true, func(i int64, e bloscpack.Entry) error {
		if e.Missing() {
			return fmt.Errorf("entry %d of a whole file: %+v", i, e)
		}
		return nil
	})
	return out, err
}

func suite(name string, data []byte, stride int) formattest.Suite {
	var good []byte
	return formattest.Suite{
		Objects: []formattest.Object{{Name: name, Data: data}},
		Open: func(ctx context.Context, r []rangeio.Reader) (formattest.Read, error) {
			f, err := bloscpack.Open(ctx, r[0], bloscpack.Options{Parallel: 2, Window: 1, Head: 1})
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context) ([]byte, error) { return everything(ctx, f) }, nil
		},
		// Chunks have checksums, but their number has none: a damaged number may leave
		// some out. (Files of version 4 may have gaps, and those of version 3 bytes
		// behind the last chunk.)
		Check: func(got []byte) error {
			if good == nil {
				f, err := bloscpack.Open(context.Background(), reader(data), bloscpack.Options{})
				if err != nil {
					return err
				}
				if good, err = everything(context.Background(), f); err != nil {
					return err
				}
			}
			if !bytes.HasPrefix(good, got) {
				return fmt.Errorf("%d bytes that are no part of the good ones", len(got))
			}
			return nil
		},
		MaxAlloc: 8 << 20, // windows, and buffers that decoders keep
		Stride:   stride,
	}
}

func TestSuite(t *testing.T) {
	for _, c := range []struct {
		name   string
		stride int
	}{
		{"bloscpack/one_chunk.blp", 3}, {"bloscpack/empty_input.blp", 1}, {"bloscpack/cs_sha256_off0.blp", 41},
		{"bloscpack/meta_zlib_crc32.blp", 41}, {"bloscpack-vl/valid/worked_example.blp", 1}, {"bloscpack-vl/valid/sum_crc32.blp", 5},
		{"bloscpack-vl/valid/order_reversed.blp", 31}, {"bloscpack-vl/valid/fixed_size_no_offsets.blp", 5},
	} {
		t.Run(filepath.Base(c.name), func(t *testing.T) { formattest.Run(t, suite(c.name, load(t, c.name), c.stride)) })
	}
	if n := bufpool.Loans(); n != 0 {
		t.Errorf("%d buffers are still lent", n)
	}
}

// TestTraces pins the cost of reads: the ranges that are asked for, in order.
func TestTraces(t *testing.T) {
	var tr formattest.Trace
	traced := func(name string, p []byte, o bloscpack.Options) *bloscpack.File {
		f, err := bloscpack.Open(t.Context(), tr.Wrap("blp", reader(p)), o)
		if err != nil {
			t.Fatal(err)
		}
		tr.Step("open "+name, fmt.Sprintf("%d bytes, %d chunks from %d on", len(p), f.Len(), f.Body()))
		return f
	}
	read := func(what string, f *bloscpack.File, i, j int64) {
		items, err := f.AppendItems(t.Context(), nil, i, j)
		if err != nil {
			t.Fatal(err)
		}
		all := bytes.Join(items, nil)
		tr.Step(what, fmt.Sprintf("%d items, sha256 %.16s", len(items), digest(all)))
		plan, err := f.ExplainItems(t.Context(), i, j)
		if err != nil {
			t.Fatal(err)
		}
		var notes []string
		for _, q := range plan {
			about := ""
			if q.Estimated {
				about = "about "
			}
			notes = append(notes, fmt.Sprintf("explained: phase %d, %s%d+%d, %s", q.Phase, about, q.Off, q.Len, q.Why))
		}
		tr.Step("explained", notes...)
	}
	one := func(f *bloscpack.File, i int64) {
		if _, err := f.AppendItem(t.Context(), nil, i); err != nil {
			t.Fatal(err)
		}
		tr.Step(fmt.Sprintf("item %d", i))
	}

	f := traced("a file of version 3", load(t, "bloscpack/append_meta.blp"), bloscpack.Options{})
	one(f, 2)
	read("chunks 1 to 3", f, 1, 4)
	f = traced("items in reverse order", load(t, "bloscpack-vl/valid/order_reversed.blp"), bloscpack.Options{})
	one(f, 1)
	read("all of them", f, 0, f.Len())

	var items [][]byte
	var order []int
	for i := range 20_000 {
		items, order = append(items, bytes.Repeat([]byte("x"), 10+i%100)), append(order, i)
	}
	large := byHand(t, bloscpack.Adler32, items, order, 0)
	f = traced("a large file", large, bloscpack.Options{})
	one(f, 15_000)
	one(f, 15_001)
	read("items 18 000 to 18 099", f, 18_000, 18_100)
	f = traced("the same for an item", large, bloscpack.Options{Item: 15_000})
	one(f, 15_000)
	if _, err := f.Verify(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	tr.Step("verify")

	p := samples(300_000)
	f = traced("without a table", write(t, bloscpack.WriteOptions{ChunkSize: 30_000, NoOffsets: true, Encode: encodeLZ4()}, [][]byte{p}), bloscpack.Options{})
	one(f, 7)
	one(f, 2)
	read("all of it", f, 0, f.Len())
	long := bloscpack.WriteOptions{ChunkSize: 100_000, Metadata: string(bytes.Repeat([]byte("long metadata "), 10_000)), Meta: bloscpack.MetaOptions{Plain: true}, Encode: blosc.EncodeOptions{Codec: blosc.LZ4}}
	f = traced("metadata of 140 KB with room for more", write(t, long, [][]byte{p}), bloscpack.Options{})
	one(f, 1)

	started := func(f *bloscpack.File, i int64) {
		s, err := f.StartItem(t.Context(), i)
		if err != nil {
			t.Fatal(err)
		}
		tr.Step(fmt.Sprintf("item %d started", i), fmt.Sprintf("%d bytes", s.Len()))
		if _, err := s.Append(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		tr.Step("the rest of it")
	}
	noise := make([]byte, 200_000)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise) // never fails
	f = traced("short, long and empty items, and one that gets short", byHand(t, bloscpack.Adler32, [][]byte{noise[:100], noise, nil, make([]byte, 1<<20)}, []int{0, 1, 2, 3}, 0), bloscpack.Options{Head: 1})
	for i := range f.Len() {
		started(f, i)
	}
	tr.Golden(t, filepath.Join("testdata", "read.trace"))
}

// A cutting reader fails every read after the first n.
type cutting struct {
	rangeio.Reader
	left *atomic.Int64
}

var errCut = errors.New("cut")

func (c cutting) ReadRanges(ctx context.Context, spans []rangeio.Span) error {
	if c.left.Add(-1) < 0 {
		return errCut
	}
	return c.Reader.ReadRanges(ctx, spans)
}

// TestReadersErrors keep their identity in every read.
func TestReadersErrors(t *testing.T) {
	for _, name := range []string{"bloscpack/meta_zlib_crc32.blp", "bloscpack-vl/valid/order_reversed.blp", "bloscpack/cs_sha256_off0.blp"} {
		p := load(t, name)
		failed := 0
		for n := 0; ; n++ {
			var left atomic.Int64
			left.Store(int64(n))
			f, err := bloscpack.Open(t.Context(), cutting{reader(p), &left}, bloscpack.Options{Head: 1, Window: 1})
			if err == nil {
				_, err = everything(t.Context(), f)
			}
			if err == nil {
				_, err = f.Salvage(t.Context(), func(int64, []byte, []byte) error { return nil })
			}
			if err == nil {
				break
			}
			if failed++; !errors.Is(err, errCut) {
				t.Fatalf("%s after %d reads: %v", name, n, err)
			}
		}
		if failed < 3 {
			t.Errorf("%s: %d reads in all", name, failed)
		}
	}
	if n := bufpool.Loans(); n != 0 {
		t.Errorf("%d buffers are still lent", n)
	}
}
