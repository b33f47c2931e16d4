package functions_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

const seriesSet = "sets/minutes.zoom"

// seriesPlay are minutes that are CSVs: of four columns, which are those of partItems, and
// one that has few cells. Whole numbers and fractions of seconds come by chance.
func seriesPlay() joinPlay {
	return joinPlay{key: seriesSet, format: zoomcache.Format, items: minuteItems, read: readMinutes,
		rules: functions.Rules{{Bucket: "uploads", Job: "zoom", Append: true, To: "minutes.zoom", Out: functions.Out{Bucket: "datasets", Prefix: "sets/"}}},
		upload: func(_ testing.TB, n, version int) (string, []byte) {
			return fmt.Sprintf("minutes/%02d.csv", n), minuteCSV(n, version)
		}}
}

func minuteRows(n, version int) int { return 1 + partRows(n, version) }

// minuteTime is the time of a row.
func minuteTime(n, version, i int) time.Time {
	at := time.Date(2026, 11, 27, 7, n, 10*i, 0, time.UTC)
	if version%2 == 1 {
		at = at.Add(125 * time.Millisecond)
	}
	return at
}

// minuteRare is a value that few rows have, whole in some minutes only.
func minuteRare(n, i int) (v float64, ok bool) {
	return float64(n*100+i) / float64(1+n%2), (n+i)%3 == 0
}

func minuteCSV(n, version int) []byte {
	var b bytes.Buffer
	b.WriteString("time,upload,rare,version,row,rows\n")
	rows := minuteRows(n, version)
	for i := range rows {
		fmt.Fprintf(&b, "%s,%d,", minuteTime(n, version, i).Format("2006-01-02T15:04:05.999Z"), n)
		if v, ok := minuteRare(n, i); ok {
			fmt.Fprint(&b, v)
		}
		fmt.Fprintf(&b, ",%d,%d,%d\n", version, i, rows)
	}
	return b.Bytes()
}

func minuteItems(n, version int) []byte {
	var p []byte
	rows := minuteRows(n, version)
	for i := range rows {
		for _, v := range []int{n, version, i, rows} {
			p = binary.LittleEndian.AppendUint32(p, uint32(v))
		}
	}
	return p
}

// A timed value is one of a track.
type timed struct {
	at time.Time
	v  float64
}

