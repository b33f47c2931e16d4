package zarrface_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/internal/zarrface"
)

// FuzzArray: any bytes that are an array give a document or a reason, and chunks or reasons.
func FuzzArray(f *testing.F) {
	files, err := filepath.Glob(filepath.Join(fixtureDir, "malformed", "*"))
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range []string{"dtype_bei4", "dtype_struct", "dtype_leM8_D", "empty_0x5x7", "pipe_delta", "make_nans", "meta_extra", "scalar_f8", "delta_behind_bytedelta"} {
		files = append(files, filepath.Join(fixtureDir, name+".b2nd"))
	}
	for _, file := range files {
		if b, err := os.ReadFile(file); err == nil && len(b) < 8<<10 { // some are folders
			f.Add(b, uint8(0))
			f.Add(b, uint8(13))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, how uint8) {
		limits := formats.Limits{MaxDecoded: 1 << 20, MaxEntries: 1 << 12, MaxMeta: 1 << 20}
		a, err := b2nd.Open(t.Context(), reader(bytes.Clone(b)), b2nd.Options{Limits: limits, Parallel: 1})
		if err != nil {
			return
		}
		vl, err := a.Frame().VLMetalayers(t.Context())
		if err != nil {
			vl = nil
		}
		o := zarrface.Options{Codec: zarrface.Codec(how % 4), Blocks: how&4 != 0, Folder: how&8 != 0}
		if how&16 != 0 {
			o.Cast = "uint8"
		}
		v, err := zarrface.New(t.Context(), a, vl, o)
		if err != nil {
			if !errors.Is(err, formats.ErrUnsupported) {
				t.Fatal(err)
			}
			return
		}
		parse(t, v.Doc())
		keys(zarrface.Count(v), 3, func(key string) {
			c, err := v.Key(key)
			if err != nil || c.Size > 4<<20 {
				return
			}
			stored, err := a.Frame().AppendStored(t.Context(), nil, c.Number)
			if err != nil {
				return
			}
			if o.Codec == zarrface.Pass && o.Cast == "" {
				damaged(t, v, c, stored)
			} else if _, err := v.Encode(nil, c, stored); err != nil && !errors.Is(err, formats.ErrCorrupt) && !errors.Is(err, formats.ErrUnsupported) {
				t.Fatal(err)
			}
		})
	})
}
