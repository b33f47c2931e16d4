package pack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/zarr"
	"github.com/farread/farread/functions/internal/kit"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

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
	if slices.ContainsFunc(zarr.Documents(), func(key string) bool { _, ok := s.at[key]; return ok }) {
		return s, nil
	}
	if top, _ := s.Folders(ctx, ""); len(top) == 1 {
		return zarr.Below(s, top[0].Name+"/"), nil
	}
	return s, nil
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
