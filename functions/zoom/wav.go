package zoom

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/functions/internal/kit"
	"github.com/farread/farread/objstore"
)

// Tags of sample formats (RFC 2361; mmreg.h).
const (
	wavPCM        = 1
	wavFloat      = 3
	wavExtensible = 0xFFFE
)

const (
	wavHeader = 12 // RIFF, size, WAVE
	wavChunk  = 8  // name, size
	// maxChunks bounds the cost of a chain of empty chunks.
	maxChunks = 4096
	// maxFmt is the longest "fmt " chunk that is accepted. The one of
	// WAVE_FORMAT_EXTENSIBLE has 40 bytes.
	maxFmt = 40
	// unknown32 stands for a size that is in ds64, or that the writer did not know.
	unknown32 = 0xFFFFFFFF
)

// wavGUID ends those sub-formats of WAVE_FORMAT_EXTENSIBLE that have a tag of the old
// kind, in their first two bytes.
const wavGUID = "\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71"

// wavGUIDBig is the same behind a tag in RIFX, where the numbers in it are big-endian.
const wavGUIDBig = "\x00\x00\x00\x10\x80\x00\x00\xaa\x00\x38\x9b\x71"

// isWAV reports whether an object is a WAV. RF64 and BW64 are for more than 4 GiB;
// RIFX has big-endian numbers.
func isWAV(head []byte) bool {
	if len(head) < wavHeader || string(head[8:12]) != "WAVE" {
		return false
	}
	switch string(head[:4]) {
	case "RIFF", "RIFX", "RF64", "BW64":
		return true
	}
	return false
}

// A wav has the content of the chunks of a file so far.
type wav struct {
	obj   *objstore.Object
	order binary.ByteOrder
	long  int64 // length of the data by ds64; -1: unknown
	fmt   *wavFmt
	data  int64 // byte where the data begin; 0: not found
	size  int64 // length of the data
	warn  []string
}

type wavFmt struct {
	tag, channels, align, bits int
	rate                       uint32
}

// openWAV reads the chunks up to the data. If a header claims more than the file has,
// the file counts, and About.Warnings says so.
func openWAV(ctx context.Context, obj *objstore.Object) (Series, error) {
	w := &wav{obj: obj, order: binary.LittleEndian, long: -1}
	head := make([]byte, wavHeader)
	if err := w.read(ctx, head, 0); err != nil {
		return nil, err
	}
	if head[3] == 'X' {
		w.order = binary.BigEndian
	}
	if err := w.chunks(ctx); err != nil {
		return nil, err
	}
	return w.series()
}

func (w *wav) read(ctx context.Context, p []byte, off int64) error {
	if off+int64(len(p)) > w.obj.Size() {
		return kit.Fail("wav", w.obj.Info().Key, off, kit.Corrupt("truncated: %d bytes, and there are %d", len(p), max(w.obj.Size()-off, 0)))
	}
	// Chunks before the data are few and short, so the head that Open has kept mostly
	// holds them.
	_, err := io.ReadFull(io.NewSectionReader(w.obj.WithContext(ctx), off, int64(len(p))), p)
	return err
}

// chunks goes from chunk to chunk until it has both the format and the data.
func (w *wav) chunks(ctx context.Context) error {
	at := int64(wavHeader)
	for n := 0; w.fmt == nil || w.data == 0; n++ {
		if n == maxChunks {
			return kit.Fail("wav", "", at, kit.TooLarge("more than %d chunks before the data", maxChunks))
		}
		var head [wavChunk]byte
		if at+wavChunk > w.obj.Size() {
			break
		}
		if err := w.read(ctx, head[:], at); err != nil {
			return err
		}
		name, size := string(head[:4]), int64(w.order.Uint32(head[4:]))
		at += wavChunk
		next, err := w.chunk(ctx, name, at, size)
		if err != nil {
			return err
		}
		at = next
	}
	switch {
	case w.fmt == nil:
		return kit.Fail("wav", w.obj.Info().Key, at, kit.Corrupt("no format chunk"))
	case w.data == 0:
		return kit.Fail("wav", w.obj.Info().Key, at, kit.Corrupt("no data chunk"))
	}
	return nil
}

