package zarr

import (
	"bytes"
	"context"
	"path"
	"strings"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/rangeio"
)

// A Store opens the objects of a hierarchy by their keys. Its methods are safe for concurrent
// use.
type Store interface {
	// Open opens an object, and fetches its first head bytes or its last tail bytes by the
	// same request, or all of it if it has no more; one of the two numbers is 0. If there is no
	// object under the key, the error matches formats.ErrNoEntry; if the store refuses to say
	// whether there is one, ErrMaybeAbsent.
	Open(ctx context.Context, key string, head, tail int64) (rangeio.Reader, error)
	// Folders returns the folders in a folder: "" or a key that ends in a slash. A store without
	// listings says so by an error that matches formats.ErrUnsupported.
	Folders(ctx context.Context, folder string) ([]Folder, error)
}

// A Folder is a folder in a folder of a Store.
type Folder struct {
	Name string
	// Err says why it is not looked into, as of a link that leads out of the store: what it may
	// have is refused by its name. It matches formats.ErrUnsupported.
	Err error
}

// Keys of metadata.
const (
	doc3          = "zarr.json"
	array2Key     = ".zarray"
	group2Key     = ".zgroup"
	attrs2        = ".zattrs"
	consolidated2 = ".zmetadata"
)

// Documents returns the keys by which a folder is one of Zarr.
func Documents() []string { return []string{doc3, array2Key, group2Key, consolidated2} }

// metaHead is how much of an object with metadata is fetched at once. Those of a group with
// many arrays may be longer; these take a second request.
const metaHead = 64 << 10

// maxDoc bounds the metadata of an array. Those of a group, with all of its arrays, have
// Limits.MaxMeta, and no more than maxGroupDoc.
const (
	maxDoc      = 4 << 20
	maxGroupDoc = 64 << 20
)

// document reads an object with metadata.
func document(ctx context.Context, s Store, key string, most int64) ([]byte, error) {
	r, err := s.Open(ctx, key, metaHead, 0)
	if err != nil {
		return nil, err
	}
	if r.Size() > most {
		return nil, fail(key, formats.ErrTooLarge, "%d bytes, at most %d are read", r.Size(), most)
	}
	p := make([]byte, r.Size())
	if err := r.ReadRanges(ctx, []rangeio.Span{{P: p}}); err != nil {
		return nil, err
	}
	return quoteWords(p), nil
}

// quoteWords puts NaN, Infinity and -Infinity, which Python writes into JSON although it has no
// such numbers, into quotes: that is how version 3 spells them.
func quoteWords(text []byte) []byte {
	var out []byte
	inside, from := false, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inside && c == '\\':
			i++
		case c == '"':
			inside = !inside
		case !inside && (c == 'N' || c == 'I' || c == '-'):
			for _, word := range []string{"NaN", "Infinity", "-Infinity"} {
				if bytes.HasPrefix(text[i:], []byte(word)) {
					out = append(append(append(append(out, text[from:i]...), '"'), word...), '"')
					i += len(word) - 1
					from = i + 1
					break
				}
			}
		}
	}
	if from == 0 {
		return text
	}
	return append(out, text[from:]...)
}

// Below is the part of a store below a folder, which is "" or ends in a slash.
func Below(s Store, folder string) Store {
	if folder == "" {
		return s
	}
	return below{s, folder}
}

type below struct {
	Store

	folder string
}

func (b below) Open(ctx context.Context, key string, head, tail int64) (rangeio.Reader, error) {
	return b.Store.Open(ctx, b.folder+key, head, tail)
}

func (b below) Folders(ctx context.Context, folder string) ([]Folder, error) {
	return b.Store.Folders(ctx, b.folder+folder)
}

// maxPath bounds the depth of a hierarchy, and maxName the length of a name in it: a folder that
// has itself in it by a link ends there.
const (
	maxPath = 32
	maxName = 255
)

// IsName reports whether an array in a group can be called so.
func IsName(name string) bool { return !strings.Contains(name, "/") && checkPath(name) == nil }

// checkPath says whether the path of an array can be one: it leads nowhere else, and every
// system takes it as the name of a file.
func checkPath(p string) error {
	names := strings.Split(p, "/")
	if len(names) > maxPath {
		return fail("", formats.ErrTooLarge, "path %.200q is over %d deep", p, maxPath)
	}
	for _, n := range names {
		if n == "" || n == "." || n == ".." || len(n) > maxName || strings.ContainsFunc(n, func(r rune) bool {
			return r < ' ' || r == 0x7f || r == '\\' || r == 0xfffd
		}) {
			return unsupported("", "path %.200q: an unsafe name", p)
		}
	}
	if path.Clean(p) != p {
		return unsupported("", "path %.200q: an unsafe name", p)
	}
	return nil
}
