package zarrface

import "fmt"

// A Codec says how chunks are sent.
type Codec uint8

// The codecs of Options.
const (
	// Pass sends Blosc chunks: stored chunks as they are, behind another header, where
	// readers of Blosc1 can decode that, and others anew with LZ4.
	Pass Codec = iota
	Raw        // items as they are
	Zstd       // one frame of Zstandard
	Gzip       // one member of gzip
)

// Options say how an array is seen. The zero value is right for most. Options that are
// equal give documents and chunks that are equal.
type Options struct {
	Codec Codec
	// Blocks makes each block of a chunk a Zarr chunk, if blocks divide chunks.
	Blocks bool
	// Cast is the name of the Zarr type that numbers are cast to, "" for none: float32,
	// uint8, uint16, int32 or int64.
	Cast string
	// Folder says that the array is one of several in a group. Axes without names are then
	// called after their length, so that axes of the same length are shared.
	Folder bool
	// Version and Pinned are shown in the attribute "farread" if they are not "".
	Version, Pinned string
}

// Set sets the option of a word such as "raw" or "float32", as it stands between the
// tildes of a path. An error matches ErrOption.
func (o *Options) Set(word string) error {
	var codec Codec
	switch word {
	case "blocks":
		o.Blocks = true
		return nil
	case "raw":
		codec = Raw
	case "zstd":
		codec = Zstd
	case "gzip":
		codec = Gzip
	default:
		if _, ok := castTypes[word]; !ok {
			return fmt.Errorf("option %.40q: %w", word, ErrOption)
		}
		if o.Cast != "" && o.Cast != word {
			return fmt.Errorf("option %s besides %s: %w", word, o.Cast, ErrOption)
		}
		o.Cast = word
		return nil
	}
	if o.Codec != Pass && o.Codec != codec {
		return fmt.Errorf("option %s besides another codec: %w", word, ErrOption)
	}
	o.Codec = codec
	return nil
}

func (o *Options) check() error {
	if _, ok := castTypes[o.Cast]; o.Cast != "" && !ok || o.Codec > Gzip {
		return fmt.Errorf("codec %d, cast %.40q: %w", o.Codec, o.Cast, ErrOption)
	}
	return nil
}