// chunk reads one chunk and returns where the next one begins: the length of a chunk is
// rounded up to an even number.
func (w *wav) chunk(ctx context.Context, name string, at, size int64) (next int64, err error) {
	switch name {
	case "ds64":
		var p [16]byte // size of the file, size of the data
		if err := w.read(ctx, p[:], at); err != nil {
			return 0, err
		}
		if n := w.order.Uint64(p[8:]); n <= uint64(w.obj.Size()) {
			w.long = int64(n)
		} else {
			w.long = w.obj.Size() + 1 // more than the file can have
		}
	case "fmt ":
		p := make([]byte, min(size, maxFmt))
		if err := w.read(ctx, p, at); err != nil {
			return 0, err
		}
		if w.fmt, err = w.parseFmt(p, at); err != nil {
			return 0, err
		}
	case "data":
		if w.data == 0 {
			if err := w.found(ctx, at, size); err != nil {
				return 0, err
			}
			size = w.size
		}
	}
	return at + size + size&1, nil
}

// found decides how many bytes of samples there are.
func (w *wav) found(ctx context.Context, at, size int64) error {
	rest := w.obj.Size() - at
	w.data = at
	if size == unknown32 && w.long >= 0 {
		if size = w.long; size == 0 && rest > 0 {
			w.warn = append(w.warn, "ds64 says that there are no samples, as a writer that was killed leaves it: read to the end of the file")
			size = rest
		}
	}
	if size == unknown32 {
		w.warn = append(w.warn, errNoLength)
		size = rest
	}
	if size > rest {
		w.warn = append(w.warn, fmt.Sprintf("the header says more bytes of samples than the %d that are there: read to the end of the file", rest))
		size = rest
	}
	if size+size&1 < rest { // other chunks follow, or the header says too little
		ends, err := w.ends(ctx, at+size+size&1)
		if err == nil && !ends && size&1 == 1 { // some programs forget the byte that makes it even
			ends, err = w.known(ctx, at+size)
		}
		if err != nil {
			return err
		}
		switch {
		case ends:
		case size == 0:
			w.warn = append(w.warn, errNoLength)
			size = rest
		default:
			w.warn = append(w.warn, fmt.Sprintf("the header says %d bytes of samples, and behind them is no chunk: read to the end of the file, %d bytes", size, rest))
			size = rest
		}
	}
	w.size = size
	return nil
}

const errNoLength = "the header does not say how long the samples are, as one written to a pipe: read to the end of the file"

// knownChunks are the chunks that programs write behind the samples.
const knownChunks = "LIST fact cue  PEAK bext id3  ID3  iXML JUNK junk PAD  smpl inst plst DISP _PMX afsp acid strc axml chna umid minf elm1 regn FLLR levl fmt "

// ends reports whether the samples end at off: a chunk that fits into the file follows,
// or a tag as players append it.
func (w *wav) ends(ctx context.Context, off int64) (bool, error) {
	var head [wavChunk]byte
	n := min(w.obj.Size()-off, wavChunk)
	if err := w.read(ctx, head[:n], off); err != nil {
		return false, err
	}
	for _, tag := range []string{"TAG", "ID3", "APETAGEX", "LYRICSBE"} {
		if strings.HasPrefix(string(head[:]), tag) {
			return true, nil
		}
	}
	if n < wavChunk { // less than a chunk: padding of some editors, or a cut
		return len(bytes.Trim(head[:n], "\x00")) == 0 || strings.Contains(knownChunks, string(head[:min(n, 4)])), nil
	}
	for _, c := range head[:4] {
		if c < ' ' || c > '~' {
			return false, nil
		}
	}
	// The end of a file that was cut lies inside a chunk.
	if strings.Contains(knownChunks, string(head[:4])) {
		return true, nil
	}
	return int64(w.order.Uint32(head[4:])) <= w.obj.Size()-off-wavChunk, nil
}

// known reports whether one of knownChunks is at off.
func (w *wav) known(ctx context.Context, off int64) (bool, error) {
	var name [4]byte
	if off+int64(len(name)) > w.obj.Size() {
		return false, nil
	}
	if err := w.read(ctx, name[:], off); err != nil {
		return false, err
	}
	return strings.Contains(knownChunks, string(name[:])), nil
}

