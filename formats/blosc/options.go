package blosc

// DecodeOptions say what a chunk does not know about itself, and how much a
// decoder may use. The zero value is sane.
type DecodeOptions struct {
	// TypeSize is the size of an item in the super-chunk, which the filter
	// ByteDelta uses where its meta is 0. 0: unknown, and such a chunk is refused.
	TypeSize int
	// BlockShape is the shape of a block in items, which NDCell and NDMean need.
	BlockShape []int
	// MaxDecoded bounds the memory that AppendDecoded allocates. 0: formats.DefaultLimits.
	MaxDecoded int64
	// Parallel is how many goroutines decode blocks at the same time; up to 1
	// none is started.
	Parallel int
}

// SplitMode says whether blocks are split into one stream for each byte of an
// item.
type SplitMode uint8

// The modes and their numbers in Blosc's interfaces; the zero value is SplitAuto.
const (
	SplitDefault       SplitMode = 0 // the rule of the C library's default
	SplitAlways        SplitMode = 1
	SplitNever         SplitMode = 2
	SplitAuto          SplitMode = 3
	SplitForwardCompat SplitMode = 4
)

// LevelStore as EncodeOptions.Level stores the data as they are (Blosc's level 0).
const LevelStore = -1

// EncodeOptions say how a chunk is made. The zero value is what the C library
// takes by default: BloscLZ at level 5, items of one byte, shuffled.
type EncodeOptions struct {
	Codec     Codec
	CodecMeta uint8
	Level     int      // 1..9; 0 means 5; LevelStore
	TypeSize  int      // of an item; 0 means 1
	Filters   []Filter // nil: shuffle; empty and not nil: none; six at most
	BlockSize int      // bytes; 0: the rule of the C library, the same on every machine
	Split     SplitMode
	Blosc1    bool // a Blosc1 chunk, for readers of any age
	Dict      bool // zstd, LZ4 and LZ4HC of Blosc2: try a dictionary, and keep it where it pays; twice the work. C 3.3.5 reads no single blocks of such chunks
	Parallel  int  // goroutines, as in DecodeOptions; the bytes do not depend on it

	// BlockShape is the shape of a block in items, for NDCell.
	BlockShape []int
}
