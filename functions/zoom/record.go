package zoom

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"

	"github.com/klauspost/compress/zlib"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/functions/internal/kit"
	"github.com/farread/farread/rangeio"
)

// RecordTrack is the number of the undeclared track, "upls", whose one packet is the record
// of a file that a rule with append has made (functions.Joined): 8 bytes "fruplds" 1, the length
// of the record as a u32, and the record as one zlib stream. Readers skip it by its length. It
// lies where seals do, behind the plain file and before the end of the index.
const RecordTrack = 0x75706C73

const (
	recordTag = "fruplds\x01"
	// maxRecord bounds a record, and maxPacked what it takes as it is stored.
	maxRecord, maxPacked = 1 << 20, 2 << 20
	recordHead           = len(recordTag) + 4
)

// packRecord makes the payload of the packet.
func packRecord(record []byte) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(recordTag)
	b.Write(binary.BigEndian.AppendUint32(nil, uint32(len(record))))
	w := zlib.NewWriter(&b)
	if _, err := w.Write(record); err != nil {
		return nil, err
	}
	err := w.Close()
	return b.Bytes(), err
}

// unpackRecord reads the payload of the packet.
func unpackRecord(p []byte, off int64) ([]byte, error) {
	bad := func(why string, a ...any) ([]byte, error) {
		return nil, kit.Fail(zoomcache.Format, "record of appended uploads", off, kit.Corrupt(why, a...))
	}
	if len(p) < recordHead || string(p[:len(recordTag)]) != recordTag {
		return bad("it is not what farread writes")
	}
	n := int64(binary.BigEndian.Uint32(p[len(recordTag):]))
	if n > maxRecord {
		return bad("%d bytes, at most %d", n, maxRecord)
	}
	z, err := zlib.NewReader(bytes.NewReader(p[recordHead:]))
	if err != nil {
		return bad("zlib: %v", err)
	}
	record, err := io.ReadAll(io.LimitReader(z, n+1))
	if err != nil || int64(len(record)) != n {
		return bad("%d bytes, want %d: zlib: %v", len(record), n, err)
	}
	return record, nil
}

// readRecord reads the record in the packet b of a file.
func readRecord(ctx context.Context, r rangeio.Reader, b zoomcache.Block) ([]byte, error) {
	if b.Len > maxPacked {
		return nil, kit.Fail(zoomcache.Format, "record of appended uploads", b.Off, kit.TooLarge("%d bytes", b.Len))
	}
	p := make([]byte, b.Len)
	if err := r.ReadRanges(ctx, []rangeio.Span{{Off: b.Off + zoomcache.BlockHeaderLen, P: p}}); err != nil {
		return nil, err
	}
	return unpackRecord(p, b.Off)
}

// recordOf finds the record of a file by its index; nil if there is none.
func recordOf(ctx context.Context, f *zoomindex.File) ([]byte, error) {
	p, err := f.Extra(ctx, RecordTrack, maxPacked)
	if err != nil || p == nil {
		return nil, err
	}
	return unpackRecord(p, -1)
}
