package pack_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/functions/pack"
)

// TestManyItems: uploads of thousands of items, all different and together larger than
// the buffers, are given back whole. No other quick test would find a fault that only
// many items cause.
func TestManyItems(t *testing.T) {
	t.Parallel()
	var text, le, varint strings.Builder
	var files []file
	for i := range 5000 {
		line := fmt.Sprintf(`{"n":%d,"text":%q}`, i, strings.Repeat("ü", i%97))
		text.WriteString(line + "\n")
		le.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(line))))
		le.WriteString(line)
		varint.Write(binary.AppendUvarint(nil, uint64(len(line))))
		varint.WriteString(line)
		if i < 2000 {
			files = append(files, file{fmt.Sprintf("d%d/%d.json", i%7, i), []byte(line)})
		}
	}
	whole := text.String()
	for name, c := range map[string]itemCase{
		"jsonl":          {key: "a.jsonl", container: "jsonl", data: []byte(whole), want: one(whole)},
		"open end":       {key: "a.jsonl", container: "jsonl", data: []byte(whole[:len(whole)-1]), want: one(whole[:len(whole)-1])},
		"text in a gzip": {key: "a.txt.gz", container: "lines", data: gz(t, []byte(whole)), want: one(whole)},
		"bytes":          {key: "a.bin", data: append([]byte{0}, whole...), want: one("\x00" + whole)},
		"u32le":          {key: "a", format: "bloscpack", records: pack.U32LE, container: "records", data: []byte(le.String()), want: one(le.String())},
		"varint":         {key: "a", format: "bloscpack", records: pack.Varint, container: "records", data: []byte(varint.String()), want: one(varint.String())},
		"tar":            {key: "a.tar", container: "files", data: tarOf(t, files), want: many(files)},
		"zip":            {key: "a.zip", container: "files", data: zipOf(t, zip.Deflate, files), want: many(files)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newArrayJob()
			a.job.Format, a.job.Records = c.format, c.records
			infos, err := a.job.Run(t.Context(), a.in, a.put(t, c.key, c.data))
			if err != nil || len(infos) != 1 {
				t.Fatalf("%v, %v", infos, err)
			}
			got := unpacked(t, a.out, infos[0].Key)
			if len(c.want) == 1 {
				// A diff of such long strings helps nobody.
				if a, b := []byte(got[""]), []byte(c.want[""]); !bytes.Equal(a, b) {
					n := 0
					for n < min(len(a), len(b)) && a[n] == b[n] {
						n++
					}
					t.Errorf("%d bytes, want %d; they differ from byte %d on", len(a), len(b), n)
				}
			} else if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			if _, m := openBlp(t, a.out, infos[0].Key); m.Container != c.container {
				t.Errorf("container %q", m.Container)
			}
		})
	}
}
