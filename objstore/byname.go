package objstore

import (
	"path"
	"strings"
)

// Sizes of what OptionsFor fetches. The directory of a zip has about 80 bytes an entry, so
// the tail holds that of 3,000; the footer of a parquet file, with its page index, is
// seldom longer. Of the head, readers of these formats need the first bytes at most.
const (
	tailFirst     = 256 << 10
	tailFirstHead = 4 << 10
)

// endsFirst has the suffixes of formats whose readers begin at the end.
var endsFirst = map[string]bool{
	".zip": true, ".zip64": true, ".jar": true, ".war": true, ".apk": true, ".aab": true, ".ipa": true, ".whl": true, ".npz": true,
	".epub": true, ".docx": true, ".xlsx": true, ".pptx": true, ".odt": true, ".ods": true, ".odp": true, ".kmz": true, ".cbz": true,
	".nupkg": true, ".vsix": true, ".xpi": true, ".keras": true, ".pt": true, ".pth": true,
	".parquet": true, ".pq": true, ".orc": true, ".feather": true, ".arrow": true, ".mcap": true, ".puffin": true, ".7z": true,
}

// OptionsFor returns the options to open an object for a reader of its format, as far as
// the name tells the format: objects with a directory at their end, such as .zip, .npz
// and .parquet files, are opened by the last 256 KiB, which hold a usual directory, and
// the first 4 KiB: two requests in one phase. For other names it returns the zero value.
func OptionsFor(key string) OpenOptions {
	if !endsFirst[strings.ToLower(path.Ext(key))] {
		return OpenOptions{}
	}
	return OpenOptions{Head: tailFirstHead, Tail: tailFirst}
}
