package npy_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/npy"
)

func TestNote(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]error{
		`{"dtype":"<f4","shape":[120,256]}`:                          nil,
		`{"dtype":"<f4","shape":[120,256],"order":"F","offset":128}`: nil,
		`{"dtype":"<f4","shape":[]}`:                                 nil,
		"{\"dtype\":\"[('a', '<i4'), ('b', '|S3')]\",\"shape\":[2]}": nil,
		`{"dtype":"<f4"}`:                                 formats.ErrCorrupt,
		`{"shape":[1]}`:                                   formats.ErrCorrupt,
		`{"dtype":"<f4","shape":[1],"x":1}`:               formats.ErrCorrupt,
		`{"dtype":"<f4","shape":[-1]}`:                    formats.ErrCorrupt,
		`{"dtype":"<f4","shape":[1],"order":"A"}`:         formats.ErrCorrupt,
		`{"dtype":"<f4","shape":[1],"offset":-1}`:         formats.ErrCorrupt,
		`{"dtype":"<f4","shape":[1.5]}`:                   formats.ErrCorrupt,
		`{"dtype":"<f4","shape":[1]} {}`:                  formats.ErrCorrupt,
		`{"dtype":"<f4","shape":[4294967296,4294967296]}`: formats.ErrTooLarge,
		``: formats.ErrCorrupt,
	} {
		n, err := npy.ParseNote([]byte(text))
		if want != nil {
			if !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", text, err, want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		p, err := npy.AppendNote(nil, n)
		if err != nil {
			t.Fatal(err)
		}
		back, err := npy.ParseNote(p)
		if err != nil || back.DType.String() != n.DType.String() || !slices.Equal(back.Shape, n.Shape) || back.Fortran != n.Fortran || back.Offset != n.Offset {
			t.Errorf("%s: %+v became %s, %+v, %v", text, n, p, back, err)
		}
	}
	if _, err := npy.ParseNote(make([]byte, npy.MaxNote+1)); !errors.Is(err, formats.ErrTooLarge) {
		t.Errorf("a long text: %v", err)
	}
}

func FuzzNote(f *testing.F) {
	f.Add([]byte(`{"dtype":"<f4","shape":[120,256],"order":"F","offset":128}`))
	f.Fuzz(func(t *testing.T, p []byte) {
		n, err := npy.ParseNote(p)
		if err != nil {
			return
		}
		if _, err := npy.AppendNote(nil, n); err != nil {
			t.Errorf("%q: %v", p, err)
		}
	})
}

// TestWrongNotes: the author of a note is told what to mend, in the note's own words.
func TestWrongNotes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"dtype":"<f4","shape":4}`:                "note: shape: number, want a list of lengths: corrupt data",
		`{"dtype":"<f4","shape":[1.5]}`:            "note: shape: number 1.5, want a list of lengths: corrupt data",
		`{"dtype":["<f4"],"shape":[1]}`:            "note: dtype: array, want text: corrupt data",
		`{"dtype":"<f4","shape":[1],"offset":"8"}`: "note: offset: string, want a number of bytes: corrupt data",
		`{"dtype":"<f4","shape":[1],"units":"m"}`:  `note: unknown field "units": corrupt data`,
		`[1]`: "note: array, want an object: corrupt data",
		``:    "note: no text: corrupt data",
	} {
		if _, err := npy.ParseNote([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
