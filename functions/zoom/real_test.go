package zoom_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/functions/zoom"
	"github.com/farread/farread/objstore/memstore"
)

// realTrack is what pandas reads in a column of a file.
type realTrack struct {
	Name        string
	N           int
	First, Last int64  // times in ns since 1970, or since time 0
	Digest      string // of all times and values
}

// TestRealCSV: tables that other people wrote have the columns, times and values that
// pandas reads in them.
func TestRealCSV(t *testing.T) {
	t.Parallel()
	realTables(t, "real", 25)
}

// TestRealParquet is TestRealCSV for such tables as pyarrow writes them.
func TestRealParquet(t *testing.T) {
	t.Parallel()
	realTables(t, "realparquet", 8)
}

func realTables(t *testing.T, folder string, least int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", folder, "expect.json"))
	if err != nil {
		t.Fatal(err)
	}
	var files []struct {
		File   string
		Flags  []string
		Tracks []realTrack
	}
	if err := json.Unmarshal(text, &files); err != nil || len(files) < least {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, c := range files {
		t.Run(c.File, func(t *testing.T) {
			t.Parallel()
			p, err := os.ReadFile(filepath.Join("testdata", folder, c.File))
			if err != nil {
				t.Fatal(err)
			}
			o := zoom.Options{}
			if n := len(c.Flags); n > 0 && c.Flags[n-1] == "--sort" {
				o.Table.Sort, c.Flags = true, c.Flags[:n-1]
			}
			for i := 0; i < len(c.Flags); i += 2 {
				*map[string]*string{"--time": &o.Table.Time, "--times": &o.Table.Unit, "--time-format": &o.Table.Format}[c.Flags[i]] = c.Flags[i+1]
			}
			s, err := zoom.Open(t.Context(), stored(t, memstore.New(memstore.Config{}), c.File, p), o)
			if err != nil {
				t.Fatal(err)
			}
			f, list := written(t, s, zoom.WriteOptions{})
			origin := int64(0)
			if at, ok := f.Header().Origin.UTC(); ok {
				origin = at.Unix()
			}
			if len(list) != len(c.Tracks) {
				t.Errorf("%d tracks, pandas has %d", len(list), len(c.Tracks))
			}
			for i := range min(len(list), len(c.Tracks)) {
				if got, want := realOf(t, list[i], origin), c.Tracks[i]; got.Name != want.Name || got.N != want.N || got.First != want.First || got.Last != want.Last || got.Digest != want.Digest {
					t.Errorf("%+v, pandas has %+v: %q", got, want, s.About().Warnings)
				}
			}
		})
	}
}

// realOf is what a track of a file has.
func realOf(t *testing.T, k track, origin int64) realTrack {
	t.Helper()
	out := realTrack{Name: k.Name}
	var times, values []byte
	for i, text := range k.Values {
		v, err := strconv.ParseFloat(strings.NewReplacer("true", "1", "false", "0").Replace(text), 64)
		if err != nil {
			t.Fatal(err)
		}
		if k.Codec == zoomcache.F32.String() { // the text is the shortest one of a float32
			v = float64(float32(v))
		}
		if math.IsNaN(v) {
			continue
		}
		at := origin*1e9 + k.Stamps[i]*(1e9/k.Rate.Num)
		if out.N++; out.N == 1 {
			out.First = at
		}
		out.Last = at
		times = binary.LittleEndian.AppendUint64(times, uint64(at))
		values = binary.LittleEndian.AppendUint64(values, math.Float64bits(v))
	}
	sum := sha256.Sum256(append(times, values...))
	out.Digest = hex.EncodeToString(sum[:])[:16]
	return out
}
