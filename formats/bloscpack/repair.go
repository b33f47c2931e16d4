package bloscpack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
)

// Repaired is the result of Repair.
type Repaired struct {
	Salvaged

	// Aborted tells that the file was not finished and had no other fault: Stop
	// is only that error.
	Aborted bool
}

// Repair writes the undamaged chunks of a file, as Salvage finds them, to w as a new
// file of the same kind with the same metadata. If a chunk is lost, later chunks move
// up. Repair corrects metadata that count or name the items. If an array lost chunks, or
// the names of files are not certain, the new file is a plain list of chunks or items,
// and the old metadata are kept under "salvaged". progress is told the encoded bytes of
// saved chunks, and the number of bytes behind the table.
//
// If no chunk can be saved, Repair returns the error that stopped Salvage. After an
// error the caller aborts w.
func (f *File) Repair(ctx context.Context, w Reheader, progress formats.Progress) (Repaired, error) {
	r := &repair{f: f, out: w}
	r.arr, r.isArray, r.arrErr = f.Array()
	defer r.abort()
	var done int64
	s, err := f.Salvage(ctx, func(i int64, chunk, p []byte) error {
		done += int64(len(chunk))
		progress.Tell(done, f.size-f.body)
		return r.add(i, chunk, p)
	})
	if err != nil {
		return Repaired{}, err
	}
	if s.Chunks == 0 && s.Stop != nil {
		return Repaired{}, fmt.Errorf("nothing to save: %w", s.Stop)
	}
	if err := r.finish(s); err != nil {
		return Repaired{}, err
	}
	is := f.notAborted()
	return Repaired{s, is != nil && s.Stop != nil && s.Stop.Error() == is.Error()}, nil
}

// A repair copies undamaged chunks, still encoded, into a new file.
type repair struct {
	f       *File
	out     Reheader
	w       *Writer // nil before the first chunk
	files   []int64 // numbers of the saved items, if the items are files
	next    int64   // number of the next chunk if no chunk is lost
	moved   bool    // a chunk was lost before a saved one
	arr     Array
	isArray bool // the metadata describe an array, perhaps one that cannot be used
	arrErr  error
}

func (r *repair) abort() {
	if r.w != nil {
		r.w.Abort()
	}
}

// begin starts the new file, once, with the options of the old one. size is the
// decoded length of its chunks if the old header does not tell.
func (r *repair) begin(size int) (err error) {
	if r.w != nil {
		return nil
	}
	h, m := r.f.h, r.f.mh
	o := WriteOptions{Variable: h.Variable, Version: h.Version, Checksum: h.Checksum, NoChecksum: h.Checksum == None,
		Encode: blosc.EncodeOptions{TypeSize: max(h.TypeSize, 1)}, NoOffsets: !h.Offsets, MaxAppend: h.MaxAppend, Limits: r.f.Limits()}
	if !h.Variable {
		o.ChunkSize = size
		if h.ChunkSize > 0 {
			o.ChunkSize = int(h.ChunkSize)
		}
	}
	if o.MaxAppend == 0 && h.Chunks >= 0 {
		o.MaxAppend = NoAppend
	}
	if raw := r.f.Metadata(); raw != nil {
		o.Metadata = raw
		o.Meta = MetaOptions{Checksum: m.Checksum, NoChecksum: m.Checksum == None, Plain: m.Codec == MetaPlain, Room: int(m.Room)}
	}
	r.w, err = NewWriter(r.out, o)
	return err
}

func (r *repair) add(i int64, chunk, p []byte) error {
	r.moved, r.next = r.moved || i != r.next, i+1
	if err := r.begin(len(p)); err != nil {
		return err
	}
	if r.f.contents().Kind == KindFiles {
		r.files = append(r.files, i)
	}
	if len(p) == 0 && !r.f.h.Variable {
		return nil // an empty file has one empty chunk, which the Writer makes itself
	}
	err := r.w.WriteEncoded(chunk)
	switch {
	case !errors.Is(err, ErrRefused):
		return err
	case r.f.h.Variable:
		return r.w.WriteItem(p)
	}
	_, err = r.w.Write(p) // a chunk of another length: the bytes after it move up
	return err
}

// finish corrects the metadata and closes the new file.
func (r *repair) finish(s Salvaged) error {
	if err := r.begin(0); err != nil {
		return err
	}
	if raw := r.f.Metadata(); raw != nil {
		meta, err := r.metadata(raw, s)
		if err != nil {
			return err
		}
		if err := r.w.SetMetadata(meta); err != nil {
			return err
		}
	}
	return r.w.Close()
}

// metadata returns the old metadata raw, with the number and the names of the saved
// items.
func (r *repair) metadata(raw json.RawMessage, s Salvaged) (json.RawMessage, error) {
	m := parsed[map[string]json.RawMessage](raw)
	if m == nil {
		return raw, nil
	}
	salvaged := func() (json.RawMessage, error) { return json.Marshal(map[string]json.RawMessage{"salvaged": raw}) }
	if r.isArray || r.arrErr != nil {
		if r.arrErr == nil && r.arr.NBytes() == s.Bytes && !r.moved && !s.Guessed {
			return raw, nil
		}
		return salvaged()
	}
	if !r.f.h.Variable {
		return raw, nil
	}
	c := r.f.contents()
	if c.Kind == KindFiles && (int64(len(c.Names)) != s.Chunks || r.moved || s.Guessed) {
		names, ok := r.named(s)
		if !ok {
			return salvaged()
		}
		if err := putJSON(m, "names", chosen(names, r.files)); err != nil {
			return nil, err
		}
		if len(c.Sizes) == len(names) {
			if err := putJSON(m, "sizes", chosen(c.Sizes, r.files)); err != nil {
				return nil, err
			}
		}
	} else if shape := parsed[[]int64](m["shape"]); shape == nil || product(shape) == s.Chunks {
		return raw, nil
	}
	if err := putJSON(m, "shape", []int64{s.Chunks}); err != nil {
		return nil, err
	}
	return json.Marshal(m)
}

func putJSON(m map[string]json.RawMessage, name string, v any) (err error) {
	m[name], err = json.Marshal(v)
	return err
}

// named returns the old list of names. ok is false if the numbers of saved items may
// not fit it, so that an item could get another file's name.
func (r *repair) named(s Salvaged) (names []string, ok bool) {
	names = r.f.contents().Names
	if h := r.f.h; h.Chunks >= 0 && h.Chunks != int64(len(names)) || s.Guessed {
		return nil, false
	}
	return names, !slices.ContainsFunc(r.files, func(i int64) bool { return i >= int64(len(names)) })
}

func product(shape []int64) int64 {
	n := int64(1)
	for _, s := range shape {
		n *= s
	}
	return n
}

func chosen[T any](list []T, numbers []int64) []T {
	out := make([]T, 0, len(numbers))
	for _, i := range numbers {
		out = append(out, list[i])
	}
	return slices.Clip(out)
}
