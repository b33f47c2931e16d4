package quickstart

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/farread/farread"
	"github.com/farread/farread/cmd/farread/internal/sample"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/internal/picture"
)

const (
	arrayPrefix = "arrays/"
	// slicesFolder lies in the folder of the local cloud.
	slicesFolder = "slices"
	// shownSlice is the one that is drawn, as the command line spells it.
	shownSlice = "30, :, :"
)

func arrayOutput() output {
	return output{format: b2nd.Format, data: pack.ArraySuffix, commit: pack.ArraySuffix}
}

// arrayStory: a plane, cold and warm, a cube, and a column through all planes.
func arrayStory(v sample.Volume) (story, error) {
	d, err := dtype.Parse("<f4")
	if err != nil {
		return story{}, err
	}
	file, err := npy.AppendHeader(nil, npy.Header{DType: d, Shape: v.Shape})
	if err != nil {
		return story{}, err
	}
	for _, x := range v.Values {
		file = binary.LittleEndian.AppendUint32(file, math.Float32bits(x))
	}
	var got []byte
	plane := cut(v, shownSlice, shownSlice+" of "+v.ID+", cold", false, &got)
	plane.picture = v.ID + ".png"
	plane.save = func(folder string) error { return draw(filepath.Join(folder, v.ID), d, v.Shape[1:], got) }
	return story{
		upload: upload{fmt.Sprintf("%s: a .npy of %s float32", v.ID, strings.Trim(strings.ReplaceAll(fmt.Sprint(v.Shape), " ", " x "), "[]")),
			[]sample.File{{Name: arrayPrefix + v.ID + ".npy", Data: file}}},
		output: arrayOutput(),
		steps: []step{
			plane,
			cut(v, shownSlice, "the same again, warm", true, nil),
			cut(v, "20:30, 100:132, 160:192", "20:30, 100:132, 160:192, warm", true, nil),
			cut(v, ":, 120, 200", ":, 120, 200 (a day), warm", true, nil),
		},
	}, nil
}

// cut reads a slice and compares it with the volume's own values. The bytes go
// to keep, if it is not nil.
func cut(v sample.Volume, text, what string, warm bool, keep *[]byte) step {
	return step{what: what, warm: warm, run: func(ctx context.Context, s *session, uri string) (int64, error) {
		if !warm || s.array == nil {
			var err error
			if s.array, err = s.client.OpenArray(ctx, uri, farread.FrameOptions{}); err != nil {
				return 0, err
			}
		}
		if m := s.array.Meta(); !slices.Equal(m.Shape, v.Shape) || m.DType != "<f4" {
			return 0, fmt.Errorf("%s: %s of shape %v: %w", uri, m.DType, m.Shape, ErrMismatch)
		}
		box, err := resolve(text, v.Shape)
		if err != nil {
			return 0, err
		}
		want := items(v, box)
		got := make([]byte, len(want))
		if err := s.array.ReadSlice(ctx, got, box); err != nil {
			return 0, err
		}
		if !bytes.Equal(got, want) {
			return 0, fmt.Errorf("%s: slice %s: %w", uri, text, ErrMismatch)
		}
		if keep != nil {
			*keep = got
		}
		return int64(len(got)), nil
	}}
}

func resolve(text string, shape []int64) (b2nd.Box, error) {
	s, err := b2nd.ParseSlice(text)
	if err != nil {
		return b2nd.Box{}, err
	}
	return s.Resolve(shape)
}

// items are those of a box with steps of one, little-endian, picked one by one:
// not by the code that they are to check.
func items(v sample.Volume, box b2nd.Box) []byte {
	var p []byte
	for z := box.Start[0]; z < box.Stop[0]; z++ {
		for y := box.Start[1]; y < box.Stop[1]; y++ {
			for x := box.Start[2]; x < box.Stop[2]; x++ {
				p = binary.LittleEndian.AppendUint32(p, math.Float32bits(v.Values[(z*v.Shape[1]+y)*v.Shape[2]+x]))
			}
		}
	}
	return p
}

// draw writes a plane as name.png and name.npy, as the slice command does.
func draw(name string, d dtype.DType, shape []int64, plane []byte) error {
	var image bytes.Buffer
	if err := picture.Encode(&image, d, shape, plane, picture.Options{}); err != nil {
		return err
	}
	file, err := npy.AppendHeader(nil, npy.Header{DType: d, Shape: shape})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
		return err
	}
	return errors.Join(os.WriteFile(name+".png", image.Bytes(), 0o600), os.WriteFile(name+".npy", append(file, plane...), 0o600))
}
