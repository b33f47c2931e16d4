package pack

import (
	"context"
	"encoding/json"
	"path"

	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/functions/internal/kit"
)

// RecordsOf is how the items of a file of version 4 that Items.Write made were told apart, so
// that others can be added. Other files are formats.ErrUnsupported.
func RecordsOf(f *bloscpack.File) (Records, error) {
	c := f.Contents()
	switch {
	case !f.Header().Variable:
		return "", kit.Unsupported("it has chunks of one size, not items of any length: pack all of it again")
	case c.Kind == bloscpack.KindLines:
		return Lines, nil
	case c.Kind == bloscpack.KindJSONL:
		return JSONL, nil
	case c.Kind == bloscpack.KindFiles && f.Names() != nil && len(c.Sizes) == len(c.Names):
		return Files, nil
	case c.Kind == bloscpack.KindRecords && Records(c.Prefix).prefixed():
		return Records(c.Prefix), nil
	}
	return "", kit.Unsupported("its metadata do not say what its items are: it was not made by farread pack")
}

// Append writes a file into w that has the items of f and these, told apart in the same way
// (RecordsOf). keep copies a range of the bytes of f to w, as objstore.Splice does: all items that
// are there are copied by one call, as they are. w is then to be committed. Checksum, Chunk, TypeSize, MaxAppend and
// Seal of o have no effect: f has them. Items of names that f has already are formats.ErrCorrupt.
// The upload is read once; memory is that of Write, and eight bytes for each item.
func (s *Items) Append(ctx context.Context, w bloscpack.Reheader, f *bloscpack.File, keep func(off, n int64) error, o ItemWrite) (Written, error) {
	by, err := RecordsOf(f)
	if err != nil {
		return Written{}, err
	}
	if by != s.By {
		return Written{}, kit.Unsupported("items that are %s do not go behind %s", s.By, by)
	}
	enc := ItemEncode(s.By)
	if o.Encode != nil {
		enc = *o.Encode
	}
	if f.Header().TypeSize <= 1 && enc.Filters == nil {
		enc.Filters = []blosc.Filter{} // as Write does
	}
	bw, err := bloscpack.Grow(ctx, w, f, keep, bloscpack.WriteOptions{Encode: enc, Parallel: o.Parallel})
	if err != nil {
		return Written{}, err
	}
	defer bw.Abort()
	progress := s.meter(o)
	c := newCutter(s.By, s.limits, bw.WriteItem)
	had := f.Contents()
	var list *names
	if s.By == Files {
		c.emit = func(p []byte) error {
			if progress != nil {
				progress(len(p))
			}
			return bw.WriteItem(p)
		}
		if list, err = named(s.limits.Meta, had.Names, had.Sizes); err == nil {
			list, err = c.moreFiles(ctx, s.src, s.limits, list)
		}
	} else {
		err = s.cut(ctx, c, progress)
	}
	if err != nil {
		return Written{}, err
	}
	did := Written{c.n, c.bytes}
	meta, err := s.grown(f, c, list)
	if err != nil {
		return Written{}, err
	}
	if err := bw.SetMetadata(meta); err != nil {
		return Written{}, err
	}
	if err = bw.Close(); err == nil && o.Done != nil {
		o.Done(did)
	}
	return did, err
}

// grown is the metadata of the items of f and those that c has cut. Keys that are not ours
// stay.
func (s *Items) grown(f *bloscpack.File, c *cutter, list *names) (json.RawMessage, error) {
	var was map[string]json.RawMessage
	if err := json.Unmarshal(f.Metadata(), &was); err != nil {
		return nil, kit.Corrupt("metadata: %v", err)
	}
	if string(was["dtype"]) != `"varchar"` {
		c.text = false
	}
	n := c.n
	c.n += f.Len()
	if n == 0 { // what the last line ends in has not changed
		if last := f.Contents().FinalNewline; last != nil {
			c.open = !*last
		}
	}
	text, err := s.meta(c, list, nil)
	if err != nil {
		return nil, err
	}
	var now map[string]json.RawMessage
	if err := json.Unmarshal(text, &now); err != nil {
		return nil, err
	}
	more := map[string]json.RawMessage{}
	for k, v := range was {
		if _, ours := now[k]; !ours && k != "farread" && k != "final_newline" {
			more[k] = v
		}
	}
	if len(more) == 0 {
		return text, nil
	}
	rest, err := json.Marshal(more)
	if err != nil {
		return nil, err
	}
	return append(append(text[:len(text)-1:len(text)-1], ','), rest[1:]...), nil
}

// named begins a list of names with those of a file that is there.
func named(most int64, had []string, sizes []int64) (*names, error) {
	list := newNames(most)
	for i, name := range had {
		if err := list.add(path.Clean(name), sizes[i]); err != nil {
			return nil, kit.Fail("metadata", name, -1, err)
		}
	}
	return list, nil
}
