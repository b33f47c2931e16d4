package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/stats"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/internal/codec"
)

const block = 64 << 10 // bytes of each job

// codecs are those that are decoded.
var codecs = map[string]codec.ID{"lz4": codec.LZ4, "blosclz": codec.BloscLZ, "zstd": codec.Zstd, "zlib": codec.Zlib}

// kinds are what is decoded, as the shuffle filter leaves it: items of 2, 4 or 8 bytes.
var kinds = map[string]func() []byte{
	"times": func() []byte { // a clock in nanoseconds that jitters
		r, t := rng(), uint64(1_700_000_000_000_000_000)
		return shuffled(8, func(int) uint64 {
			t += 1_000_000 + r.Uint64N(1000)
			return t
		})
	},
	"wave": func() []byte {
		return shuffled(4, func(i int) uint64 { return uint64(math.Float32bits(float32(280 + 9*math.Sin(float64(i)/700)))) })
	},
	"walk": func() []byte {
		r, x := rng(), int32(0)
		return shuffled(4, func(int) uint64 {
			x += int32(r.NormFloat64() * 20)
			return uint64(uint32(x))
		})
	},
	"sparse": func() []byte {
		r := rng()
		return shuffled(8, func(int) uint64 {
			if r.IntN(40) > 0 {
				return 0
			}
			return math.Float64bits(r.NormFloat64())
		})
	},
	"counts": func() []byte {
		r := rng()
		return shuffled(2, func(i int) uint64 { return uint64(900 + 800*math.Sin(float64(i)/90) + 4*r.NormFloat64()) })
	},
}

func rng() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) } //nolint:gosec // the same data each time

// shuffled makes a block of items, bytes of one weight side by side.
func shuffled(width int, item func(i int) uint64) []byte {
	p, n := make([]byte, block), block/width
	for i := range n {
		for k, x := 0, item(i); k < width; k, x = k+1, x>>8 {
			p[k*n+i] = byte(x)
		}
	}
	return p
}

// summed are the jobs that decode nothing.
var summed = []string{"stats of <f4", "stats of <f8", "zoom-cache of f64", "zoom-cache of i16"}

// jobNames are the jobs, in the order of the table.
func jobNames() []string {
	names := slices.Clone(summed)
	for _, c := range []string{"lz4", "blosclz", "zstd", "zlib"} {
		for _, k := range slices.Sorted(maps.Keys(kinds)) {
			names = append(names, c+" of "+k)
		}
	}
	return names
}

// prepare makes the input of a job, and says how many bytes the job is about.
func prepare(job string) (data []byte, size int, err error) {
	what, of, _ := strings.Cut(job, " of ")
	if id, ok := codecs[what]; ok {
		src := kinds[of]()
		var enc codec.Encoder
		stream := make([]byte, 2*len(src))
		n, err := enc.Encode(id, 5, stream, src, nil)
		return stream[:n], len(src), err
	}
	r := rng()
	for i := 0; len(data) < block; i++ {
		x := 12000*math.Sin(float64(i)/3000) + 300*r.NormFloat64()
		switch of {
		case "<f4":
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(x)))
		case "i16":
			data = binary.LittleEndian.AppendUint16(data, uint16(int16(x)))
		default:
			data = binary.LittleEndian.AppendUint64(data, math.Float64bits(x))
		}
	}
	return data, len(data), nil
}

//go:noinline
func begin() {}

//go:noinline
func end() {}

// work does a job between the marks: twice, the second time with warm tables.
func work(job, input string) error {
	data, err := os.ReadFile(input)
	if err != nil {
		return err
	}
	do, err := jobOf(job, data)
	if err != nil {
		return err
	}
	for range 2 {
		begin()
		err := do()
		end()
		if err != nil {
			return err
		}
	}
	return nil
}

func jobOf(job string, data []byte) (func() error, error) {
	what, of, _ := strings.Cut(job, " of ")
	if id, ok := codecs[what]; ok {
		var dec codec.Decoder
		dst := make([]byte, block, block+codec.Slack)
		return func() error { return dec.Decode(id, dst, data, nil) }, nil
	}
	switch job {
	case "zoom-cache of f64":
		return zoomJob(zoomcache.F64, floats(data))
	case "zoom-cache of i16":
		v := make([]int16, len(data)/2)
		for i := range v {
			v[i] = int16(binary.LittleEndian.Uint16(data[2*i:]))
		}
		return zoomJob(zoomcache.I16, v)
	}
	d, err := dtype.Parse(of)
	if err != nil {
		return nil, fmt.Errorf("no job %q: %w", job, err)
	}
	columns, err := stats.Columns(d, nil)
	if err != nil {
		return nil, err
	}
	return func() error {
		columns[0].Of(data)
		return nil
	}, nil
}

func floats(data []byte) []float64 {
	v := make([]float64, len(data)/8)
	for i := range v {
		v[i] = math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:]))
	}
	return v
}

// zoomJob writes values to a file, packets and summaries of all levels, on one processor.
func zoomJob[T zoomcache.Value](kind zoomcache.Kind, v []T) (func() error, error) {
	w, err := zoomcache.NewWriter(io.Discard, zoomcache.WriteOptions{Parallel: 1,
		Tracks: []zoomcache.Track{{Number: 1, Codec: zoomcache.Codec{Kind: kind}, Rate: zoomcache.Rate{Num: 1000, Den: 1}}}})
	if err != nil {
		return nil, err
	}
	return func() error { return zoomcache.WriteSamples(w.Track(1), v) }, nil
}
