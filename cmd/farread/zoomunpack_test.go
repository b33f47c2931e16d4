package main

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/npy"
)

// TestUnpackColumns: the tracks of an array come back as its columns. Tracks that
// cannot be columns are refused, with the command that takes them.
func TestUnpackColumns(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, typ := range []string{"<i2", "<f8", "|b1", "|u1", "<u8"} {
		d, err := dtype.Parse(typ)
		if err != nil {
			t.Fatal(err)
		}
		const rows, columns = 5003, 3
		want, err := npy.AppendHeader(nil, npy.Header{DType: d, Shape: []int64{rows, columns}})
		if err != nil {
			t.Fatal(err)
		}
		for i := range rows * columns {
			item := binary.LittleEndian.AppendUint64(nil, uint64(i)*2654435761)
			if typ == "|b1" {
				item[0] &= 1
			}
			want = append(want, item[:d.ItemSize()]...)
		}
		write(t, in("a.npy"), want)
		for _, more := range [][]string{nil, {"--zlib", "--watermark", "7"}} {
			run(t, append([]string{"pack", in("a.npy"), in("a.zoom"), "--force"}, more...)...)
			run(t, "unpack", in("a.zoom"), in("b.npy"), "--force")
			got, err := os.ReadFile(in("b.npy"))
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s %v: %d bytes, want %d: %v", typ, more, len(got), len(want), err)
			}
		}
	}
	write(t, in("c.csv"), []byte("time,a,b\n0,1,2\n1,,3\n"))
	run(t, "pack", in("c.csv"), in("c.zoom"))
	for name, args := range map[string][]string{
		"have stamps":            {in("c.zoom"), in("c.npy")},
		"columns of a .npy only": {in("a.zoom"), in("c.out")},
		"of several types":       {zoomFiles + "/p-multitrack.zoom", in("m.npy")},
	} {
		r := (runner{}).run(t, append([]string{"unpack"}, args...)...)
		if r.code != exitUsage || !strings.Contains(r.stderr, name) || !strings.Contains(r.stderr, "get --track") {
			t.Errorf("%v: exit code %d: %s", args, r.code, r.stderr)
		}
	}
}
