package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/objstore"
)

// blpReport is the JSON of `verify` for Bloscpack files.
type blpReport struct {
	Format   string `json:"format"`
	URI      string `json:"uri"`
	OK       bool   `json:"ok"`
	Variable bool   `json:"variable_length"`
	Chunks   int64  `json:"chunks"`
	NBytes   int64  `json:"nbytes"` // decoded
	CBytes   int64  `json:"cbytes"` // of the chunks, without checksums
	Checksum string `json:"checksum"`
	Dead     int64  `json:"dead_bytes"` // between chunks, in none of them
	After    int64  `json:"bytes_after"`
	// OtherTypeSize counts chunks whose item size is not the header's.
	OtherTypeSize int64 `json:"other_typesize"`
	// WrongOffsets says that the table contradicts the chunks, although they follow
	// each other.
	WrongOffsets bool `json:"wrong_offsets"`
}

// verify reads every chunk that was written, and then tells which were not.
func (t *blpContent) verify(ctx context.Context) (any, string, error) {
	h := t.f.Header()
	b := t.a.newBar("verify", t.f.Object.Size()-t.off-t.f.Body())
	defer b.clear()
	r, err := t.f.Verify(ctx, b.set)
	if err == nil {
		err = t.arrErr
	}
	if err == nil && r.Missing > 0 {
		err = t.itemError(r.FirstMissing, fmt.Errorf("never written, %s in all of %s: %w", count(r.Missing), count(t.f.Len()), formats.ErrNoEntry))
	}
	v := &blpReport{Format: bloscpack.Format, URI: t.uri, OK: err == nil, Variable: h.Variable, Chunks: r.Chunks, NBytes: r.NBytes,
		CBytes: r.CBytes, Checksum: h.Checksum.String(), Dead: r.Gaps, After: r.After, OtherTypeSize: r.OtherTypeSize, WrongOffsets: r.WrongOffsets}
	return v, v.text(), err
}

func (v *blpReport) text() string {
	sums := "no checksums"
	if v.Checksum != bloscpack.None.String() {
		sums = "every " + v.Checksum + " is right"
	}
	text := fmt.Sprintf("ok: %s, %s decoded from %s, %s", plural(v.Chunks, v.noun()), humanSize(v.NBytes), humanSize(v.CBytes), sums)
	if v.Dead > 0 {
		text += fmt.Sprintf("; %s between them belong to none", humanSize(v.Dead))
	}
	if v.After > 0 {
		text += fmt.Sprintf("; %s behind the last one belong to none", humanSize(v.After))
	}
	if v.OtherTypeSize > 0 {
		text += fmt.Sprintf("; the item size of %s is not that of the header", plural(v.OtherTypeSize, v.noun()))
	}
	if v.WrongOffsets {
		text += "; the table of offsets is wrong, and was not needed"
	}
	return text
}

func (v *blpReport) noun() string {
	if v.Variable {
		return "item"
	}
	return "chunk"
}

// A repairer is a content that can be saved from damage.
type repairer interface {
	// repair writes the whole parts of it to w. If it fails, it leaves nothing in w.
	repair(ctx context.Context, w objstore.Writer) (repaired, error)
}

// repaired is the JSON of `verify --repair`.
type repaired struct {
	Format string `json:"format"`
	URI    string `json:"uri"`
	Output string `json:"output"`
	Saved  int64  `json:"saved"`
	Lost   *int64 `json:"lost"` // null: the file does not tell how many there should be
	NBytes int64  `json:"nbytes"`
	Wrong  string `json:"wrong,omitempty"` // the first fault
	noun   string
}

func (r *repaired) text() string {
	text := fmt.Sprintf("saved %s, %s decoded, in %s", plural(r.Saved, r.noun), humanSize(r.NBytes), printable(r.Output))
	switch {
	case r.Lost == nil:
		text += "; how many there should have been is not known"
	case *r.Lost > 0:
		text += "; lost " + count(*r.Lost)
	default:
		text += "; lost none"
	}
	if r.Wrong != "" {
		return text + "; what was wrong first: " + r.Wrong
	}
	return text + "; nothing was wrong"
}

// A blpRepair copies whole chunks as they are into a new file.
type blpRepair struct {
	t     *blpContent
	out   objstore.Writer
	w     *bloscpack.Writer // nil before the first chunk
	files []int64           // of a container of files: the numbers that were saved
}

func (t *blpContent) repair(ctx context.Context, out objstore.Writer) (repaired, error) {
	b := t.a.newBar("repair", t.f.Object.Size()-t.off-t.f.Body())
	defer b.clear()
	r := &blpRepair{t: t, out: out}
	defer r.abort()
	s, err := t.f.Salvage(ctx, func(i int64, chunk, p []byte) error {
		b.add(int64(len(chunk)))
		return r.add(i, chunk, p)
	})
	if err != nil {
		return repaired{}, err
	}
	if s.Chunks == 0 && s.Stop != nil {
		return repaired{}, fmt.Errorf("nothing to save: %w", s.Stop)
	}
	if err := r.finish(s); err != nil {
		return repaired{}, err
	}
	rep := repaired{Format: bloscpack.Format, URI: t.uri, Saved: s.Chunks, NBytes: s.Bytes, noun: (&blpReport{Variable: t.f.Header().Variable}).noun()}
	if s.Lost >= 0 {
		rep.Lost = &s.Lost
	}
	if s.Stop != nil {
		rep.Wrong = s.Stop.Error()
	}
	if err := t.readable(ctx); err != nil && rep.Wrong == err.Error() { // the error of readable says what rep.Wrong says
		rep.Wrong = "aborted: its writing did not end"
	}
	return rep, nil
}

