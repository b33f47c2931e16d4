package cframe

import "testing"

// A countedFile counts the bytes that are read of it.
type countedFile struct {
	memFile
	read int64
}

func (f *countedFile) ReadAt(p []byte, off int64) (int, error) {
	f.read += int64(len(p))
	return f.memFile.ReadAt(p, off)
}

func (f *countedFile) Size() int64 { return int64(len(f.b)) }

// Edit reads the ends of a file, whatever lies between them.
func TestEditReadsEnds(t *testing.T) {
	const chunk, chunks = 1 << 20, 4
	f := &countedFile{}
	f.b = write(t, WriteOptions{ChunkSize: chunk}, func(w *Writer) {
		for i := range chunks {
			must(t, w.WriteChunk(noise(chunk, i)))
		}
	})
	edit(t, f, EditOptions{}, func(e *Editor) { must(t, e.Extend(ramp(100, 1))) })
	if f.read > chunk {
		t.Errorf("read %d bytes of %d", f.read, len(f.b))
	}
}
