package pack_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/functions/pack"
)

// TestZipNames: names without the UTF-8 flag are in the code page of the format
// unless they read as UTF-8; with the flag they are what they claim, or refused.
func TestZipNames(t *testing.T) {
	t.Parallel()
	p := picture(t, 1)
	for name, c := range map[string]struct {
		stored string
		flag   bool
		id     string // "": refused
	}{
		"ascii":               {"a/1.jpg", false, "a"},
		"code page":           {"M\x81ller \x9b\xe1/1.jpg", false, "Müller ¢ß"},
		"all of its upper":    {"\x80\xb0\xc0\xdf\xe0\xfe/1.jpg", false, "Ç░└▀α■"},
		"other code page":     {"\xfcb/1.jpg", false, "ⁿb"},
		"utf-8, no flag":      {"Müller/1.jpg", false, "Müller"},
		"utf-8":               {"日本/1.jpg", true, "日本"},
		"backslashes":         {"M\x81\\x\\1.jpg", false, "Mü/x"},
		"flag over code page": {"M\x81ller/1.jpg", true, ""},
		"leaves the folder":   {"\x81/../../1.jpg", false, ""},
		"control characters":  {"\x81\x1f/1.jpg", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			w := zip.NewWriter(&b)
			e, err := w.CreateHeader(&zip.FileHeader{Name: c.stored, Method: zip.Store, NonUTF8: !c.flag})
			if err != nil {
				t.Fatal(err)
			}
			e.Write(p)
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			data := b.Bytes()
			if c.flag { // also where the writer knows better
				for sig, at := range map[string]int{"PK\x03\x04": 6, "PK\x01\x02": 8} {
					i := bytes.Index(data, []byte(sig)) + at
					binary.LittleEndian.PutUint16(data[i:], binary.LittleEndian.Uint16(data[i:])|1<<11)
				}
			}
			in, out := stores()
			err = run(t, in, out, put(t, in, "x.zip", data, nil), pack.Options{})
			if c.id == "" {
				if !errors.Is(err, formats.ErrCorrupt) {
					t.Error(err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff([]string{c.id}, read(t, out, "x.zip").IDs); d != "" {
				t.Error(d)
			}
		})
	}
}
