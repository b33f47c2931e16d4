package pack

import (
	"bufio"
	"context"
	"errors"
	"io"

	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/functions/internal/kit"
)

// StreamedArray returns the array that comes on r from front to end: items that the note
// describes, or if there is none a .npy, of which the header is read now. Write reads
// the items, once. One in Fortran order has to fit into half of the memory of Write. If there
// are less items than the header says, or other bytes behind them, the error is
// formats.ErrCorrupt.
func StreamedArray(r io.Reader, note *npy.Note) (Array, error) {
	in := bufio.NewReaderSize(r, 1<<20)
	var h npy.Header
	skip := int64(0)
	if note != nil {
		h, skip = note.Header(), note.Offset
	} else {
		var err error
		if h, _, err = npy.ParseHeader(in); err != nil {
			return Array{}, err
		}
	}
	a, err := newArray("", h)
	if err != nil {
		return Array{}, err
	}
	read := false
	a.each = func(_ context.Context, f func(io.Reader) error) error {
		if read {
			return errors.New("pack: a stream is read once")
		}
		read = true
		if _, err := io.CopyN(io.Discard, in, skip); err != nil {
			return kit.Fail("stream", "", 0, kit.Corrupt("less than the %d bytes before the items", skip))
		}
		items := &io.LimitedReader{R: in, N: a.NBytes}
		switch err := f(items); {
		case items.N > 0 && (err == nil || errors.Is(err, io.ErrUnexpectedEOF)):
			return kit.Fail("stream", "", -1, kit.Corrupt("truncated: %d bytes of items, %d wanted", a.NBytes-items.N, a.NBytes))
		case err != nil:
			return err
		}
		if _, err := in.ReadByte(); !errors.Is(err, io.EOF) {
			if err == nil {
				err = kit.Fail("stream", "", -1, kit.Corrupt("bytes behind the %d of the items", a.NBytes))
			}
			return err
		}
		return nil
	}
	return a, nil
}
