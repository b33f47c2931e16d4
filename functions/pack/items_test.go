package pack_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/objstore"
)

// blp is what the metadata of a Bloscpack file say.
type blp struct {
	Container    string   `json:"container"`
	Prefix       string   `json:"prefix"`
	DType        string   `json:"dtype"`
	Shape        []int64  `json:"shape"`
	FinalNewline *bool    `json:"final_newline"`
	Names        []string `json:"names"`
	Sizes        []int64  `json:"sizes"`
	Order        string   `json:"order"`
	Farread      struct {
		Source string `json:"source"`
	} `json:"farread"`
}

func openBlp(tb testing.TB, b objstore.Bucket, key string) (*bloscpack.File, blp) {
	tb.Helper()
	obj, err := objstore.Open(context.Background(), b, key, objstore.OpenOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	f, err := bloscpack.Open(context.Background(), obj, bloscpack.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	var m blp
	if f.Metadata() != nil {
		d := json.NewDecoder(bytes.NewReader(f.Metadata()))
		d.DisallowUnknownFields()
		if err := d.Decode(&m); err != nil {
			tb.Fatalf("%s: %v", f.Metadata(), err)
		}
	}
	return f, m
}

// unpacked is the upload that a Bloscpack file was made of, by what the file says:
// one file called "", or the files of an archive.
func unpacked(tb testing.TB, b objstore.Bucket, key string) map[string]string {
	tb.Helper()
	f, m := openBlp(tb, b, key)
	var items [][]byte
	var all []byte
	err := f.Each(context.Background(), 0, f.Len(), func(_ int64, p []byte) error {
		items = append(items, bytes.Clone(p))
		all = append(all, p...)
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	out := map[string]string{}
	switch m.Container {
	case "":
		out[""] = string(all)
	case "numpy":
		a, ok, err := f.Array()
		if err != nil || !ok {
			tb.Fatal(ok, err)
		}
		p, err := npy.AppendHeader(nil, npy.Header{DType: a.DType, Shape: a.Shape, Fortran: a.Fortran})
		if err != nil {
			tb.Fatal(err)
		}
		out[""] = string(append(p, all...))
	case "lines", "jsonl":
		text := string(bytes.Join(items, []byte("\n")))
		if *m.FinalNewline {
			text += "\n"
		}
		out[""] = text
	case "records":
		var p []byte
		for _, it := range items {
			p = append(pack.Records(m.Prefix).AppendPrefix(p, len(it)), it...)
		}
		out[""] = string(p)
	case "files":
		for i, name := range m.Names {
			out[name] = string(items[i])
			if m.Sizes[i] != int64(len(items[i])) {
				tb.Errorf("%s has %d bytes, not %d", name, len(items[i]), m.Sizes[i])
			}
		}
	}
	if h := f.Header(); m.Container != "" && m.Container != "numpy" && (!h.Variable || !cmp.Equal(m.Shape, []int64{f.Len()})) {
		tb.Errorf("shape %v, %d items, %+v", m.Shape, f.Len(), h)
	}
	return out
}

func one(p string) map[string]string { return map[string]string{"": p} }

func many(fs []file) map[string]string {
	m := map[string]string{}
	for _, f := range fs {
		m[f.name] = string(f.data)
	}
	return m
}

// itemCase is an upload and what it has to become.
type itemCase struct {
	key, format string
	records     pack.Records
	data        []byte
	container   string
	dtype       string
	want        map[string]string
}

func itemCases(tb testing.TB) map[string]itemCase {
	tb.Helper()
	x := newCube(tb, 3, 4, 5)
	text := "one\ntwo\n"
	fs := []file{{"a/readme.md", []byte("# hi\n")}, {"b.bin", []byte{0, 1, 2}}, {"a/empty", nil}, {".gitignore", []byte("*.o\n")}, {"labels.csv", []byte("id\n")}}
	clutter := append([]file{{"a/", nil}, {".DS_Store", []byte("x")}, {"__MACOSX/._b.bin", []byte("y")}}, fs...)
	photos := clips(tb)
	bin := "bytes\x00and more"
	return map[string]itemCase{
		"jsonl":             {"a.jsonl", "", "", []byte("{}\n[1]"), "jsonl", "varchar", one("{}\n[1]")},
		"ndjson":            {"d/A.NDJSON", "", "", []byte("1\n"), "jsonl", "varchar", one("1\n")},
		"no records":        {"a.jsonl", "", "", nil, "jsonl", "varchar", one("")},
		"gzip of jsonl":     {"a.jsonl.gz", "", "", gz(tb, []byte(text)), "jsonl", "varchar", one(text)},
		"zstd of ndjson":    {"a.ndjson.zst", "", "", zst(tb, []byte(text)), "jsonl", "varchar", one(text)},
		"gzip called jsonl": {"a.jsonl", "", "", gz(tb, []byte(text)), "jsonl", "varchar", one(text)},
		"gzip of old logs":  {"access.log.1.gz", "", "", gz(tb, []byte(text)), "lines", "varchar", one(text)},
		"zstd of text":      {"a.zst", "", "", zst(tb, []byte(text)), "lines", "varchar", one(text)},
		"gzip of json":      {"a.json.gz", "", "", gz(tb, []byte(text)), "", "", one(string(gz(tb, []byte(text))))},
		"gzip of an image":  {"brain.nii.gz", "", "", gz(tb, []byte(bin)), "", "", one(string(gz(tb, []byte(bin))))},
		"gzip of a log":     {"a.log.gz", "", "", gz(tb, []byte(text)), "lines", "varchar", one(text)},
		"text":              {"a.txt", "", "", []byte(text), "lines", "varchar", one(text)},
		"csv of bytes":      {"a.csv", "", "", []byte("\xff\n"), "lines", "bytes", one("\xff\n")},
		"readme":            {"README", "", "", []byte(text), "lines", "varchar", one(text)},
		"source code":       {"a.py", "", "", []byte(text), "lines", "varchar", one(text)},
		"json":              {"a.json", "", "", []byte(text), "", "", one(text)},
		"text called bin":   {"a.bin", "", "", []byte(text), "", "", one(text)},
		"bytes":             {"a", "", "", []byte(bin), "", "", one(bin)},
		"parquet":           {"a.parquet", "", "", []byte("PAR1 text"), "", "", one("PAR1 text")},
		"gzip of bytes":     {"a", "", "", gz(tb, []byte(bin)), "", "", one(string(gz(tb, []byte(bin))))},
		"tar":               {"a.tar", "", "", tarOf(tb, clutter), "files", "bytes", many(fs)},
		"tar.gz":            {"a.tgz", "", "", gz(tb, tarOf(tb, clutter)), "files", "bytes", many(fs)},
		"tar.zst, no name":  {"a", "", "", zst(tb, tarOf(tb, clutter)), "files", "bytes", many(fs)},
		"tar called txt":    {"a.txt", "", "", tarOf(tb, clutter), "files", "bytes", many(fs)},
		"zip":               {"a.zip", "", "", zipOf(tb, zip.Deflate, clutter), "files", "bytes", many(fs)},
		"labels first":      {"a.zip", "", "", zipOf(tb, zip.Store, []file{fs[4], fs[0]}), "files", "bytes", many([]file{fs[4], fs[0]})},
		"docx":              {"a.docx", "", "", zipOf(tb, zip.Deflate, fs), "files", "bytes", many(fs)},

		"forced photographs": {"a.tar", "bloscpack", "", tarOf(tb, photos), "files", "bytes", many(photos)},
		"forced JPEG":        {"a.jpg", "bloscpack", "", photos[0].data, "", "", one(string(photos[0].data))},
		"forced labels":      {"labels.csv", "bloscpack", "", []byte(text), "lines", "varchar", one(text)},
		"forced nothing":     {"a.bin", "bloscpack", "", nil, "", "", one("")},
		"forced npy":         {"a.npy", "bloscpack", "", x.npyC, "numpy", "'<i4'", one(string(x.npyC))},
		"forced Fortran":     {"a.npy", "bloscpack", "", x.npyF, "numpy", "'<i4'", one(string(x.npyF))},
		"forced npz": {"a.npz", "bloscpack", "", npz(tb, zip.Deflate, map[string][]byte{"c.npy": x.npyC}), "files", "bytes",
			map[string]string{"c.npy": string(x.npyC)}},
		"lines of bytes":    {"a.bin", "bloscpack", "lines", []byte(bin), "lines", "varchar", one(bin)},
		"jsonl of a gzip":   {"a.gz", "bloscpack", "jsonl", gz(tb, []byte(text)), "jsonl", "varchar", one(text)},
		"chunks of text":    {"a.txt", "bloscpack", "chunks", []byte(text), "", "", one(text)},
		"chunks of a gzip":  {"a.txt.gz", "bloscpack", "chunks", gz(tb, []byte(text)), "", "", one(string(gz(tb, []byte(text))))},
		"records in a gzip": {"a.rec.gz", "bloscpack", "u32le", gz(tb, []byte("\x02\x00\x00\x00ab")), "records", "bytes", one("\x02\x00\x00\x00ab")},
		"like a gzip":       {"a.rec", "bloscpack", "u32le", append([]byte{0x1f, 0x8b, 0, 0}, make([]byte, 0x8b1f)...), "records", "bytes", one("\x1f\x8b\x00\x00" + strings.Repeat("\x00", 0x8b1f))},
		"files of a tar":    {"a.tar", "bloscpack", "files", tarOf(tb, photos), "files", "bytes", many(photos)},
	}
}

// golden are uploads kept in testdata, each to be given back as it is.
func golden(tb testing.TB) map[string]itemCase {
	tb.Helper()
	cases := map[string]itemCase{}
	list, err := filepath.Glob("testdata/records/*")
	if err != nil || len(list) < 9 {
		tb.Fatalf("%d files, %v", len(list), err)
	}
	for _, name := range list {
		p, err := os.ReadFile(name)
		if err != nil {
			tb.Fatal(err)
		}
		base := filepath.Base(name)
		c := itemCase{base, "", "", p, map[string]string{".txt": "lines", ".log": "lines", ".csv": "lines", ".jsonl": "jsonl", ".rec": "records"}[filepath.Ext(base)], "", one(string(p))}
		if way, ok := strings.CutSuffix(base, ".rec"); ok {
			c.format, c.records = "bloscpack", pack.Records(way)
		}
		cases[base] = c
	}
	return cases
}

// TestItems: what becomes of uploads, and that it can be undone.
func TestItems(t *testing.T) {
	t.Parallel()
	for _, cases := range []map[string]itemCase{itemCases(t), golden(t)} {
		for name, c := range cases {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				a := newArrayJob()
				a.job.Format, a.job.Records = c.format, c.records
				u := a.put(t, c.key, c.data)
				infos, err := a.job.Run(t.Context(), a.in, u)
				if err != nil || len(infos) != 1 || infos[0].Key != c.key+".blp" {
					t.Fatalf("%v, %v", infos, err)
				}
				if d := cmp.Diff(c.want, unpacked(t, a.out, infos[0].Key)); d != "" {
					t.Error(d)
				}
				f, m := openBlp(t, a.out, infos[0].Key)
				if m.Container != c.container || c.dtype != "" && m.DType != c.dtype {
					t.Errorf("%s", f.Metadata())
				}
				if seal, err := hex.DecodeString(m.Farread.Source); err != nil || len(seal) != 32 {
					t.Errorf("seal %q", m.Farread.Source)
				}
				if f.Header().Checksum != bloscpack.Adler32 {
					t.Errorf("checksum %s", f.Header().Checksum)
				}
				if infos, err := a.job.Run(t.Context(), a.in, u); err != nil || len(infos) > 0 {
					t.Errorf("again: %v, %v", infos, err)
				}
			})
		}
	}
}

// TestBadItems: the error says what is wrong with an upload, and nothing is published.
func TestBadItems(t *testing.T) {
	t.Parallel()
	text := bytes.Repeat([]byte("a line that repeats itself\n"), 1000)
	twice := []file{{"a.txt", []byte("1")}, {"a.txt", []byte("2")}}
	small := pack.Limits{Item: 20, Items: 2, Meta: 30, Bytes: 20_000}
	for name, c := range map[string]struct {
		itemCase
		l    pack.Limits
		want error
		text string
	}{
		"no gzip":          {itemCase{key: "a.jsonl.gz", data: text}, pack.Limits{}, formats.ErrUnsupported, "called so"},
		"no zstd":          {itemCase{key: "a.zst", data: text}, pack.Limits{}, formats.ErrUnsupported, "called so"},
		"no tar in it":     {itemCase{key: "a.tar.gz", data: gz(t, text)}, pack.Limits{}, formats.ErrCorrupt, "tar header"},
		"no gzip in a gz":  {itemCase{key: "a.gz", data: gz(t, text)[:7]}, pack.Limits{}, formats.ErrCorrupt, ""},
		"cut gzip":         {itemCase{key: "a.jsonl.gz", data: gz(t, noise(9000, 1))[:5000]}, pack.Limits{}, formats.ErrCorrupt, "truncated"},
		"cut zstd":         {itemCase{key: "a.txt.zst", data: zst(t, noise(9000, 1))[:5000]}, pack.Limits{}, formats.ErrCorrupt, "truncated"},
		"bad gzip":         {itemCase{key: "a.jsonl.gz", data: append(gz(t, text), "tail"...)}, pack.Limits{}, formats.ErrCorrupt, ""},
		"bomb":             {itemCase{key: "a.txt.gz", data: gz(t, bytes.Repeat(append(make([]byte, 65_535), '\n'), 9<<4))}, pack.Limits{}, formats.ErrTooLarge, "gz: a.txt.gz at"},
		"too much":         {itemCase{key: "a.txt.gz", data: gz(t, text)}, small, formats.ErrTooLarge, ""},
		"long line":        {itemCase{key: "a.txt", data: text}, small, formats.ErrTooLarge, "line 1 at 0: longer than 20 bytes"},
		"many lines":       {itemCase{key: "a.txt", data: []byte("a\nb\nc\n")}, small, formats.ErrTooLarge, "line 3 at 4: more than 2 items"},
		"twice":            {itemCase{key: "a.tar", data: tarOf(t, twice)}, pack.Limits{}, formats.ErrCorrupt, `"a.txt"`},
		"twice in a zip":   {itemCase{key: "a.zip", data: zipOf(t, zip.Store, twice)}, pack.Limits{}, formats.ErrCorrupt, "twice"},
		"escape":           {itemCase{key: "a.tar", data: tarOf(t, []file{{"a.txt", nil}, {"b/../../c.txt", nil}})}, pack.Limits{}, formats.ErrCorrupt, ".."},
		"absolute":         {itemCase{key: "a.zip", data: zipOf(t, zip.Store, []file{{"a.txt", nil}, {"/etc/passwd", nil}})}, pack.Limits{}, formats.ErrCorrupt, "absolute"},
		"folder is a file": {itemCase{key: "a.tar", data: tarOf(t, []file{{"a", nil}, {"a/b", nil}})}, pack.Limits{}, formats.ErrCorrupt, "a file and a folder"},
		"large file":       {itemCase{key: "a.tar", data: tarOf(t, []file{{"a.txt", make([]byte, 21)}})}, small, formats.ErrTooLarge, `"a.txt"`},
		"names":            {itemCase{key: "a.tar", data: tarOf(t, []file{{"some name that is really quite long.txt", nil}})}, small, formats.ErrTooLarge, "names and sizes"},
		"cut tar":          {itemCase{key: "a.tar", data: tarOf(t, []file{{"a.txt", text}, {"b.txt", text}})[:40_000]}, pack.Limits{}, formats.ErrCorrupt, ""},
		"cut npy":          {itemCase{key: "a.npy", format: "bloscpack", data: newCube(t, 3, 4, 5).npyC[:200]}, pack.Limits{}, formats.ErrCorrupt, "truncated"},
		"no npy":           {itemCase{key: "a.npy", format: "bloscpack", data: text}, pack.Limits{}, formats.ErrUnsupported, "called so"},
		"long record":      {itemCase{key: "a", format: "bloscpack", records: "u32be", data: []byte("\x00\x00\x00\x01a\x00\x00\x00\x09b")}, pack.Limits{}, formats.ErrCorrupt, "record 1 at 5: length 9, and 1 bytes are left"},
		"cut record":       {itemCase{key: "a.gz", format: "bloscpack", records: "u32be", data: gz(t, []byte("\x00\x00\x00\x01a\x00\x00\x00\x09b"))}, pack.Limits{}, formats.ErrCorrupt, "record 1 at 5: length 9, and 1 bytes are left"},
		"cut length":       {itemCase{key: "a", format: "bloscpack", records: "u64le", data: []byte("123")}, pack.Limits{}, formats.ErrCorrupt, "record 0 at 0"},
		"empty of files":   {itemCase{key: "a.tar", format: "bloscpack", data: tarOf(t, nil)}, pack.Limits{}, formats.ErrUnsupported, "no file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newArrayJob()
			a.job.Format, a.job.Records, a.job.Options.Limits = c.format, c.records, c.l
			_, err := a.job.Run(t.Context(), a.in, a.put(t, c.key, c.data))
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%v, want %v with %q", err, c.want, c.text)
			}
			for info, err := range a.out.List(t.Context(), "") {
				t.Errorf("%s is there, %v", info.Key, err)
			}
		})
	}
}

