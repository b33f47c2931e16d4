package pack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/zarr"
	"github.com/farread/farread/functions/internal/kit"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// maxZipTop is how many folders, each the only one in the one before, Zarr may lie in.
const maxZipTop = 8

// ZarrTop returns the folder of a zip with files of such names in which Zarr lies: "", or a key that ends in a
// slash, if there is no other folder beside it but those of desktops. ok is false if there is no Zarr.
func ZarrTop(names iter.Seq[string]) (folder string, ok bool) {
	for range maxZipTop {
		only, several := "", false
		for key := range names {
			rest, in := strings.CutPrefix(key, folder)
			name, _, sub := strings.Cut(rest, "/")
			switch {
			case !in || isJunk(name) && !slices.Contains(zarr.Documents(), name):
			case !sub && slices.Contains(zarr.Documents(), name):
				return folder, true
			case sub && only == "":
				only = name
			case sub:
				several = several || name != only
			}
		}
		if only == "" || several {
			return "", false
		}
		folder += only + "/"
	}
	return "", false
}

// ZarrZip returns the hierarchy of Zarr that a zip holds, at its top or in its only folder. It
// costs the requests for the directory; each object then one, or two if it is a shard that is stored as it is; one that is compressed is
// unpacked as a whole. Names are
// checked as in any archive; of two members of one name the later one counts, as for zarr-python.
func ZarrZip(ctx context.Context, obj *objstore.Object, l Limits) (zarr.Store, error) {
	l = l.WithDefaults()
	l.Ratio = max(l.Ratio, npzRatio)
	z, err := openZip(ctx, obj, About{Format: "zip", Name: stemOf(obj.Info().Key), Size: obj.Size()}, l)
	if err != nil {
		return nil, err
	}
	s := &zarrZip{z: z, at: map[string]int{}}
	for i, m := range z.members {
		s.at[m.name] = i
	}
	top, _ := ZarrTop(maps.Keys(s.at))
	return zarr.Below(s, top), nil
}

type zarrZip struct {
	z  *zipped
	at map[string]int // number of a member
}

// cachedMember is a member in memory.
type cachedMember struct {
	rangeio.Reader

	n int64
}

// HeldBytes returns the memory that it takes.
func (h cachedMember) HeldBytes() int64 { return h.n }

// Open implements zarr.Store.
func (s *zarrZip) Open(ctx context.Context, key string, head, tail int64) (rangeio.Reader, error) {
	i, ok := s.at[key]
	if !ok {
		return nil, kit.Fail(s.z.about.Format, fmt.Sprintf("%q", key), -1, formats.ErrNoEntry)
	}
	m := &s.z.members[i]
	part := m.method == zipStored && (tail > 0 || m.size > head)
	if !part && m.size > s.z.l.Item {
		return nil, kit.Fail(s.z.about.Format, fmt.Sprintf("%q", key), m.off, kit.TooLarge("%d bytes, over %d", m.size, s.z.l.Item))
	}
	var out rangeio.Reader
	err := s.z.some(ctx, i, i+1, zipPart, func(f File, r io.Reader) error {
		if part {
			out = rangeio.Section(s.z.obj, f.Off, m.size)
			return errEnough
		}
		p := make([]byte, m.size)
		if _, err := io.ReadFull(r, p); err != nil {
			return err
		}
		out = cachedMember{rangeio.FromReaderAt(bytes.NewReader(p), m.size), m.size}
		return nil
	})
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = kit.Fail(s.z.about.Format, fmt.Sprintf("%q", key), m.off, kit.Corrupt("truncated"))
	}
	return out, err
}

// Folders implements zarr.Store.
func (s *zarrZip) Folders(_ context.Context, folder string) ([]zarr.Folder, error) {
	have := map[string]bool{}
	var out []zarr.Folder
	for key := range s.at {
		rest, ok := strings.CutPrefix(key, folder)
		if name, _, sub := strings.Cut(rest, "/"); ok && sub && !have[name] {
			have[name] = true
			out = append(out, zarr.Folder{Name: name})
		}
	}
	slices.SortFunc(out, func(x, y zarr.Folder) int { return strings.Compare(x.Name, y.Name) })
	return out, nil
}
