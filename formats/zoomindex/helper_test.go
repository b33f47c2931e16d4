package zoomindex

import (
	"bytes"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/rangeio"
)

const (
	kinds   = zoomcache.U64 + 1
	minHead = 4 << 10 // the least that Open reads
)

func readerOf(p []byte) rangeio.Reader {
	return rangeio.FromReaderAt(bytes.NewReader(p), int64(len(p)))
}

// small bounds the memory of fuzzing.
func small() formats.Limits {
	return formats.Limits{MaxDecoded: 1 << 20, MaxEntries: 1 << 16, MaxMeta: 1 << 20}
}
