package main

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/objstore/filestore"
	"github.com/farread/farread/rangeio"
)

// randomFrames is how many frames are read one by one; peer_gulp.py has it, too.
const randomFrames = 20000

// frameSize is the bytes of a frame in the goals of docs/performance.md, perID the frames of a clip.
const (
	frameSize = 12700
	perID     = 64
)

// jpegs makes valid images of about frameSize bytes; a few are used in turn.
func jpegs() ([][]byte, error) {
	r := rand.New(rand.NewPCG(3, 5)) //nolint:gosec // pictures, no secrets
	var out [][]byte
	for k := range 7 {
		m := image.NewRGBA(image.Rect(0, 0, 160, 181+k))
		for i := 0; i < len(m.Pix); i += 4 {
			v := uint8(r.Uint32())
			m.Set(i/4%160, i/640, color.RGBA{v, v / 2, 255 - v, 255})
		}
		var b bytes.Buffer
		if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: 60}); err != nil {
			return nil, err
		}
		if n := b.Len(); n < frameSize-800 || n > frameSize+800 {
			return nil, fmt.Errorf("a frame of %d bytes, not about %d", n, frameSize)
		}
		out = append(out, b.Bytes())
	}
	return out, nil
}

// makeTar streams a tar of n frames in clips of perID.
func makeTar(w io.Writer, n int) (total int64, err error) {
	js, err := jpegs()
	if err != nil {
		return 0, err
	}
	t := tar.NewWriter(w)
	for i := range n {
		p := js[i%len(js)]
		h := &tar.Header{Name: fmt.Sprintf("clips/clip_%05d/frame_%03d.jpg", i/perID, i%perID), Size: int64(len(p)), Mode: 0o644, Format: tar.FormatUSTAR}
		if err := t.WriteHeader(h); err != nil {
			return 0, err
		}
		if _, err := t.Write(p); err != nil {
			return 0, err
		}
		total += int64(len(p))
	}
	return total, t.Close()
}

// makeGulp writes a pair of n frames and returns the paths of data and index.
func (b *bench) makeGulp(n int) (data, meta string, err error) {
	dir, err := b.sub("gulp")
	if err != nil {
		return "", "", err
	}
	js, err := jpegs()
	if err != nil {
		return "", "", err
	}
	data, meta = filepath.Join(dir, "data_0.gulp"), filepath.Join(dir, "meta_0.gmeta")
	f, err := os.Create(data)
	if err != nil {
		return "", "", err
	}
	w := gulp.NewWriter(f, gulp.WriteOptions{})
	for i := range n {
		if err = errors.Join(err, w.WriteFrame(fmt.Sprintf("clips/clip_%05d", i/perID), js[i%len(js)])); err != nil {
			break
		}
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return "", "", err
	}
	var text bytes.Buffer
	if err := w.WriteMeta(&text); err != nil {
		return "", "", err
	}
	return data, meta, os.WriteFile(meta, text.Bytes(), 0o600)
}

// gulpRead: bytes of frames out of local files, all of an id at a time, and one
// frame at a time. The files are in the page cache, the indexes loaded.
func gulpRead(ctx context.Context, b *bench) ([]row, error) {
	p, err := b.gulpio(ctx)
	if err != nil {
		return nil, err
	}
	data, meta, err := b.makeGulp(pick(b, 20000, 1280))
	if err != nil {
		return nil, err
	}
	file, err := openPair(ctx, data, meta)
	if err != nil {
		return nil, err
	}
	defer file.close()
	uri, err := farread.New(farread.Config{}).OpenGulp(ctx, data, farread.GulpOptions{})
	if err != nil {
		return nil, err
	}
	var w [6]work
	ids, err := b.interleave(ctx, readIDs(file.Chunk, &w[0]), p.side(&w[1], "read", data, meta), readIDs(uri.Chunk, &w[2]))
	if err != nil {
		return nil, err
	}
	one, err := b.interleave(ctx, readFrames(file.Chunk, &w[3]), p.side(&w[4], "random", data, meta), readFrames(uri.Chunk, &w[5]))
	if err != nil {
		return nil, err
	}
	if w[0] != w[1] || w[1] != w[2] || w[3] != w[4] || w[4] != w[5] {
		return nil, fmt.Errorf("the sides read different frames: %v", w)
	}
	n, k := float64(w[0].frames), float64(w[3].frames)
	rs := []row{
		against("gulp read of bytes, an id a call, os.File", "frames", n, ids[0], ids[1], 2),
		against("same, opened by its path as an object", "frames", n, ids[2], ids[1], 2),
		against("gulp read of bytes, one frame a call, os.File", "frames", k, one[0], one[1], 2),
		against("same, opened by its path as an object", "frames", k, one[2], one[1], 2),
	}
	rs[1].note = "pinned: each request compares size and times after its reads"
	rs[3].note = rs[1].note
	return rs, nil
}

