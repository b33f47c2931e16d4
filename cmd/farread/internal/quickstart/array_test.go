package quickstart

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/cmd/farread/internal/sample"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/objstore"
)

// tiny is a volume of few values.
func tiny() sample.Volume {
	v := sample.Volume{ID: "tiny", Title: "numbers", Shape: []int64{31, 5, 6}, Values: make([]float32, 31*5*6)}
	for i := range v.Values {
		v.Values[i] = float32(i) / 4
	}
	return v
}

func TestItems(t *testing.T) {
	v := tiny()
	for text, want := range map[string][]float32{
		"30, 1, 2:4": {(30*30 + 6 + 2) / 4., (30*30 + 6 + 3) / 4.}, "1:3, 4, 5": {(30 + 29) / 4., (60 + 29) / 4.},
	} {
		box, err := resolve(text, v.Shape)
		if err != nil {
			t.Fatal(err)
		}
		var p []byte
		for _, x := range want {
			p = binary.LittleEndian.AppendUint32(p, math.Float32bits(x))
		}
		if got := items(v, box); !bytes.Equal(got, p) {
			t.Errorf("%s: %x, want %x", text, got, p)
		}
	}
	if _, err := resolve("99", v.Shape); err == nil {
		t.Error("a plane that is not there")
	}
}

// TestArrayMismatch: one value that is not that of the source is seen.
func TestArrayMismatch(t *testing.T) {
	tr := start(t)
	tr.slices = t.TempDir()
	v := tiny()
	s, err := arrayStory(v)
	if err != nil {
		t.Fatal(err)
	}
	wrong, short := v, v
	wrong.Values = slices.Clone(v.Values)
	wrong.Values[30*30+7]++
	short.Shape = []int64{31, 30}
	for _, tt := range []struct {
		name string
		step step
		ok   bool
	}{
		{"equal", cut(v, "30, :, :", "", false, nil), true},
		{"wrong value not read", cut(wrong, ":30, :, :", "", false, nil), true},
		{"wrong value", cut(wrong, "30, 1:, :", "", false, nil), false},
		{"wrong value alone", cut(wrong, "30, 1, 1", "", false, nil), false},
		{"another shape", cut(short, "30, :", "", false, nil), false},
	} {
		s.steps = []step{tt.step}
		err := tr.run(t.Context(), []story{s})
		if tt.ok && err != nil || !tt.ok && !errors.Is(err, ErrMismatch) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// TestMade: what people upload while it is up is found, whatever it becomes.
func TestMade(t *testing.T) {
	tr := start(t)
	d, err := dtype.Parse("<f4")
	if err != nil {
		t.Fatal(err)
	}
	file, err := npy.AppendHeader(nil, npy.Header{DType: d, Shape: []int64{2, 3}})
	if err != nil {
		t.Fatal(err)
	}
	file = append(file, make([]byte, 24)...)
	var many bytes.Buffer
	z := zip.NewWriter(&many)
	for _, name := range []string{"a.npy", "b.npy"} {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(file); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	b, _, err := tr.writer.Bucket(t.Context(), "s3://"+uploads+"/")
	if err != nil {
		t.Fatal(err)
	}
	const to = "s3://datasets/"
	for _, tt := range []struct {
		key  string
		data []byte
		want []string
		err  error
	}{
		{"x.npy", file, []string{to + "x.npy.b2nd"}, nil},
		{"d/y.npz", many.Bytes(), []string{to + "d/y.npz/a.b2nd", to + "d/y.npz/b.b2nd"}, nil},
		{"z.raw", file[len(file)-24:], nil, errWaits},
		{"z.raw.json", []byte(`{"dtype":"<f4","shape":[6]}`), []string{to + "z.raw.b2nd"}, nil},
		{"w.raw.json", []byte(`{"dtype":"<f4","shape":[6]}`), nil, errWaits},
		{"bad.raw.json", []byte(`{"dtype":"<f4"}`), nil, errRefused},
		{"bad.npy", []byte("no array"), nil, errRefused},
		{"l/my.jsonl", []byte("{}\n"), []string{to + "l/my.jsonl.blp"}, nil},
		{"files.zip", many.Bytes(), []string{to + "files.zip/a.b2nd", to + "files.zip/b.b2nd"}, nil}, // it is a .npz
		{"texts.zip", texts(t), []string{to + "texts.zip.blp"}, nil},
		{"bad.zip", []byte("no archive"), nil, errRefused},
		{"bad.npz", []byte("no archive"), nil, errRefused},
	} {
		if _, err := objstore.Put(t.Context(), b, tt.key, bytes.NewReader(tt.data), objstore.PutOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := tr.await(t.Context(), tt.key); err != nil {
			t.Fatalf("%s: %v", tt.key, err)
		}
		list, err := tr.made(t.Context(), tt.key)
		var got []string
		for _, o := range list {
			got = append(got, o.URI)
			if o.Size <= 0 || !strings.HasSuffix(o.URI, o.Key) {
				t.Errorf("%s: %+v", tt.key, o)
			}
		}
		if d := cmp.Diff(tt.want, got); d != "" || !errors.Is(err, tt.err) {
			t.Errorf("%s: %v %s", tt.key, err, d)
		}
	}
}

// texts is a zip of files that are no images.
func texts(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range []string{"a.txt", "b.txt"} {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestRecordMismatch: one byte that is not that of the log is seen.
func TestRecordMismatch(t *testing.T) {
	tr := start(t)
	log := requestLog(300)
	s := recordStory(log)
	lines := bytes.Split(bytes.TrimSuffix(log, []byte("\n")), []byte("\n"))
	wrong := slices.Clone(lines)
	wrong[7] = append(bytes.Clone(wrong[7]), ' ')
	for _, tt := range []struct {
		name string
		step step
		ok   bool
	}{
		{"all", records(lines, "", false, 0, 300), true},
		{"wrong record not read", records(wrong, "", false, 8, 300), true},
		{"wrong record", records(wrong, "", false, 7, 8), false},
		{"among others", records(wrong, "", false, 0, 300), false},
		{"another number", records(lines[:299], "", false, 0, 1), false},
	} {
		s.steps = []step{tt.step}
		err := tr.run(t.Context(), []story{s})
		if tt.ok && err != nil || !tt.ok && !errors.Is(err, ErrMismatch) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