// TestItemsWait: who waits under which rule.
func TestItemsWait(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]itemCase{
		"labels":                    {key: "x/labels.csv", data: []byte("id\n")},
		"JPEG":                      {key: "x/a.jpg", data: picture(t, 1)},
		"file of a folder":          {key: "x/a.txt", format: "bloscpack", records: "files", data: []byte("a")},
		"JPEG of a folder of files": {key: "x/a.jpg", format: "bloscpack", records: "files", data: picture(t, 1)},
		"marker without a folder":   {key: "x/_SUCCESS", format: "bloscpack"},
		"manifest without a folder": {key: "x/manifest.json", format: "bloscpack", records: "lines", data: []byte("[]")},
	} {
		a := newArrayJob()
		a.job.Format, a.job.Records = c.format, c.records
		if infos, err := a.job.Run(t.Context(), a.in, a.put(t, c.key, c.data)); !errors.Is(err, functions.ErrSkip) {
			t.Errorf("%s: %v, %v", name, infos, err)
		}
	}
}

// TestFolderOfFiles: a marker packs all files of its folder, in natural order.
func TestFolderOfFiles(t *testing.T) {
	t.Parallel()
	for _, closing := range []string{"_SUCCESS", "manifest.json"} {
		a := newArrayJob()
		a.job.Format, a.job.Records = "bloscpack", pack.Files
		want := map[string]string{}
		for _, name := range []string{"part-10.csv", "part-9.csv", "sub/.gitkeep", "sub/_SUCCESS", "labels.csv"} {
			a.put(t, "run/"+name, []byte("in "+name))
			want[name] = "in " + name
		}
		a.put(t, "run/.DS_Store", []byte("x"))
		a.put(t, "runner/other", []byte("x"))
		marker := []byte(`["part-10.csv","part-9.csv","sub/.gitkeep","sub/_SUCCESS","labels.csv"]`)
		u := a.put(t, "run/"+closing, marker)
		infos, err := a.job.Run(t.Context(), a.in, u)
		key := map[string]string{"_SUCCESS": "run/frames.blp", "manifest.json": "run/manifest.blp"}[closing]
		if err != nil || len(infos) != 1 || infos[0].Key != key {
			t.Fatalf("%v, %v", infos, err)
		}
		if d := cmp.Diff(want, unpacked(t, a.out, key)); d != "" {
			t.Error(d)
		}
		if _, m := openBlp(t, a.out, key); !cmp.Equal(m.Names, []string{"labels.csv", "part-9.csv", "part-10.csv", "sub/.gitkeep", "sub/_SUCCESS"}) {
			t.Errorf("%q", m.Names)
		}
		if infos, err := a.job.Run(t.Context(), a.in, u); err != nil || len(infos) > 0 {
			t.Errorf("again: %v, %v", infos, err)
		}
		a.put(t, "run/part-9.csv", []byte("another"))
		if infos, err := a.job.Run(t.Context(), a.in, u); err != nil || len(infos) != 1 {
			t.Errorf("changed: %v, %v", infos, err)
		}
	}
}

