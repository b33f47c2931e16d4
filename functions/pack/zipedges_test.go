package pack_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/objstore"
)

// TestZipOfUnix: zip on Unix tells the mode of each file. Files are taken, links and
// devices are not.
func TestZipOfUnix(t *testing.T) {
	t.Parallel()
	for mode, ok := range map[fs.FileMode]bool{0o644: true, 0o755: true, fs.ModeSymlink | 0o777: false, fs.ModeNamedPipe: false, fs.ModeDevice: false} {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		h := &zip.FileHeader{Name: "d/a.txt", Method: zip.Store}
		h.SetMode(mode)
		w, err := z.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, "/etc/passwd"); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		a := newArrayJob()
		infos, err := a.job.Run(t.Context(), a.in, a.put(t, "a.zip", b.Bytes()))
		if ok && (err != nil || len(infos) != 1) || !ok && (!errors.Is(err, formats.ErrUnsupported) || !strings.Contains(err.Error(), "a link or device")) {
			t.Errorf("%v: %v, %v", mode, infos, err)
		}
	}
}

// TestStoredFortran: if a stored member in Fortran order is too large to be transposed
// in memory, it is read at its place in the archive.
func TestStoredFortran(t *testing.T) {
	t.Parallel()
	x := newCube(t, 30, 40, 50)
	a := newArrayJob()
	a.put(t, "x.npz", npz(t, zip.Store, map[string][]byte{"a.npy": x.npyC, "f.npy": x.npyF}))
	obj, err := objstore.Open(t.Context(), a.in, "x.npz", objstore.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	arrays, err := pack.Arrays(t.Context(), obj, pack.ArrayOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, arr := range arrays {
		w, err := a.out.Create(t.Context(), arr.Name, objstore.PutOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := arr.Write(t.Context(), w, pack.ArrayWrite{ChunkShape: []int{3, 10, 50}, BlockShape: []int{3, 10, 50}, Write: b2nd.WriteOptions{MaxMemory: 2*int64(len(x.f)) - 2}}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		a.want(t, arr.Name, x.c)
	}
}

// unreadable lets a beginning be read and nothing behind it.
type unreadable struct{ objstore.Bucket }

func (u unreadable) Get(ctx context.Context, key string, o objstore.GetOptions) (io.ReadCloser, objstore.Info, error) {
	if o.Range.Off > 0 {
		return nil, objstore.Info{}, &objstore.Error{Op: "get", Key: key, Err: objstore.ErrThrottled}
	}
	return u.Bucket.Get(ctx, key, o)
}

// TestManifestNotRead: if a manifest could not be read, the error does not say that the
// manifest is bad.
func TestManifestNotRead(t *testing.T) {
	t.Parallel()
	a := newArrayJob()
	a.job.Format = "bloscpack"
	a.job.Records = pack.Files
	u := a.put(t, "f/manifest.json", append([]byte(`["a.txt"`), append(bytes.Repeat([]byte(" "), 100<<10), ']')...))
	a.put(t, "f/a.txt", []byte("text"))
	if _, err := a.job.Run(t.Context(), unreadable{a.in}, u); !errors.Is(err, objstore.ErrThrottled) || errors.Is(err, formats.ErrCorrupt) {
		t.Error(err)
	}
	if infos, err := a.job.Run(t.Context(), a.in, u); err != nil || len(infos) != 1 {
		t.Error(infos, err)
	}
}

// TestZipEnds: an archive whose end is told by a zip64 record, and what is wrong with
// ends and with members that reach beyond their place.
func TestZipEnds(t *testing.T) {
	t.Parallel()
	le := binary.LittleEndian
	plain := zipOf(t, zip.Store, []file{{"d/a.txt", []byte("some text")}})
	end := bytes.LastIndex(plain, []byte("PK\x05\x06"))
	directory := le.Uint32(plain[end+16:])
	wide := func(off func(at uint64) uint64, disks uint32) []byte {
		rec := append([]byte("PK\x06\x06"), make([]byte, 52)...)
		le.PutUint64(rec[4:], 44)
		le.PutUint16(rec[12:], 45)
		le.PutUint16(rec[14:], 45)
		le.PutUint64(rec[24:], 1)
		le.PutUint64(rec[32:], 1)
		le.PutUint64(rec[40:], uint64(end)-uint64(directory))
		le.PutUint64(rec[48:], uint64(directory))
		loc := append([]byte("PK\x06\x07"), make([]byte, 16)...)
		le.PutUint64(loc[8:], off(uint64(end)))
		le.PutUint32(loc[16:], disks)
		tail := bytes.Clone(plain[end:])
		le.PutUint16(tail[8:], 0xFFFF)
		le.PutUint16(tail[10:], 0xFFFF)
		le.PutUint32(tail[12:], 0xFFFFFFFF)
		le.PutUint32(tail[16:], 0xFFFFFFFF)
		return slices.Concat(plain[:end], rec, loc, tail)
	}
	same := func(at uint64) uint64 { return at }
	large := bytes.Clone(plain)
	le.PutUint32(large[directory+20:], uint32(len(plain))) // packed and not
	le.PutUint32(large[directory+24:], uint32(len(plain)))
	for name, c := range map[string]struct {
		data []byte
		err  error
		text string
	}{
		"plain":              {plain, nil, ""},
		"zip64":              {wide(same, 1), nil, ""},
		"no disk told":       {wide(same, 0), nil, ""},
		"several disks":      {wide(same, 2), formats.ErrUnsupported, "several disks"},
		"record behind":      {wide(func(at uint64) uint64 { return at + 1 }, 1), formats.ErrCorrupt, "lies outside"},
		"record nowhere":     {wide(func(uint64) uint64 { return 1 << 63 }, 1), formats.ErrCorrupt, "lies outside"},
		"into the directory": {large, formats.ErrCorrupt, "reach into the directory"},
	} {
		a := newArrayJob()
		infos, err := a.job.Run(t.Context(), a.in, a.put(t, "a.zip", c.data))
		if c.err == nil {
			if err != nil || len(infos) != 1 {
				t.Errorf("%s: %v, %v", name, infos, err)
			} else if got := unpacked(t, a.out, infos[0].Key)["d/a.txt"]; got != "some text" {
				t.Errorf("%s: %q", name, got)
			}
		} else if !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTarBytes: the bound on all files together holds for a tar that is not compressed.
func TestTarBytes(t *testing.T) {
	t.Parallel()
	data := tarOf(t, []file{{"a.txt", make([]byte, 600)}, {"b.txt", make([]byte, 400)}})
	for bytes, ok := range map[int64]bool{1000: true, 999: false} {
		a := newArrayJob()
		a.job.Options.Limits = pack.Limits{Bytes: bytes}
		_, err := a.job.Run(t.Context(), a.in, a.put(t, "a.tar", data))
		if ok != (err == nil) || !ok && !errors.Is(err, formats.ErrTooLarge) {
			t.Errorf("%d: %v", bytes, err)
		}
	}
}
