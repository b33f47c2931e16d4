package formattest_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"sync"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/formattest"
	"github.com/farread/farread/rangeio"
)

var _ = flag.Bool("update", false, "rewrite golden traces")

// A toy format: length, payload, CRC over both.
func toy(payload []byte) []byte {
	p := binary.LittleEndian.AppendUint32(nil, uint32(len(payload)))
	p = append(p, payload...)
	return binary.LittleEndian.AppendUint32(p, crc32.ChecksumIEEE(p))
}

func corrupt(what string) error {
	return &formats.Error{Format: "toy", Off: -1, Err: fmt.Errorf("%s: %w", what, formats.ErrCorrupt)}
}

func openToy(ctx context.Context, r []rangeio.Reader) (formattest.Read, error) {
	var head [4]byte
	if r[0].Size() < 8 {
		return nil, corrupt("short")
	}
	if err := r[0].ReadRanges(ctx, []rangeio.Span{{P: head[:]}}); err != nil {
		return nil, err
	}
	n := int64(binary.LittleEndian.Uint32(head[:]))
	if n+8 != r[0].Size() {
		return nil, corrupt("length")
	}
	return func(ctx context.Context) ([]byte, error) {
		body := make([]byte, n+4)
		half := len(body) / 2
		var mu sync.Mutex
		calls := 0
		err := r[0].ReadEach(ctx, []rangeio.Span{{Off: 4, P: body[:half]}, {Off: 4 + int64(half), P: body[half:]}}, func(int) error {
			mu.Lock()
			defer mu.Unlock()
			calls++
			return nil
		})
		if err != nil {
			return nil, err
		}
		if calls != 2 {
			return nil, fmt.Errorf("%d calls of done", calls)
		}
		sum := crc32.Update(crc32.ChecksumIEEE(head[:]), crc32.IEEETable, body[:n])
		if sum != binary.LittleEndian.Uint32(body[n:]) {
			return nil, corrupt("checksum")
		}
		return body[:n], nil
	}, nil
}

func TestRun(t *testing.T) {
	formattest.Run(t, formattest.Suite{
		Objects: []formattest.Object{{Name: "toy", Data: toy(bytes.Repeat([]byte("payload"), 40))}},
		Open:    openToy,
	})
	formattest.Run(t, formattest.Suite{
		Objects: []formattest.Object{{Name: "toy", Data: toy([]byte("x")), Index: []formattest.Range{{Len: 4}}}},
		Open:    openToy, Stride: 5,
		Check: func(got []byte) error {
			if string(got) != "x" {
				return fmt.Errorf("got %q", got)
			}
			return nil
		},
	})
}

func TestScramble(t *testing.T) {
	data := make([]byte, 5000)
	for i := range data {
		data[i] = byte(i * 7)
	}
	plain := rangeio.FromReaderAt(bytes.NewReader(data), int64(len(data)))
	for seed := range uint64(20) {
		r := formattest.Scramble(plain, seed)
		spans := []rangeio.Span{{Off: 4000, P: make([]byte, 1000)}, {Off: 0, P: make([]byte, 3000)}, {Off: 1, P: make([]byte, 1)}, {Off: 5000}}
		if err := r.ReadRanges(t.Context(), spans); err != nil {
			t.Fatal(err)
		}
		for i, s := range spans {
			if !bytes.Equal(s.P, data[s.Off:s.End()]) {
				t.Errorf("seed %d: span %d is wrong", seed, i)
			}
		}
		if err := r.ReadRanges(t.Context(), []rangeio.Span{{Off: 4999, P: make([]byte, 2)}}); err == nil {
			t.Error("a span outside")
		}
	}
}

func TestTrace(t *testing.T) {
	var tr formattest.Trace
	read, err := openToy(t.Context(), []rangeio.Reader{tr.Wrap("toy", rangeio.FromReaderAt(bytes.NewReader(toy([]byte("abc"))), 11))})
	if err != nil {
		t.Fatal(err)
	}
	tr.Step("open")
	got, err := read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tr.Step("read", string(got))
	tr.Golden(t, filepath.Join("testdata", "toy.trace"))
}
