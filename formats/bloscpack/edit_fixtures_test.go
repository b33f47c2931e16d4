package bloscpack_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/formats/formattest"
)

// memFile is a file in memory.
type memFile struct{ b []byte }

func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(f.b).ReadAt(p, off)
}

func (f *memFile) WriteAt(p []byte, off int64) (int, error) {
	if more := int(off) + len(p) - len(f.b); more > 0 {
		f.b = append(f.b, make([]byte, more)...)
	}
	return copy(f.b[off:], p), nil
}

func (f *memFile) Truncate(n int64) error {
	f.b = append(f.b, make([]byte, max(int(n)-len(f.b), 0))...)[:n]
	return nil
}

// TestEditFixtures: files of the Python tool take more bytes if they have room for
// them, and other metadata; the old content stays.
func TestEditFixtures(t *testing.T) {
	t.Parallel()
	grown := 0
	for _, x := range manifest(t) {
		if x.Kind == "malformed" {
			continue
		}
		p := load(t, x.File)
		f := open(t, p, bloscpack.Options{})
		m := &memFile{bytes.Clone(p)}
		e, err := bloscpack.Edit(t.Context(), m, int64(len(p)), bloscpack.EditOptions{})
		if f.Aborted() {
			if !errors.Is(err, formats.ErrCorrupt) {
				t.Errorf("%s: an aborted file: %v", x.File, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", x.File, err)
			continue
		}
		before, err := collect(t.Context(), f)
		if err != nil && !errors.Is(err, formats.ErrNoEntry) {
			t.Fatalf("%s: %v", x.File, err)
		}
		more := bytes.Repeat([]byte("more "), 1+int(f.Header().ChunkSize)/4)
		switch err := e.Extend(more); {
		case errors.Is(err, bloscpack.ErrRefused):
			if h := f.Header(); h.Version == bloscpack.Version3 && h.MaxAppend > 2 {
				t.Errorf("%s: %v", x.File, err)
			}
			if err := e.Close(); err != nil || !bytes.Equal(m.b, p) {
				t.Errorf("%s: refused, but changed: %v", x.File, err)
			}
			continue
		case err != nil:
			t.Errorf("%s: %v", x.File, err)
			continue
		}
		if f.Header().Meta {
			if err := e.SetMetadata(1); err != nil {
				t.Errorf("%s: %v", x.File, err)
			}
		}
		if err := e.Close(); err != nil {
			t.Errorf("%s: %v", x.File, err)
			continue
		}
		grown++
		g := open(t, m.b, bloscpack.Options{})
		after, err := collect(t.Context(), g)
		if want := append(bytes.Join(before, nil), more...); err != nil || !bytes.Equal(bytes.Join(after, nil), want) {
			t.Errorf("%s: what is read is not what was there and %d bytes: %v", x.File, len(more), err)
		}
		if f.Header().Meta && string(g.Metadata()) != "1" {
			t.Errorf("%s: metadata %s", x.File, g.Metadata())
		}
	}
	if grown < 20 {
		t.Errorf("only %d files were appended to", grown)
	}
}

// editAny appends to bytes that may be no file at all.
func editAny(t *testing.T, p []byte) {
	t.Helper()
	m := &memFile{bytes.Clone(p)}
	e, err := bloscpack.Edit(t.Context(), m, int64(len(p)), bloscpack.EditOptions{Limits: formats.Limits{MaxDecoded: 1 << 20, MaxEntries: 1 << 16, MaxMeta: 1 << 20}})
	if err != nil {
		if !formattest.Allowed(err) && !errors.Is(err, bloscpack.ErrRefused) {
			t.Errorf("error of no known class: %v", err)
		}
		if !bytes.Equal(m.b, p) {
			t.Error("changed, though it was not opened")
		}
		return
	}
	err = errors.Join(e.Extend([]byte("some bytes that are new")), e.SetMetadata("other"), e.Extend(make([]byte, 1000)))
	if err != nil && !errors.Is(err, bloscpack.ErrRefused) && !formattest.Allowed(err) {
		t.Errorf("error of no known class: %v", err)
	}
	if err := e.Abort(); err != nil || !bytes.Equal(m.b, p) {
		t.Errorf("after Abort: %v, %d bytes of %d", err, len(m.b), len(p))
	}
}

// TestEditMalformed: no damage makes an editor panic, or lose the old content.
func TestEditMalformed(t *testing.T) {
	t.Parallel()
	for _, x := range manifest(t) {
		if x.Kind == "malformed" {
			editAny(t, load(t, x.File))
		}
	}
}

func FuzzEdit(f *testing.F) {
	for _, x := range manifest(f) {
		if p := load(f, x.File); len(p) < 4000 {
			f.Add(p)
		}
	}
	f.Fuzz(editAny)
}

// TestNull: the Python tool takes metadata of null for no metadata. If there is a
// section for them, an append of the tool clears the bit that says so. So version 3
// gets no section for null.
func TestNull(t *testing.T) {
	t.Parallel()
	for _, version := range []int{bloscpack.Version3, bloscpack.Version4} {
		for name, v := range map[string]any{"text": json.RawMessage(" null "), "pointer": (*int)(nil)} {
			f := open(t, write(t, bloscpack.WriteOptions{Version: version, Metadata: v}, [][]byte{{1}}), bloscpack.Options{})
			if has := version == bloscpack.Version4; f.Header().Meta != has || (f.Metadata() != nil) != has {
				t.Errorf("version %d, %s: %+v", version, name, f.Header())
			}
		}
	}
	m := &memFile{write(t, bloscpack.WriteOptions{Metadata: "some"}, [][]byte{{1}})}
	before := bytes.Clone(m.b)
	e, err := bloscpack.Edit(t.Context(), m, int64(len(m.b)), bloscpack.EditOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.SetMetadata(json.RawMessage("null")); !errors.Is(err, bloscpack.ErrRefused) {
		t.Error(err)
	}
	if err := e.Close(); err != nil || !bytes.Equal(m.b, before) {
		t.Error("changed", err)
	}
}
