package codec

import (
	"hash/fnv"

	"github.com/klauspost/compress/dict"
	"github.com/klauspost/compress/zstd"
)

// minDictID is the first identifier of a dictionary that zstd leaves to private
// use; the last is 1<<31 - 1.
const minDictID = 32768

// TrainDict makes a Zstandard dictionary of at most maxLen bytes from samples
// of what is to be encoded. The result is nil where samples are too few, too
// short or too unlike each other to make one. Its identifier depends on the
// samples alone; its content may differ from call to call among strings that
// are as frequent.
func TrainDict(samples [][]byte, maxLen int) (d []byte) {
	// The library makes tables from matches in the samples. It panics or fails if it
	// finds none.
	defer func() {
		if recover() != nil {
			d = nil
		}
	}()
	const tables = 1024 // bound of the bytes of entropy tables and header
	if maxLen <= tables {
		return nil
	}
	h := fnv.New32a()
	for _, s := range samples {
		h.Write(s)
	}
	d, err := dict.BuildZstdDict(samples, dict.Options{
		MaxDictSize: maxLen - tables,
		HashBytes:   6,
		ZstdDictID:  minDictID + h.Sum32()%(1<<31-minDictID),
		ZstdLevel:   zstd.SpeedBetterCompression,
	})
	if err != nil || len(d) > maxLen || !trained(d) {
		return nil
	}
	return d
}