// timedValues are those of all tracks, by name.
func timedValues(ctx context.Context, b objstore.Bucket, key string) (map[string][]timed, error) {
	obj, err := objstore.Open(ctx, b, key, objstore.OpenOptions{})
	if err != nil {
		return nil, err
	}
	f, err := zoomindex.Open(ctx, obj, zoomcache.Options{})
	if err != nil {
		return nil, err
	}
	if r, err := f.Verify(ctx, nil); err != nil || r.Backward+r.WrongSpans > 0 {
		return nil, fmt.Errorf("%+v, %w", r, err)
	}
	origin, _ := f.Header().Origin.UTC()
	out := map[string][]timed{}
	for _, t := range f.Header().Tracks {
		err := f.EachPacket(ctx, t.Number, zoomcache.FirstOffset, zoomcache.LastOffset, func(p *zoomcache.Packet) error {
			values := p.Values.F64
			for _, v := range p.Values.I64 {
				values = append(values, float64(v))
			}
			for i, v := range values {
				at := origin.Add(time.Duration(p.Stamps[i] * t.Rate.Den * (int64(time.Second) / t.Rate.Num)))
				out[t.Name] = append(out[t.Name], timed{at, v})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// readMinutes reads a dataset of minutes as rows of partItems, and checks their times and the
// column with few cells.
func readMinutes(ctx context.Context, b objstore.Bucket, key string) ([]byte, error) {
	all, err := timedValues(ctx, b, key)
	if errors.Is(err, objstore.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var got []byte
	rare := all["rare"]
	for k, at := range all["upload"] {
		row := make([]int, 0, 4)
		for _, name := range []string{"upload", "version", "row", "rows"} {
			if len(all[name]) != len(all["upload"]) || !all[name][k].at.Equal(at.at) {
				return nil, fmt.Errorf("row %d of %s", k, name)
			}
			row = append(row, int(all[name][k].v))
			got = binary.LittleEndian.AppendUint32(got, uint32(all[name][k].v))
		}
		if want := minuteTime(row[0], row[1], row[2]); !at.at.Equal(want) {
			return nil, fmt.Errorf("row %d of upload %d is of %v", row[2], row[0], at.at)
		}
		if v, ok := minuteRare(row[0], row[2]); ok {
			if len(rare) == 0 || rare[0] != (timed{at.at, v}) {
				return nil, fmt.Errorf("row %d of upload %d: %v, not %g", row[2], row[0], rare, v)
			}
			rare = rare[1:]
		}
	}
	if len(rare) > 0 {
		return nil, fmt.Errorf("%d values too many", len(rare))
	}
	return got, nil
}

// TestJoinSeriesStorm is TestJoinStorm of a series.
func TestJoinSeriesStorm(t *testing.T) {
	t.Parallel()
	for name, stores := range map[string]func() (in, out objstore.Bucket){
		"unique tags": func() (in, out objstore.Bucket) {
			return memstore.New(memstore.Config{Name: "mem://uploads"}), memstore.New(memstore.Config{Name: "mem://datasets"})
		},
		"versions": func() (in, out objstore.Bucket) {
			return &contentTags{b: memstore.New(memstore.Config{Name: "mem://uploads", Versioned: true})}, &contentTags{b: memstore.New(memstore.Config{Name: "mem://datasets", Versioned: true})}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for round := range max(rounds(1), 1) {
				in, out := stores()
				joinStorm(t, seriesPlay(), in, out, uint64(round))
				if t.Failed() {
					t.Fatalf("round %d", round)
				}
			}
		})
	}
}

// plainFile is a series without record and index, of which both are checked.
func plainFile(t *testing.T, b objstore.Bucket, key string) []byte {
	t.Helper()
	obj, err := objstore.Open(t.Context(), b, key, objstore.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := zoomindex.Open(t.Context(), obj, zoomcache.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := f.Recompute(t.Context(), nil); err != nil || !r.Indexed || r.Wrong > 0 {
		t.Errorf("%+v, %v", r, err)
	}
	var p bytes.Buffer
	if err := f.Plain(t.Context(), &p); err != nil {
		t.Fatal(err)
	}
	return p.Bytes()
}

// TestJoinSeriesOrder: whatever the order of uploads, the dataset has the samples that one
// file packed of all of them has; of the upload that comes first in the order of keys its time 0 is.
func TestJoinSeriesOrder(t *testing.T) {
	t.Parallel()
	const uploads = 4
	var files [][]byte
	var want map[string][]timed
	for _, order := range [][]int{{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}, {1, 3, 0, 2}} {
		in, out := memstore.New(memstore.Config{Name: "mem://uploads"}), memstore.New(memstore.Config{Name: "mem://datasets"})
		h := handlerOf(play{format: zoomcache.Format}, in, out)
		send := func(key string, p []byte) {
			t.Helper()
			info, err := objstore.Put(t.Context(), in, key, bytes.NewReader(p), objstore.PutOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if r, err := h.Handle(t.Context(), s3Event(record(key, info, 1))); err != nil || r.Packed != 1 {
				t.Fatalf("%+v, %v", r, errors.Join(err, r.Err))
			}
		}
		whole := []string{}
		for n := range uploads {
			lines := strings.SplitAfter(string(minuteCSV(n, 1)), "\n")
			whole = append(whole, lines[min(n, 1):]...)
		}
		send("whole.csv", []byte(strings.Join(whole, "")))
		h.Rules = seriesPlay().rules
		for _, n := range order {
			send(fmt.Sprintf("minutes/%02d.csv", n), minuteCSV(n, 1))
		}
		got, err := timedValues(t.Context(), out, seriesSet)
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want, err = timedValues(t.Context(), out, "whole.csv.zoom")
			if err != nil || len(want["rare"]) == 0 {
				t.Fatal(want, err)
			}
		}
		for name := range got {
			if !slices.Equal(got[name], want[name]) {
				t.Errorf("%v: %s: %v, want %v", order, name, got[name], want[name])
			}
		}
		files = append(files, plainFile(t, out, seriesSet))
	}
	for i := range files {
		if !bytes.Equal(files[i], files[0]) {
			t.Errorf("order %d: other bytes", i)
		}
	}
}
