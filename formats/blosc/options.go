package blosc

// DecodeOptions have facts that a chunk does not store, and limits for
// decoding. The zero value is right for most chunks.
type DecodeOptions struct {
	// TypeSize is the size of an item in the super-chunk. ByteDelta uses it if
	// the filter's meta is 0, NDCell and NDMean instead of the chunk's type size,
	// which is 1 for large items. 0: unknown; a chunk whose ByteDelta needs it is
	// ErrUnsupported.
	TypeSize int
	// BlockShape is the shape of a block in items. A chunk with NDCell or NDMean
	// is ErrUnsupported without it.
	BlockShape []int
	// MaxDecoded is the longest decoded chunk that AppendDecoded takes, whatever
	// room dst has. 0: formats.DefaultLimits. The other functions are bounded by
	// dst.
	MaxDecoded int64
	// Parallel is the number of goroutines that decode the blocks of a whole
	// chunk. If it is 1 or less, the caller's goroutine decodes.
	Parallel int
}

// SplitMode decides whether blocks are split into one stream for each byte of
// an item.
type SplitMode uint8

// The modes and their numbers in Blosc's interfaces, which have no 0. A last,
// shorter block is never split. Readers of Blosc1 take blocks of items above 16
// bytes, or of fewer than 128 items, for unsplit, so no mode splits these there.
const (
	SplitDefault       SplitMode = 0 // means SplitForwardCompat, the C libraries' default
	SplitAlways        SplitMode = 1
	SplitNever         SplitMode = 2
	SplitAuto          SplitMode = 3 // means SplitForwardCompat, but in Blosc1 only BloscLZ is split
	SplitForwardCompat SplitMode = 4 // codec, level, filter and type size decide
)

// LevelStore is the EncodeOptions.Level that stores data uncompressed (Blosc's
// level 0).
const LevelStore = -1

// EncodeOptions say how to encode a chunk. The zero value means BloscLZ at
// level 5 with shuffle, the default in C. Set TypeSize: for items of one byte
// shuffle does nothing.
type EncodeOptions struct {
	Codec     Codec
	CodecMeta uint8    // stored in the header; no codec of this package uses it
	Level     int      // 1..9; 0 means 5; LevelStore
	TypeSize  int      // bytes of an item; 0 means 1
	Filters   []Filter // nil: shuffle; empty and not nil: none; six at most, one of shuffle and bitshuffle with Blosc1
	BlockSize int      // bytes, made to fit TypeSize and the data; 0: the rule of the C library, the same on every machine
	Split     SplitMode
	Blosc1    bool // a Blosc1 chunk, for readers of any age
	Dict      bool // zstd, LZ4 and LZ4HC of Blosc2: try a dictionary, and keep it if it pays; twice the work. C 3.3.5 reads no single blocks of such chunks
	Parallel  int  // number of goroutines, as in DecodeOptions; the bytes do not depend on it

	// BlockShape is the shape of a block in items, for NDCell.
	BlockShape []int
}