// TestItemWrite: the file has the codec, the chunks and the records of the rule.
func TestItemWrite(t *testing.T) {
	t.Parallel()
	a := newArrayJob()
	data := bytes.Repeat([]byte("0123456789abcdef"), 10_000)
	u := a.put(t, "x.dat", data)
	var layouts []string
	for _, c := range []struct {
		r     functions.Rule
		codec blosc.Codec
		chunk int64
	}{
		{functions.Rule{Format: "bloscpack"}, blosc.Zstd, int64(len(data))},
		{functions.Rule{Format: "bloscpack", Codec: "zlib-3", Chunk: 5000}, blosc.Zlib, 5000},
		{functions.Rule{Format: "bloscpack", Codec: "lz4", Records: "chunks", Chunk: 4096}, blosc.LZ4, 4096},
		{functions.Rule{Codec: "blosclz-9"}, blosc.BloscLZ, int64(len(data))},
	} {
		job, err := pack.New(pack.Options{})(c.r, a.out)
		if err != nil {
			t.Fatal(err)
		}
		infos, err := job.Run(t.Context(), a.in, u)
		if err != nil || len(infos) != 1 {
			t.Fatalf("%+v: %v, %v", c.r, infos, err)
		}
		layouts = append(layouts, infos[0].Meta[functions.MetaLayout])
		f, _ := openBlp(t, a.out, "x.dat.blp")
		if h := f.Header(); h.Version != 3 || h.ChunkSize != c.chunk || h.MaxAppend != 0 {
			t.Errorf("%+v: %+v", c.r, h)
		}
		e, err := f.Entry(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		p := body(t, a.out, "x.dat.blp")
		if h, err := blosc.ParseHeader(p[e.Off:]); err != nil || h.Codec != c.codec {
			t.Errorf("%+v: %v, %v", c.r, h, err)
		}
		if d := cmp.Diff(one(string(data)), unpacked(t, a.out, "x.dat.blp")); d != "" {
			t.Errorf("%+v: other bytes", c.r)
		}
	}
	for i := range layouts {
		for k := range i {
			if layouts[i] == layouts[k] {
				t.Errorf("layout %q is that of two rules", layouts[i])
			}
		}
	}
	for _, r := range []functions.Rule{{Chunk: 1}, {Records: "lines"}, {Format: "bloscpack", Records: "words"}, {Format: "bloscpack", Codec: "lzma"}, {Format: "bloscpack", Chunk: 1 << 30}, {Format: "bloscpack", Records: "lines", Chunk: 4096}} {
		if _, err := pack.New(pack.Options{})(r, nil); err == nil {
			t.Errorf("%+v is taken", r)
		}
	}
}

// TestRecordsOfRules: rules, their schema and the job know the same ways.
func TestRecordsOfRules(t *testing.T) {
	t.Parallel()
	var schema struct {
		Items struct {
			Properties struct {
				Records struct {
					Enum []pack.Records `json:"enum"`
				} `json:"records"`
			} `json:"properties"`
		} `json:"items"`
	}
	if err := json.Unmarshal(functions.RulesSchema, &schema); err != nil {
		t.Fatal(err)
	}
	all := append([]pack.Records{""}, pack.AllRecords()...)
	if d := cmp.Diff(all, schema.Items.Properties.Records.Enum); d != "" {
		t.Error(d)
	}
	for _, by := range all {
		rules, err := functions.ParseRules(fmt.Appendf(nil, `[{"bucket":"ups","job":"pack","format":"bloscpack","records":%q,"out":{"bucket":"sets"}}]`, string(by)))
		if err != nil {
			t.Error(err)
			continue
		}
		if _, err := pack.New(pack.Options{})(rules[0], nil); err != nil {
			t.Error(err)
		}
	}
}

// TestTextHasNoNote: an object with a name of text is packed without a look for a note.
// An object with the name of such a note is not a note.
func TestTextHasNoNote(t *testing.T) {
	t.Parallel()
	a := newArrayJob()
	asked := &gets{Bucket: a.in}
	for key, want := range map[string]string{"x.log": "x.log.blp", "x.log.json": "x.log.json.blp"} {
		u := a.put(t, key, []byte(`{"dtype":"<u1","shape":[9]}`))
		u.Sequencer = "1"
		if infos, err := a.job.Run(t.Context(), asked, u); err != nil || len(infos) != 1 || infos[0].Key != want {
			t.Errorf("%v, %v", infos, err)
		}
		if d := cmp.Diff([]string{key}, asked.keys); d != "" { // all of it came with the head
			t.Error(d)
		}
		asked.keys = nil
	}
}

// gets notes what is read.
type gets struct {
	objstore.Bucket

	keys []string
}

func (b *gets) Get(ctx context.Context, key string, o objstore.GetOptions) (io.ReadCloser, objstore.Info, error) {
	b.keys = append(b.keys, key)
	return b.Bucket.Get(ctx, key, o)
}

func TestItemCommand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		r    functions.Rule
		key  string
		want string
	}{
		{functions.Rule{}, "a b.jsonl", `'s3://u/a b.jsonl' 's3://d/a b.jsonl.blp'`},
		{functions.Rule{}, "x.bin", `'s3://u/x.bin' 's3://d/x.bin.blp'`},
		{functions.Rule{}, "x.tar.gz", `'s3://u/x.tar.gz' 's3://d/x.tar.gz.gulp'`},
		{functions.Rule{}, "x.npz", `'s3://u/x.npz' 's3://d/x.npz.b2nd'`},
		{functions.Rule{}, "x/_SUCCESS", `'s3://u/x/' 's3://d/x/frames.gulp'`},
		{functions.Rule{Format: "bloscpack", Records: "files"}, "x/_SUCCESS", `'s3://u/x/' 's3://d/x/frames.blp' --records files`},
		{functions.Rule{Format: "bloscpack", Records: "u32le", Codec: "zstd-9"}, "x.tar", `'s3://u/x.tar' 's3://d/x.tar.blp' --records u32le --codec zstd-9`},
		{functions.Rule{Format: "bloscpack", Chunk: 4096}, "x.npy", `'s3://u/x.npy' 's3://d/x.npy.blp' --chunk 4096`},
	} {
		c.r.Out.Bucket = "d"
		if got := pack.Command(c.r, functions.Upload{Bucket: "u", Key: c.key}); got != "farread pack "+c.want {
			t.Errorf("%s\nwant farread pack %s", got, c.want)
		}
	}
}

// TestItemStoreErrors: an upload is not corrupt because the store fails.
func TestItemStoreErrors(t *testing.T) {
	t.Parallel()
	lines := bytes.Repeat(append(noise(99, 1), '\n'), 100_000)
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.NoCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(lines); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"a.txt": lines, "a.jsonl.gz": packed.Bytes(), "a.bin": lines, "a.tar": tarOf(t, []file{{"x.txt", lines}, {"y.txt", lines}})} {
		in, out := stores()
		info := put(t, in, name, data, nil)
		err := run(t, &failing{in, 7 << 20}, out, info, pack.Options{})
		if !errors.Is(err, objstore.ErrThrottled) || strings.Contains(err.Error(), "corrupt") {
			t.Errorf("%s of %d: %v", name, len(data), err)
		}
	}
}

func body(tb testing.TB, b objstore.Bucket, key string) []byte {
	tb.Helper()
	obj, err := objstore.Open(context.Background(), b, key, objstore.OpenOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	p := make([]byte, obj.Size())
	if _, err := obj.ReadAt(p, 0); err != nil {
		tb.Fatal(err)
	}
	return p
}
