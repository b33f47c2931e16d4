package pack_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/functions/pack"
)

// gnuMember is a member as GNU tar writes it, of a type that archive/tar does not
// write. whole is the size of a sparse file with its holes; pairs are the offset and
// length of each stored piece.
func gnuMember(name string, kind byte, stored []byte, whole int64, pairs ...int64) []byte {
	h := make([]byte, 512, 1024+len(stored))
	copy(h, name)
	octal := func(at, n int, v int64) { copy(h[at:], fmt.Sprintf("%0*o", n-1, v)) }
	octal(100, 8, 0o644)
	octal(108, 8, 0)
	octal(116, 8, 0)
	octal(124, 12, int64(len(stored)))
	octal(136, 12, 0)
	h[156] = kind
	copy(h[257:], "ustar  ")
	if kind == tar.TypeGNUSparse {
		for i, v := range pairs {
			octal(386+12*i, 12, v)
		}
		h[483] = 0x80 // binary: octal ends at 8 GiB
		for i := range 8 {
			h[494-i] = byte(whole >> (8 * i))
		}
	}
	copy(h[148:], "        ")
	sum := int64(0)
	for _, b := range h {
		sum += int64(b)
	}
	copy(h[148:], fmt.Sprintf("%06o\x00 ", sum))
	h = append(h, stored...)
	return append(h, make([]byte, tarPad(len(stored)))...)
}

// holed is a JPEG with a long comment of zeros, which lies at [from, to).
func holed(t *testing.T, n int) (p []byte, from, to int64) {
	t.Helper()
	j := picture(t, 3)
	p = append([]byte{0xff, 0xd8, 0xff, 0xfe, byte((n + 2) >> 8), byte(n + 2)}, make([]byte, n)...)
	return append(p, j[2:]...), 6, int64(6 + n)
}

// TestGNUMembers: sparse and contiguous files are files.
func TestGNUMembers(t *testing.T) {
	t.Parallel()
	p, from, to := holed(t, 40_000)
	size := int64(len(p))
	stored := append(bytes.Clone(p[:from]), p[to:]...)
	data := bytes.Join([][]byte{
		gnuMember("a/1.jpg", tar.TypeGNUSparse, stored, size, 0, from, to, size-to),
		gnuMember("a/2.jpg", tar.TypeCont, picture(t, 5), 0),
		make([]byte, 1024),
	}, nil)
	for name, d := range map[string][]byte{"x.tar": data, "x.tar.gz": gz(t, data)} {
		in, out := stores()
		if err := run(t, in, out, put(t, in, name, d, nil), pack.Options{}); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(map[string][][]byte{"a": {p, picture(t, 5)}}, read(t, out, name).Frames); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestTarOfHoles packs what the machine's tar makes of a file with a hole.
func TestTarOfHoles(t *testing.T) {
	t.Parallel()
	if out, err := exec.Command("tar", "--version").Output(); err != nil || !bytes.Contains(out, []byte("GNU tar")) {
		t.Skip("no GNU tar here")
	}
	p, from, to := holed(t, 60_000)
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "1.jpg"))
	if err != nil {
		t.Fatal(err)
	}
	f.Write(p[:from])
	if _, err := f.WriteAt(p[to:], to); err != nil {
		t.Fatal(err)
	}
	f.Close()
	for _, format := range []string{"gnu", "pax"} {
		data, err := exec.Command("tar", "-C", dir, "-S", "--format="+format, "-cf", "-", "1.jpg").Output()
		if err != nil {
			t.Fatal(err)
		}
		in, out := stores()
		if err := run(t, in, out, put(t, in, "x.tar", data, nil), pack.Options{}); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(map[string][][]byte{"x": {p}}, read(t, out, "x.tar").Frames); d != "" {
			t.Errorf("%s: %s", format, d)
		}
	}
}

// TestHostileHoles: a few bytes that claim to be terabytes of zeros end early,
// whether somebody would look at them or not.
func TestHostileHoles(t *testing.T) {
	t.Parallel()
	honest := gnuMember("a/1.jpg", tar.TypeReg, picture(t, 1), 0)
	sparse := func(name string, size int64) []byte { return gnuMember(name, tar.TypeGNUSparse, nil, size, size, 0) }
	for name, members := range map[string][][]byte{
		"over the limit":    {sparse("a/0.jpg", 1<<50)},
		"an image":          {sparse("a/0.jpg", 1<<39)},
		"skipped":           {sparse("a/._0", 1<<39)},
		"labels":            {sparse("labels.csv", 1<<39)},
		"many":              {bytes.Repeat(sparse("a/._0", 4<<20), 100)},
		"size of 63 bits":   {sparse("a/._0", 1<<63-1)},
		"negative":          {sparse("a/._0", -1)},
		"many, over 63":     {bytes.Repeat(sparse("a/._0", 1<<62), 3)},
		"beyond the end":    {gnuMember("a/0.jpg", tar.TypeGNUSparse, []byte("x"), 10, 20, 1)},
		"overlapping":       {gnuMember("a/0.jpg", tar.TypeGNUSparse, []byte("xyz"), 10, 0, 2, 1, 1)},
		"other than stored": {gnuMember("a/0.jpg", tar.TypeGNUSparse, []byte("xyz"), 10, 0, 9)},
	} {
		data := bytes.Join(append(append([][]byte{honest}, members...), make([]byte, 1024)), nil)
		for suffix, d := range map[string][]byte{".tar": data, ".tar.gz": gz(t, data), ".tar.zst": zst(t, data)} {
			in, out := stores()
			err := run(t, in, out, put(t, in, "x"+suffix, d, nil), pack.Options{})
			if !errors.Is(err, formats.ErrTooLarge) && !errors.Is(err, formats.ErrCorrupt) {
				t.Errorf("%s%s: %v", name, suffix, err)
			}
			for info, err := range out.List(t.Context(), "") {
				t.Errorf("%s%s: %s was published, %v", name, suffix, info.Key, err)
			}
		}
	}
}
