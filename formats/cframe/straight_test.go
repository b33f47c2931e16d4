package cframe_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/objstore/simstore"
)

// storedFrame returns a frame of noise, chunks of which are stored as they are, and the
// noise.
func storedFrame(t *testing.T, n, chunk int) (frame, data []byte) {
	t.Helper()
	rnd := rand.NewChaCha8([32]byte{7})
	data = make([]byte, n*chunk)
	_, _ = rnd.Read(data)
	var o repeated
	w, err := cframe.NewWriter(&o, cframe.WriteOptions{TypeSize: 4, ChunkSize: chunk, Encode: blosc.EncodeOptions{Level: blosc.LevelStore}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := w.WriteChunk(data[i*chunk:][:chunk]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return bytes.Join(o.pieces, nil), data
}

// TestStraight reads chunks that are stored as they are, from afar and into the caller's
// memory. Among them is one that is only as long as such a chunk, and chunks whose header
// is broken.
func TestStraight(t *testing.T) {
	const n, size = 6, 300_000
	for name, change := range map[string]func(chunk []byte) (want error){
		"all stored": func([]byte) error { return nil },
		"encoded": func(chunk []byte) error { // with dead bytes behind it
			enc, err := blosc.AppendEncoded(nil, bytes.Repeat([]byte("farread "), size/8), blosc.EncodeOptions{Codec: blosc.LZ4, TypeSize: 4})
			copy(chunk, enc)
			return err
		},
		"broken":         func(chunk []byte) error { chunk[0] = 99; return formats.ErrUnsupported },
		"of more bytes":  func(chunk []byte) error { chunk[4]++; return formats.ErrCorrupt },
		"not stored now": func(chunk []byte) error { chunk[2] &^= 2; return formats.ErrCorrupt },
	} {
		t.Run(name, func(t *testing.T) {
			frame, data := storedFrame(t, n, size)
			const third = 2
			at := bytes.Index(frame, data[third*size:][:64]) - blosc.HeaderLen2
			want := change(frame[at : at+size+blosc.HeaderLen2])
			if name == "encoded" {
				copy(data[third*size:][:size], bytes.Repeat([]byte("farread "), size/8))
			}
			mem := memstore.New(memstore.Config{})
			if _, err := objstore.Put(t.Context(), mem, "k", bytes.NewReader(frame), objstore.PutOptions{}); err != nil {
				t.Fatal(err)
			}
			for _, mw := range []objstore.Middleware{simstore.Latency(0), simstore.Cut(2, 100_000), simstore.Short(3, 10)} {
				obj, err := objstore.Open(t.Context(), objstore.Chain(mem, mw), "k", objstore.OpenOptions{Resumes: 50})
				if err != nil {
					t.Fatal(err)
				}
				f, err := cframe.Open(t.Context(), obj, cframe.Options{})
				if err != nil {
					t.Fatal(err)
				}
				before := obj.Stats()
				got := make([]byte, len(data))
				var mu sync.Mutex
				done := map[int]int{}
				wants := make([]cframe.Want, n)
				for i := range wants {
					wants[i] = cframe.Want{Chunk: i, Dst: got[i*size:][:size]}
				}
				err = f.EachConcurrent(t.Context(), wants, func(want, block int, p []byte) error {
					mu.Lock()
					defer mu.Unlock()
					done[want]++
					if block != -1 || &p[0] != &got[want*size] || !bytes.Equal(p, data[want*size:][:size]) {
						return fmt.Errorf("chunk %d, block %d: wrong bytes or other memory", want, block)
					}
					return nil
				})
				if want != nil {
					if !errors.Is(err, want) {
						t.Errorf("%v, want %v", err, want)
					}
					continue
				}
				if err != nil || !bytes.Equal(got, data) {
					t.Fatalf("%v, or wrong bytes", err)
				}
				for i := range n {
					if done[i] != 1 {
						t.Errorf("chunk %d is done %d times", i, done[i])
					}
				}
				if s := obj.Stats(); s.Phases-before.Phases != 1 {
					t.Errorf("%d phases", s.Phases-before.Phases)
				}
			}
		})
	}
}
