package main

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/rangeio"
)

// packings are files as bloscpack writes them.
func packings() []coding {
	const goal = 0.9
	return []coding{
		{"f32 sine", "blosclz", 7, "shuffle", goal, 0}, // the peer's own choice
		{"i64 ramp", "blosclz", 7, "shuffle", goal, 0},
		{"f32 sine", "lz4", 5, "shuffle", goal, 0},
		{"f64 walk", "lz4", 5, "shuffle", goal, 0},
		{"f32 sine", "lz4", 5, "bitshuffle", goal, 0},
		{"f32 sine", "zstd", 1, "shuffle", goal, 0},
		{"f32 sine", "zlib", 5, "shuffle", goal, 0},
	}
}

const packedSize = 16 << 20

func packedName(c coding) string {
	return fmt.Sprintf("bloscpack file of %d MiB in chunks of 1 MiB, adler32, decode %s", packedSize>>20, c)
}

// bloscpackDecode: a file that bloscpack wrote into memory, checksums compared, by
// one thread.
func bloscpackDecode(ctx context.Context, b *bench) ([]row, error) {
	p, err := b.bloscpack(ctx)
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, c := range packings() {
		if !b.wants(packedName(c)) {
			continue
		}
		s := seriesOf(c.series)
		raw, data, err := b.file(s, pick(b, packedSize, 3<<20))
		if err != nil {
			return nil, err
		}
		path, reps := filepath.Join(b.dir, "peer.blp"), pick(b, 2, 1)
		var w work
		if _, err := p.side(&w, "pack", raw, path, c.codec, strconv.Itoa(c.level), c.filter, strconv.Itoa(s.typesize), "adler32", strconv.Itoa(1<<20))(ctx); err != nil {
			return nil, err
		}
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		d, err := b.finer().interleave(ctx, unpackFile(path, data, reps), p.side(&w, "unpack", path, strconv.Itoa(len(data)), strconv.Itoa(reps)))
		if err != nil {
			return nil, err
		}
		if w.bytes != int64(len(data)) || w.sum != crc32.ChecksumIEEE(data) {
			return nil, errors.New("the peer has decoded other bytes")
		}
		r := against(packedName(c), "B", float64(len(data)*reps), d[0], d[1], c.decode)
		r.note = fmt.Sprintf("ratio of the file %.1f", float64(len(data))/float64(info.Size()))
		rows = append(rows, r)
	}
	return rows, nil
}

// unpackFile opens a file and decodes all of it into the same memory, reps times,
// after once that does not count and is compared.
func unpackFile(path string, want []byte, reps int) side {
	dst := make([]byte, len(want))
	return func(ctx context.Context) (_ time.Duration, err error) {
		f, err := os.Open(filepath.Clean(path))
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		once := func() error { return unpackInto(ctx, f, dst) }
		job := onCPU(func(context.Context) error {
			for range reps {
				if err := once(); err != nil {
					return err
				}
			}
			return nil
		})
		return checkedFirst(once, func() bool { return string(dst) == string(want) }, job)(ctx)
	}
}

func unpackInto(ctx context.Context, f *os.File, dst []byte) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	p, err := bloscpack.Open(ctx, rangeio.FromReaderAt(f, info.Size()), bloscpack.Options{Parallel: 1})
	if err != nil {
		return err
	}
	n, err := p.ReadChunks(ctx, dst, 0, p.Len())
	if err == nil && n != len(dst) {
		err = fmt.Errorf("%d bytes decoded, not %d", n, len(dst))
	}
	return err
}
