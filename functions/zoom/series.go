// Package zoom turns uploads that hold long series of samples (WAV, .npy, CSV, Parquet,
// raw samples with a note) into zoom-cache files, in one pass (a CSV, and the times of a Parquet file, in two) and in
// memory that does not grow with their length. [Job] is what the cloud function runs;
// [Open] and [Write] do the same for programs.
package zoom

import (
	"context"
	"fmt"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/functions/internal/kit"
	"github.com/farread/farread/functions/internal/parquet"
	"github.com/farread/farread/objstore"
)

// MaxTracks bounds the tracks of a series: a window of each is held, and each has
// a packet in every flush. An array of more columns mostly has its axes the other way
// round. More tracks are formats.ErrTooLarge.
const MaxTracks = 2048

// A Series is tracks of samples that can be read from front to end, as often as
// need be. Its methods are safe for concurrent use.
type Series interface {
	// About returns the description of the series. Do not change it.
	About() About
	// Each calls f with all samples, in blocks. A block is valid until f returns.
	// At variable rate a block has at most window rows; at constant rate any
	// number. An error of f ends Each, which returns it.
	Each(ctx context.Context, window int, f func(*Block) error) error
}

// About describes a series, as far as it is known before the samples are read.
type About struct {
	Format string // "wav", "npy", "csv", "parquet", "raw"
	// Tracks are numbered from 1. All are of constant rate, or all of variable.
	Tracks   []zoomcache.Track
	Origin   zoomcache.Origin // UTC of time 0; zero: unknown
	Rows     int64            // samples of each track; of a table its rows
	Bytes    int64            // bytes of the samples in the source; for a CSV its stored size, for Parquet that of its columns
	Back     string           // where in a table the first time is that lies before the one above it, as "line 3", if its rows are put in order; "": nowhere
	Warnings []string         // texts for people: what was guessed, left out, or differs from its header
	Columns  []string         // of a table: names of all columns
	Times    []int            // of a table: those whose cells are the times
	begin    string           // of a table: where its earliest time is
}

// back says for an error about times that go back where the earliest one is: a table is in order.
func (a *About) back() string {
	if a.begin == "" {
		return ""
	}
	return "; " + a.begin + " has its earliest time"
}

// A Block is some rows of a series: the values of each track. At constant rate all
// tracks have as many; at variable rate a track has none for an empty cell.
type Block struct {
	Columns []Column // columns in the order of the tracks
	Done    int64    // bytes of the source that are read so far, of About.Bytes

	times []int64 // of a table to be put in order: the time of each row
}

// A Column is the values of one track.
type Column struct {
	Values zoomcache.Values
	Stamps []int64 // stamp of each value, in ticks of the track's rate since time 0; nil at constant rate

	rows []int32 // of a table to be put in order: the row of each value in the block
}

// Options decide how an object is read. With the zero value its content and its
// name decide.
type Options struct {
	Note *Note // describes raw samples; nil: content and name decide
	// CSV reads the object as a CSV, with any name, unless its content is a WAV or .npy.
	CSV   bool
	Table CSVOptions // options for a CSV or a Parquet file
}

// errNoSeries is returned if the kind of samples is unknown.
var errNoSeries = fmt.Errorf("neither WAV, .npy, .csv nor Parquet, and no note says what the bytes are: %w", formats.ErrUnsupported)

// errPacked: samples are read at their places, and a compressed object has no such
// places.
var errPacked = fmt.Errorf("packed by gzip or zstd, and called neither .csv.gz nor .csv.zst: unpack it first: %w", formats.ErrUnsupported)

// sniff is the number of bytes that decide what an object is.
const sniff = 12

// Open finds the series that an object holds, by its content and then by its name
// (.csv, .tsv or .txt, and those with .gz, .zst or .zstd behind). It costs the requests
// of the headers, mostly none beyond the one that opened the object; a CSV is read to
// its end, in requests of 8 MiB, to learn the type of each column and the resolution of
// its stamps. Of a Parquet file the footer is read, the first values, and the columns of the
// times. If the object holds no series, the error is formats.ErrUnsupported; if
// it is empty or cut, mostly formats.ErrCorrupt.
func Open(ctx context.Context, obj *objstore.Object, o Options) (Series, error) {
	if o.Note != nil {
		return openRaw(obj, o.Note)
	}
	k, pack, err := kindOf(ctx, obj)
	switch {
	case err != nil:
		return nil, err
	case k == kindWAV:
		return openWAV(ctx, obj)
	case k == kindNPY:
		return openNPY(ctx, obj)
	case k == kindParquet:
		return openParquet(ctx, obj, o.Table)
	case k == kindCSV || o.CSV:
		return openCSV(ctx, obj, pack, o.Table)
	}
	if pack != plainText {
		return nil, kit.Fail("upload", obj.Info().Key, -1, errPacked)
	}
	return nil, kit.Fail("upload", obj.Info().Key, -1, errNoSeries)
}

// IsTable reports whether Open takes an object for a CSV or a Parquet file, the sources that
// have times in a column: by its first bytes, and then by its name.
func IsTable(ctx context.Context, obj *objstore.Object, o Options) (bool, error) {
	if o.Note != nil {
		return false, nil
	}
	k, _, err := kindOf(ctx, obj)
	return k == kindCSV || k == kindParquet || k == kindNone && o.CSV, err
}

type kind int

const (
	kindNone kind = iota
	kindWAV
	kindNPY
	kindCSV
	kindParquet
)

// kindOf looks at the first bytes, which Open has kept, and then at the name. Only text
// is decompressed.
func kindOf(ctx context.Context, obj *objstore.Object) (kind, packing, error) {
	head, err := kit.Head(ctx, obj, sniff)
	if err != nil {
		return kindNone, plainText, err
	}
	if len(head) == 0 {
		return kindNone, plainText, kit.Fail("upload", obj.Info().Key, -1, kit.Corrupt("empty"))
	}
	switch packed := packingOf(head); {
	case isWAV(head):
		return kindWAV, plainText, nil
	case len(head) >= 6 && string(head[:6]) == "\x93NUMPY":
		return kindNPY, plainText, nil
	case parquet.Sniff(head):
		return kindParquet, plainText, nil
	case isCSVName(obj.Info().Key):
		return kindCSV, packed, nil
	default:
		return kindNone, packed, nil
	}
}

// tracks makes n tracks that differ only in their names.
func tracks(n int, c zoomcache.Codec, rate zoomcache.Rate, names []string, other string) []zoomcache.Track {
	list := make([]zoomcache.Track, n)
	for i := range list {
		name := fmt.Sprintf("%s %d", other, i+1)
		if i < len(names) {
			name = names[i]
		}
		list[i] = zoomcache.Track{Number: int32(i + 1), Codec: c, Name: name, Rate: rate}
	}
	return list
}