func (w *wav) parseFmt(p []byte, at int64) (*wavFmt, error) {
	bad := func(err error) (*wavFmt, error) { return nil, kit.Fail("wav", "fmt", at, err) }
	if len(p) < 16 {
		return bad(kit.Corrupt("%d bytes, want 16", len(p)))
	}
	f := &wavFmt{tag: int(w.order.Uint16(p)), channels: int(w.order.Uint16(p[2:])), rate: w.order.Uint32(p[4:]),
		align: int(w.order.Uint16(p[12:])), bits: int(w.order.Uint16(p[14:]))}
	if f.tag == wavExtensible {
		switch {
		case len(p) >= maxFmt && string(p[26:40]) == wavGUID:
			f.tag = int(w.order.Uint16(p[24:]))
		case len(p) >= maxFmt && w.order == binary.ByteOrder(binary.BigEndian) && string(p[24:26]) == "\x00\x00" && string(p[28:40]) == wavGUIDBig:
			f.tag = int(w.order.Uint16(p[26:]))
		default:
			return bad(kit.Unsupported("a sub-format that is no tag"))
		}
	}
	switch {
	case f.tag != wavPCM && f.tag != wavFloat:
		return bad(kit.Unsupported("samples of format 0x%04X; PCM (1) and IEEE float (3) are read", f.tag))
	case f.channels == 0:
		return bad(kit.Corrupt("no channels"))
	case f.channels > MaxTracks:
		return bad(kit.TooLarge("%d channels, over %d", f.channels, MaxTracks))
	}
	return f, nil
}

// item returns the encoding of a sample. The bytes of a frame decide. If samples
// have fewer bits than these bytes, they are left-justified in them, and stay so.
func (f *wavFmt) item() (item, int, error) {
	size := (f.bits + 7) / 8
	if f.align/f.channels > size {
		size = f.align / f.channels
	}
	if f.align != 0 && f.align != size*f.channels {
		return item{}, 0, kit.Corrupt("frames of %d bytes for %d samples of %d bits", f.align, f.channels, f.bits)
	}
	it := item{size: size}
	ok := f.bits > 0
	if f.tag == wavFloat {
		it.kind = map[int]zoomcache.Kind{4: zoomcache.F32, 8: zoomcache.F64}[size]
	} else {
		it.kind = map[int]zoomcache.Kind{1: zoomcache.U8, 2: zoomcache.I16, 3: zoomcache.I32, 4: zoomcache.I32, 5: zoomcache.I64, 6: zoomcache.I64, 7: zoomcache.I64, 8: zoomcache.I64}[size]
	}
	if !ok || it.kind == zoomcache.Unit {
		return item{}, 0, kit.Unsupported("samples of %d bits in %d bytes", f.bits, size)
	}
	return it, size * f.channels, nil
}

// wavCodec is a PCM codec, as the original's tools for audio use: its summaries have no
// first and last values. There is none for U8, and that for 32 bits has the identifier
// of another codec.
func wavCodec(k zoomcache.Kind) zoomcache.Codec {
	return zoomcache.Codec{Kind: k, PCM: k != zoomcache.U8 && k != zoomcache.I32}
}

func (w *wav) series() (Series, error) {
	it, frame, err := w.fmt.item()
	if err != nil {
		return nil, kit.Fail("wav", "fmt", -1, err)
	}
	it.big = w.order == binary.ByteOrder(binary.BigEndian)
	if rest := w.size % int64(frame); rest > 0 {
		w.warn = append(w.warn, fmt.Sprintf("the last %d bytes are no whole frame: left out", rest))
		w.size -= rest
	}
	if w.fmt.rate == 0 {
		w.warn = append(w.warn, "the header says 0 samples a second: times are unknown")
	}
	about := About{Format: "wav", Rows: w.size / int64(frame), Bytes: w.size, Warnings: w.warn,
		Tracks: tracks(w.fmt.channels, wavCodec(it.kind), zoomcache.Rate{Num: int64(w.fmt.rate), Den: 1}, nil, "channel")}
	return &rows{about: about, obj: w.obj, base: w.data, item: it, frame: frame}, nil
}
