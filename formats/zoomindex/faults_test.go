package zoomindex_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/internal/flawedtest"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// A file on a server that misbehaves: random bytes, so that all versions have the
// same length and only values differ.
const faultySamples = 300_000

// faultyFile is a file without an index and with one, and what its readings give:
// its samples, the least and the greatest of them, and the text of its summaries.
func faultyFile(tb testing.TB, version int) (plain, inside, content []byte) {
	tb.Helper()
	rnd := rand.New(rand.NewPCG(uint64(version), 3))
	p := make([]byte, faultySamples)
	for i := range p {
		p[i] = byte(rnd.Uint32()%240) + byte(5*version)
	}
	for _, indexed := range []bool{false, true} {
		o := zoomcache.WriteOptions{Tracks: []zoomcache.Track{{Number: 1, Codec: zoomcache.Codec{Kind: zoomcache.U8}, Rate: zoomcache.Rate{Num: 1, Den: 1}}}}
		if indexed {
			o.Sink = zoomindex.NewBuilder(o.Tracks, zoomindex.WriteOptions{})
		}
		var b bytes.Buffer
		w, err := zoomcache.NewWriter(&b, o)
		if err == nil {
			err = errors.Join(zoomcache.WriteSamples(w.Track(1), p), w.Close())
		}
		if err != nil {
			tb.Fatal(err)
		}
		plain, inside = inside, slices.Clip(b.Bytes())
	}
	f, err := zoomindex.Open(tb.Context(), reader(plain), zoomcache.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	got, err := faultyReads["summaries"](tb.Context(), f)
	if err != nil {
		tb.Fatal(err)
	}
	return plain, inside, slices.Concat(p, []byte{slices.Min(p), slices.Max(p)}, got[faultySamples+2])
}

func samplesAt(ctx context.Context, f *zoomindex.File, from, to int64) (map[int][]byte, error) {
	var out []byte
	err := f.EachPacket(ctx, 1, from, to, func(p *zoomcache.Packet) error {
		if p.Offset(0) != from+int64(len(out)) {
			return fmt.Errorf("samples from %d on, want %d", p.Offset(0), from+int64(len(out)))
		}
		out = append(out, p.Values.U8...)
		return nil
	})
	return map[int][]byte{int(from) - 1: out}, err
}

// faultyReads are the ways of reading. What they give is the same with an index and
// without.
var faultyReads = map[string]flawedtest.Reading[*zoomindex.File]{
	"all": func(ctx context.Context, f *zoomindex.File) (map[int][]byte, error) {
		return samplesAt(ctx, f, 1, faultySamples)
	},
	"window": func(ctx context.Context, f *zoomindex.File) (map[int][]byte, error) {
		return samplesAt(ctx, f, 150_001, 180_000)
	},
	"points": func(ctx context.Context, f *zoomindex.File) (map[int][]byte, error) {
		v, err := f.View(ctx, 1, 250_001, 251_000, 1000)
		if err != nil {
			return nil, err
		}
		var out []byte
		for i := range v.Points {
			p := &v.Points[i]
			if p.Entry != p.Exit || p.Channels[0].Min != p.Channels[0].Max {
				return nil, fmt.Errorf("point %+v", p)
			}
			out = append(out, byte(p.Channels[0].Min.Float()))
		}
		return map[int][]byte{250_000: out}, nil
	},
	"overview": func(ctx context.Context, f *zoomindex.File) (map[int][]byte, error) {
		v, err := f.View(ctx, 1, 1, faultySamples, 1)
		if err != nil || len(v.Points) != 1 {
			return nil, err
		}
		c := &v.Points[0].Channels[0]
		return map[int][]byte{faultySamples: {byte(c.Min.Float()), byte(c.Max.Float())}}, nil
	},
	"summaries": func(ctx context.Context, f *zoomindex.File) (map[int][]byte, error) {
		var out []byte
		err := f.EachSummary(ctx, 1, zoomcache.EveryLevel, zoomcache.FirstOffset, zoomcache.LastOffset, func(s *zoomcache.Summary) error {
			out = fmt.Appendf(out, "%+v\n", *s)
			return nil
		})
		return map[int][]byte{faultySamples + 2: out}, err
	},
}

// TestFaults: the fault matrix, for files with the index inside and beside; and
// never is there damage to be passed over.
func TestFaults(t *testing.T) {
	t.Parallel()
	plain, inside, side, content := map[int][]byte{}, map[int][]byte{}, map[int][]byte{}, map[int][]byte{}
	for v := range 3 {
		plain[v], inside[v], content[v] = faultyFile(t, v)
		f, err := zoomindex.Open(t.Context(), reader(plain[v]), zoomcache.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if side[v], err = f.BuildIndex(t.Context(), fmt.Sprintf(`"v%d"`, v), zoomindex.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		side[v] = slices.Clip(side[v])
	}
	for name, files := range map[string]map[int][]byte{"inside": inside, "beside": plain} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open := func(ctx context.Context, b objstore.Bucket, o objstore.OpenOptions) (*zoomindex.File, error) {
				beside := o
				o.Head, o.Also = 8<<10, objstore.Range{Off: 9 << 10, Len: 4 << 10}
				obj, err := objstore.Open(ctx, b, "k", o)
				if err != nil {
					return nil, err
				}
				f, err := zoomindex.Open(ctx, obj, zoomcache.Options{Head: 8 << 10, Window: 100_000, Resync: true, Damaged: func(d zoomcache.Damage) {
					if d.To <= int64(len(files[1])) { // else a version with bytes behind it
						t.Errorf("damage %+v", d)
					}
				}})
				if err == nil && name == "beside" {
					beside.Head, beside.Tail = -1, index.Tail
					f.Sidecar(func(ctx context.Context) (rangeio.Reader, string, error) {
						r, err := objstore.Open(ctx, b, "k"+index.Suffix, beside)
						if err != nil {
							return nil, "", err
						}
						return r, obj.Info().ETag, nil
					})
				}
				return f, err
			}
			m := flawedtest.Matrix[*zoomindex.File]{Content: content, Open: open, Readings: faultyReads, Patient: "window",
				Object: func(name string, version int) []byte {
					if strings.HasSuffix(name, index.Suffix) {
						return side[version]
					}
					return files[version]
				}}
			m.Run(t)
		})
	}
}