func (r *blpRepair) abort() {
	if r.w != nil {
		r.w.Abort()
	}
}

// begin starts a file of the same kind whose chunks but the last have size bytes.
func (r *blpRepair) begin(size int) (err error) {
	if r.w != nil {
		return nil
	}
	h, m := r.t.f.Header(), r.t.f.MetaHeader()
	o := bloscpack.WriteOptions{Variable: h.Variable, Version: h.Version, Checksum: h.Checksum, NoChecksum: h.Checksum == bloscpack.None,
		Encode: blosc.EncodeOptions{TypeSize: max(h.TypeSize, 1)}, NoOffsets: !h.Offsets, MaxAppend: h.MaxAppend, Limits: r.t.f.Limits()}
	if !h.Variable {
		o.ChunkSize = size
		if h.ChunkSize > 0 {
			o.ChunkSize = int(h.ChunkSize)
		}
	}
	if o.MaxAppend == 0 && h.Chunks >= 0 {
		o.MaxAppend = bloscpack.NoAppend
	}
	if raw := r.t.f.Metadata(); raw != nil {
		o.Metadata = raw
		o.Meta = bloscpack.MetaOptions{Checksum: m.Checksum, NoChecksum: m.Checksum == bloscpack.None, Plain: m.Codec == bloscpack.MetaPlain, Room: int(m.Room)}
	}
	r.w, err = bloscpack.NewWriter(r.out, o)
	return err
}

func (r *blpRepair) add(i int64, chunk, p []byte) error {
	if err := r.begin(len(p)); err != nil {
		return err
	}
	if r.t.meta.Container == kindFiles {
		r.files = append(r.files, i)
	}
	if len(p) == 0 && !r.t.f.Header().Variable {
		return nil // the one chunk of no bytes, which the writer makes itself
	}
	err := r.w.WriteEncoded(chunk)
	switch {
	case !errors.Is(err, bloscpack.ErrRefused):
		return err
	case r.t.f.Header().Variable:
		return r.w.WriteItem(p)
	}
	_, err = r.w.Write(p) // a chunk of another length: what follows moves up
	return err
}

// finish writes the content of the new file into its metadata.
func (r *blpRepair) finish(s bloscpack.Salvaged) error {
	if err := r.begin(0); err != nil {
		return err
	}
	if raw := r.t.f.Metadata(); raw != nil {
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

// metadata are those of the damaged file, with the numbers and names of the saved
// items. An array that lost chunks is no array any more, and files whose names are not
// sure become items: then the old metadata are kept under another name.
func (r *blpRepair) metadata(raw json.RawMessage, s bloscpack.Salvaged) (json.RawMessage, error) {
	m := parsed[map[string]json.RawMessage](raw)
	if m == nil {
		return raw, nil
	}
	put := func(name string, v any) (err error) {
		m[name], err = json.Marshal(v)
		return err
	}
	if r.t.arr != nil || r.t.arrErr != nil {
		if r.t.arrErr == nil {
			if want, err := r.t.npyHeader().NBytes(); err == nil && want == s.Bytes {
				return raw, nil
			}
		}
		return json.Marshal(map[string]json.RawMessage{"salvaged": raw})
	}
	if !r.t.f.Header().Variable {
		return raw, nil
	}
	if r.t.meta.Container == kindFiles && int64(len(r.t.meta.Names)) != s.Chunks {
		names, ok := r.numbered(s)
		if !ok {
			return json.Marshal(map[string]json.RawMessage{"salvaged": raw})
		}
		if err := put("names", chosen(names, r.files)); err != nil {
			return nil, err
		}
		if sizes := r.t.meta.Sizes; len(sizes) == len(names) {
			if err := put("sizes", chosen(sizes, r.files)); err != nil {
				return nil, err
			}
		}
	} else if shape := parsed[[]int64](m["shape"]); shape == nil || product(shape) == s.Chunks {
		return raw, nil
	}
	if err := put("shape", []int64{s.Chunks}); err != nil {
		return nil, err
	}
	return json.Marshal(m)
}

// numbered are the names of the saved items, by their numbers. ok is false if a number
// may be that of another file.
func (r *blpRepair) numbered(s bloscpack.Salvaged) (names []string, ok bool) {
	names = r.t.meta.Names
	if h := r.t.f.Header(); h.Chunks >= 0 && h.Chunks != int64(len(names)) || s.Guessed {
		return nil, false
	}
	return names, !slices.ContainsFunc(r.files, func(i int64) bool { return i >= int64(len(names)) })
}

// parsed is text as a T, the zero T if it is none.
func parsed[T any](text json.RawMessage) (v T) {
	if json.Unmarshal(text, &v) != nil {
		var zero T
		return zero
	}
	return v
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
