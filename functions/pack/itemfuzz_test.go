package pack_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/pack"
)

// FuzzItems feeds uploads under every name and rule. Whatever they hold, each
// ends with one of the sentinels and nothing published, waits, or becomes
// something whose reader takes it whole; what is not unpacked on the way comes
// back as it was.
func FuzzItems(f *testing.F) {
	x := newCube(f, 3, 4, 5)
	fs := []file{{"a.txt", []byte("a\n")}, {"d/b", []byte{0}}, {"labels.csv", []byte("id\n")}}
	keys := []string{"x", "x.txt", "x.jsonl.gz", "x.bin", "x.tar", "x.zip", "x.npy", "x.json", "x.log.zst", "_SUCCESS", "labels.csv"}
	rules := append([]pack.Records{"", ""}, pack.AllRecords()...) // the first: no rule
	for i, p := range [][]byte{
		[]byte("a\nb"), []byte("\x01a\x02bc"), []byte("\x01\x00\x00\x00a"), gz(f, []byte("a\nb")), zst(f, tarOf(f, fs)), tarOf(f, fs), gz(f, tarOf(f, fs)),
		zipOf(f, zip.Store, fs), zipOf(f, zip.Deflate, fs), x.npyC, x.npyF, {0xff, 0xd8, 0xff}, {},
	} {
		f.Add(uint8(i), uint8(i), p)
		f.Add(uint8(i+1), uint8(0), p)
	}
	f.Fuzz(func(t *testing.T, name, rule uint8, p []byte) {
		ctx := context.Background()
		a := newArrayJob()
		key := keys[int(name)%len(keys)]
		if k := int(rule) % len(rules); k > 0 {
			a.job.Format, a.job.Records = bloscpack.Format, rules[k]
		}
		a.job.Options.Limits = pack.Limits{Bytes: 1 << 20, Entries: 20, Item: 1 << 16, Items: 1000, Meta: 1 << 10, Frame: 1 << 16}
		infos, err := a.job.Run(ctx, a.in, a.put(t, key, p))
		if err != nil {
			if !isSentinel(err) {
				t.Fatalf("no sentinel: %v", err)
			}
			for info, lerr := range a.out.List(ctx, "") {
				t.Fatalf("%s is there after %v, %v", info.Key, err, lerr)
			}
			return
		}
		if len(infos) != 1 || infos[0].Key != key+bloscpack.Suffix {
			return // images or arrays, which have fuzz targets of their own
		}
		got := unpacked(t, a.out, infos[0].Key)
		back, is := got[""]
		if is && back != string(p) && !rewritten(p) {
			t.Fatalf("%q by %q became %q", p, a.job.Records, back)
		}
	})
}

func isSentinel(err error) bool {
	return errors.Is(err, formats.ErrCorrupt) || errors.Is(err, formats.ErrUnsupported) || errors.Is(err, formats.ErrTooLarge) || errors.Is(err, functions.ErrSkip)
}

// rewritten says whether the packed bytes differ from the upload: gzip and zstd are
// decompressed, and a .npy gets a new header and loses what follows its items.
func rewritten(p []byte) bool {
	for _, magic := range []string{"\x1f\x8b", "\x28\xb5\x2f\xfd", "\x93NUMPY"} {
		if bytes.HasPrefix(p, []byte(magic)) {
			return true
		}
	}
	return len(p) > 3 && bytes.Equal(p[1:4], []byte{0x2a, 0x4d, 0x18})
}