// A pair is a chunk over an open file.
type pair struct {
	*gulp.Chunk
	f *os.File
}

func (p *pair) close() { _ = p.f.Close() } // only read

func openPair(ctx context.Context, data, meta string) (*pair, error) {
	text, err := os.ReadFile(meta)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(data)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	c, err := gulp.Open(ctx, rangeio.FromReaderAt(bytes.NewReader(text), int64(len(text))), rangeio.FromReaderAt(f, info.Size()), gulp.Options{})
	return &pair{c, f}, err
}

func readIDs(c *gulp.Chunk, w *work) side {
	return timed(func(ctx context.Context) error {
		*w = work{}
		var buf gulp.Buffer
		for it := range c.All() {
			frames, err := c.ReadFrames(ctx, &buf, it.ID, 0, it.Frames, 1)
			if err != nil {
				return err
			}
			w.frames += int64(len(frames))
			for _, f := range frames {
				w.bytes += int64(len(f))
			}
		}
		return nil
	})
}

func readFrames(c *gulp.Chunk, w *work) side {
	return timed(func(ctx context.Context) error {
		*w = work{}
		var buf []byte
		for i := range randomFrames {
			k := i % c.Len()
			n, err := c.Frames(c.ID(k))
			if err != nil {
				return err
			}
			if buf, err = c.AppendFrame(ctx, buf[:0], c.ID(k), i*37%n); err != nil {
				return err
			}
			w.frames++
			w.bytes += int64(len(buf))
		}
		return nil
	})
}

// tarToGulp: a local tar to a local pair, by the pack job.
func tarToGulp(ctx context.Context, b *bench) ([]row, error) {
	p, err := b.gulpio(ctx)
	if err != nil {
		return nil, err
	}
	t, err := b.newTar(pick(b, 20000, 1280))
	if err != nil {
		return nil, err
	}
	var w work
	d, err := b.interleave(ctx, t.ours(), t.theirs(p, &w))
	if err != nil {
		return nil, err
	}
	ours, err := os.ReadFile(filepath.Join(t.dir, "out", "clips.tar.gulp"))
	if err != nil {
		return nil, err
	}
	theirs, err := os.ReadFile(filepath.Join(t.dir, "peer.gulp"))
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(ours, theirs) || w.frames != int64(t.frames) {
		return nil, fmt.Errorf("the sides wrote different data: %d and %d bytes, %d frames", len(ours), len(theirs), w.frames)
	}
	r := against("tar to gulp, local, 12.7 KB frames", "frames", float64(t.frames), d[0], d[1], 4)
	r.note = "ours checks every JPEG's markers; the peer's encoder is bypassed"
	return []row{r}, nil
}

// A tarJob is a tar in a folder, and both ways to a gulp.
type tarJob struct {
	dir    string
	frames int
}

func (b *bench) newTar(frames int) (*tarJob, error) {
	dir, err := b.sub("tar")
	if err != nil {
		return nil, err
	}
	f, err := os.Create(filepath.Join(dir, "clips.tar"))
	if err != nil {
		return nil, err
	}
	_, err = makeTar(f, frames)
	return &tarJob{dir, frames}, errors.Join(err, f.Close())
}

func (t *tarJob) ours() side { return packLocal(t.dir, "clips.tar") }

func (t *tarJob) theirs(p *python, w *work) side {
	return p.side(w, "pack", filepath.Join(t.dir, "clips.tar"), filepath.Join(t.dir, "peer.gulp"), filepath.Join(t.dir, "peer.gmeta"))
}

func packLocal(dir, key string) side {
	return func(ctx context.Context) (time.Duration, error) {
		out := filepath.Join(dir, "out")
		if err := os.RemoveAll(out); err != nil {
			return 0, err
		}
		src, err := filestore.New(filestore.Config{Dir: dir})
		if err != nil {
			return 0, err
		}
		dst, err := filestore.New(filestore.Config{Dir: out, NoSync: true}) // GulpIO2 does not sync either
		if err != nil {
			return 0, err
		}
		j := pack.Job{Out: dst}
		start := time.Now()
		infos, err := j.Run(ctx, src, functions.Upload{Bucket: "local", Key: key})
		d := time.Since(start)
		if err == nil && len(infos) != 2 {
			err = fmt.Errorf("outputs: %v", infos)
		}
		return d, err
	}
}
