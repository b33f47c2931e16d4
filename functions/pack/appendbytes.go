package pack

import (
	"context"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/functions/internal/kit"
	"github.com/farread/farread/internal/pull"
	"github.com/farread/farread/rangeio"
)

// arrayLayer is the metalayer that makes an array of a frame.
const arrayLayer = "b2nd"

// AppendBytes writes the bytes of r behind those of the frame in e: it fills the last chunk up,
// and adds others of the frame's size, or of size bytes where sizes vary in the frame. The
// caller then commits e. The result decodes to the bytes of both; an append of bytes to an
// array, or to a frame whose blocks vary in length, is formats.ErrUnsupported.
//
// It reads r once, in requests of window bytes, but a chunk at least, the next one meanwhile;
// memory is that of three of them and of a chunk.
func AppendBytes(ctx context.Context, e *cframe.Editor, r rangeio.Reader, window int64, size int, progress formats.Progress) error {
	for _, m := range e.Metalayers() {
		if m.Name == arrayLayer {
			return kit.Unsupported("it is an array, not bytes: it grows as a .b2nd")
		}
	}
	chunk := e.Info().ChunkSize
	var part []byte
	switch {
	case chunk <= 0:
		chunk = size
	case e.Chunks() > 0:
		var err error
		if part, err = lastPart(e, chunk); err != nil {
			return err
		}
	}
	over := len(part) > 0 // the next chunk replaces the last one
	emit := func(p []byte) error {
		if !over {
			return e.Extend(p)
		}
		over = false
		return e.Update(e.Chunks()-1, p)
	}
	window = max(window/int64(chunk), 1) * int64(chunk)
	p := pull.Pull[struct{}]{From: r, Window: window}
	p.Stretch(0, r.Size(), window)
	done := int64(0)
	for w, err := range p.Windows(ctx) {
		if err != nil {
			return err
		}
		for b := w.Bytes(0); len(b) > 0; {
			n := min(chunk-len(part), len(b))
			full := b[:n]
			if b = b[n:]; len(part) > 0 || n < chunk {
				part = append(part, full...)
				full = part
			}
			if len(full) < chunk {
				break
			}
			if err := emit(full); err != nil {
				return err
			}
			part = part[:0]
		}
		done += w.Parts[0].Len
		progress.Tell(done, r.Size())
	}
	if len(part) == 0 || over && r.Size() == 0 {
		return nil
	}
	return emit(part)
}

// lastPart returns the decoded bytes of the last chunk if it is shorter than the others.
func lastPart(e *cframe.Editor, chunk int) ([]byte, error) {
	stored, err := e.AppendStored(nil, e.Chunks()-1)
	if err != nil {
		return nil, err
	}
	h, err := blosc.ParseHeader(stored)
	switch {
	case err != nil:
		return nil, err
	case h.VL:
		return nil, kit.Unsupported("its blocks vary in length")
	case h.NBytes >= chunk:
		return nil, nil
	}
	return blosc.AppendDecoded(make([]byte, 0, chunk), stored)
}
