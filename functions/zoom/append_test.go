package zoom_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/functions/zoom"
	"github.com/farread/farread/internal/racetest"
	"github.com/farread/farread/rangeio"
)

// onDisk writes the file of a series.
func onDisk(t *testing.T, s zoom.Series, o zoom.WriteOptions) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "x.zoom"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() }) // only read from
	if _, err := zoom.Write(t.Context(), f, s, o); err != nil {
		t.Fatal(err)
	}
	return f
}

func content(t *testing.T, f *os.File) []byte {
	t.Helper()
	p, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// grow appends a series to a file.
func grow(t *testing.T, f *os.File, s zoom.Series, o zoom.AppendOptions) (zoom.Appended, error) {
	t.Helper()
	p := content(t, f)
	a, err := zoom.Append(t.Context(), rangeio.FromReaderAt(bytes.NewReader(p), int64(len(p))), f, s, o)
	if n := int64(len(content(t, f))); err == nil && n != a.Size {
		t.Errorf("%+v of %d bytes", a, n)
	}
	return a, err
}

// some returns n samples that wander about.
func some(n int) []int16 {
	r := rand.New(rand.NewPCG(5, 6))
	v := make([]int16, n)
	for i := range v {
		v[i] = int16(4000*(i%97)/97 + r.IntN(300) - 100*(i/5000))
	}
	return v
}

// csvOf makes lines of two tracks, one with empty cells, with a gap each 2000 rows.
func csvOf(from, to int) string {
	at := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	b := strings.Builder{}
	b.WriteString("time,level,flow\n")
	for i := from; i < to; i++ {
		sec := time.Duration(i + i/2000*500)
		fmt.Fprintf(&b, "%s,%g,", at.Add(sec*time.Second).Format(time.RFC3339), float64(i%360)/8)
		if i%3 != 1 {
			fmt.Fprint(&b, i*7%1000)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// TestAppend: a file that grew in parts is, byte for byte, the file of all at once.
func TestAppend(t *testing.T) {
	t.Parallel()
	le := binary.LittleEndian
	v := some(racetest.Share(40_000, 4))
	n := len(v)
	cuts := []int{0, 1500, 1500, 2048, 2049, 5000, n / 2, n}
	open := func(name string, p []byte) zoom.Series {
		s, err := series(t, name, p, nil)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for name, c := range map[string]struct {
		part  func(i, j int) zoom.Series
		o     zoom.WriteOptions
		loose bool // the parts are not on the borders of blocks: values are compared
	}{
		"one track": {part: func(i, j int) zoom.Series {
			return open("x.npy", npyOf(t, "<i2", false, packed(le, v[i:j]), int64(j-i)))
		}},
		"compressed": {part: func(i, j int) zoom.Series {
			return open("x.npy", npyOf(t, "<i2", false, packed(le, v[i:j]), int64(j-i)))
		}, o: zoom.WriteOptions{Zlib: true, Delta: true}},
		"short": {part: func(i, j int) zoom.Series {
			return open("x.npy", npyOf(t, "<i2", false, packed(le, v[i:j]), int64(j-i)))
		}, o: zoom.WriteOptions{Watermark: 100}},
		"two columns": {part: func(i, j int) zoom.Series {
			i, j = i/2, j/2
			return open("x.npy", npyOf(t, "<i2", false, packed(le, v[2*i:2*j]), int64(j-i), 2))
		}},
		"stereo": {part: func(i, j int) zoom.Series {
			i, j = i/2, j/2
			return open("x.wav", wav("RIFF", form(le, 1, 2, 4, 16), data(packed(le, v[2*i:2*j]))))
		}},
		"csv": {part: func(i, j int) zoom.Series { return open("x.csv", []byte(csvOf(i/4, j/4))) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := content(t, onDisk(t, c.part(0, n), c.o))
			f := onDisk(t, c.part(cuts[0], cuts[1]), c.o)
			for i := 1; i+1 < len(cuts); i++ {
				if cuts[i]/4 == cuts[i+1]/4 && name == "csv" {
					continue // a table without lines is none
				}
				a, err := grow(t, f, c.part(cuts[i], cuts[i+1]), zoom.AppendOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if a.Kept == 0 || a.Tracks == 0 || a.Whole != "" {
					t.Errorf("part %d: %+v", i, a)
				}
			}
			got := content(t, f)
			if bytes.Equal(got, whole) {
				return
			}
			k := 0
			for k < min(len(got), len(whole)) && got[k] == whole[k] {
				k++
			}
			t.Errorf("%d bytes, want %d; they differ from byte %d on", len(got), len(whole), k)
			again, err := zoomindex.Open(t.Context(), rangeio.FromReaderAt(bytes.NewReader(got), int64(len(got))), zoomcache.Options{})
			if err != nil {
				t.Fatal(err)
			}
			r, err := again.Recompute(t.Context(), nil)
			t.Logf("%+v %v", r, err)
		})
	}
}

// TestAppendWhole: a file without an index, or with a damaged one, grows to the same bytes by a
// pass over it, and says why.
func TestAppendWhole(t *testing.T) {
	t.Parallel()
	v := some(9000)
	part := func(i, j int) zoom.Series {
		s, err := series(t, "x.npy", npyOf(t, "<i2", false, packed(binary.LittleEndian, v[i:j]), int64(j-i)), nil)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	want := content(t, onDisk(t, part(0, 9000), zoom.WriteOptions{}))
	for _, o := range []zoom.WriteOptions{{NoIndex: true}, {}} {
		f, says := onDisk(t, part(0, 5000), o), "no trailer"
		if !o.NoIndex {
			p := content(t, f)
			if _, err := f.WriteAt([]byte{^p[len(p)-200]}, int64(len(p)-200)); err != nil {
				t.Fatal(err)
			}
			says = "damaged"
		}
		a, err := grow(t, f, part(5000, 9000), zoom.AppendOptions{})
		if err != nil || !strings.Contains(a.Whole, says) || !bytes.Equal(content(t, f), want) {
			t.Errorf("%+v, %v: %d bytes, want %d", a, err, len(content(t, f)), len(want))
		}
	}
}

// TestAppendRefused: what does not continue the series is refused, with a word about why, and
// the file stays as it is until Append knows; the caller drops what was written after that.
func TestAppendRefused(t *testing.T) {
	t.Parallel()
	le := binary.LittleEndian
	open := func(name, text string) zoom.Series {
		s, err := series(t, name, []byte(text), nil)
		if err != nil {
			t.Fatal(name, err)
		}
		return s
	}
	array := func(typ string, v any, shape ...int64) string {
		return string(npyOf(t, typ, false, packed(le, v), shape...))
	}
	day := "time,a,b\n2026-05-01T00:00:00Z,1,2\n2026-05-01T00:00:05Z,3,4\n"
	mono := string(wav("RIFF", form(le, 1, 1, 2, 16), data(packed(le, some(4000)))))
	rate := form(le, 1, 1, 2, 16)
	rate[12]++ // samples a second
	for name, c := range map[string]struct {
		first, more [2]string
		o           zoom.AppendOptions
		says        string // "": taken
	}{
		"goes on":       {[2]string{"x.csv", day}, [2]string{"y.csv", "time,b,a\n2026-05-01T00:00:05Z,1,2\n2026-05-02T00:00:00Z,1,2\n"}, zoom.AppendOptions{}, ""},
		"empty column":  {[2]string{"x.csv", day}, [2]string{"y.csv", "time,a,b\n2026-05-01T00:00:06Z,1,\n"}, zoom.AppendOptions{}, ""},
		"back":          {[2]string{"x.csv", day}, [2]string{"y.csv", "time,a,b\n2026-05-01T00:00:04Z,1,2\n"}, zoom.AppendOptions{}, "times go back, 2026-05-01T00:00:04Z comes behind 2026-05-01T00:00:05Z; line 2 has its earliest time"},
		"other tracks":  {[2]string{"x.csv", day}, [2]string{"y.csv", "time,a,c\n2026-05-01T00:01:04Z,1,2\n"}, zoom.AppendOptions{}, "other tracks"},
		"more tracks":   {[2]string{"x.csv", day}, [2]string{"y.csv", "time,a,b,c\n2026-05-01T00:01:04Z,1,2,3\n"}, zoom.AppendOptions{}, "3 tracks"},
		"finer":         {[2]string{"x.csv", day}, [2]string{"y.csv", "time,a,b\n2026-05-01T00:01:04.5Z,1,2\n"}, zoom.AppendOptions{}, "finer"},
		"no date":       {[2]string{"x.csv", day}, [2]string{"y.csv", "time_s,a,b\n100,1,2\n101,1,2\n"}, zoom.AppendOptions{}, "count from 0"},
		"fractions":     {[2]string{"x.csv", day}, [2]string{"y.csv", "time,a,b\n2026-05-01T00:01:04Z,1.5,2\n"}, zoom.AppendOptions{}, `track "a" has samples of f64`},
		"other source":  {[2]string{"x.csv", day}, [2]string{"y.npy", array("<i2", some(20), 10, 2)}, zoom.AppendOptions{}, "other tracks"},
		"no rate":       {[2]string{"x.wav", mono}, [2]string{"y.wav", mono}, zoom.AppendOptions{}, ""},
		"other rate":    {[2]string{"x.wav", mono}, [2]string{"y.wav", string(wav("RIFF", rate, data(packed(le, some(10)))))}, zoom.AppendOptions{}, "samples a second"},
		"another rate":  {[2]string{"x.wav", mono}, [2]string{"y.wav", mono}, zoom.AppendOptions{Rate: zoomcache.Rate{Num: 7, Den: 1}}, "samples a second"},
		"does not fit":  {[2]string{"x.npy", array("<i2", some(20), 20)}, [2]string{"y.npy", array("<i4", []int32{1 << 20}, 1)}, zoom.AppendOptions{}, "does not fit"},
		"floats":        {[2]string{"x.npy", array("<i2", some(20), 20)}, [2]string{"y.npy", array("<f4", []float32{1}, 1)}, zoom.AppendOptions{}, "samples of f32"},
		"narrow is not": {[2]string{"x.npy", array("<i4", []int32{1}, 1)}, [2]string{"y.npy", array("<i2", some(20), 20)}, zoom.AppendOptions{}, ""},
	} {
		f := onDisk(t, open(c.first[0], c.first[1]), zoom.WriteOptions{})
		_, err := grow(t, f, open(c.more[0], c.more[1]), c.o)
		switch {
		case c.says == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.says != "" && (!errors.Is(err, formats.ErrUnsupported) || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%s: %v", name, err)
		}
	}
}
