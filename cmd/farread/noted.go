package main

import (
	"context"

	"github.com/farread/farread/cmd/farread/internal/sink"
	"github.com/farread/farread/formats/npy"
)

// unpackNoted writes a selection of an array's items to a new file, and a note about
// them to a file beside it. Both files appear together.
func (a *app) unpackNoted(ctx context.Context, x selection, n npy.Note, dst string, force bool) error {
	name := dst + npy.NoteSuffix
	if err := a.fresh(name, force); err != nil {
		return err
	}
	note, err := npy.AppendNote(nil, n)
	if err != nil {
		return err
	}
	both := &notedSelection{selection: x, name: name, note: note}
	err = a.unpackBytes(ctx, both, dst, force)
	if err != nil || both.along {
		return err
	}
	return sink.WriteFile(&a.trash, name, note)
}

// A notedSelection is a selection and the note that is written beside OUT.
type notedSelection struct {
	selection

	name  string
	note  []byte
	along bool // the note appears together with OUT, which is a file
}

func (x *notedSelection) sink(out string) (sink.Sink, error) {
	s, err := x.selection.sink(out)
	if f, ok := s.(*sink.File); ok && err == nil {
		if err = f.With(x.name, x.note); err != nil {
			f.Abort()
		}
		x.along = true
	}
	return s, err
}
