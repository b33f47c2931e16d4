package gateway

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/groupindex"
	"github.com/farread/farread/internal/par"
	"github.com/farread/farread/internal/zarrface"
	"github.com/farread/farread/objstore"
)

const (
	maxMembers  = 256     // arrays of a group
	maxListed   = 10_000  // entries of its folder
	maxSkipped  = 1_000   // names of what is no array
	groupFlight = 8       // arrays that are opened side by side
	groupDocs   = 4 << 20 // bytes of the documents of all arrays
	oneMember   = "data"  // name of the array in a group of one
	indexSuffix = ".fri"  // of indexes, which are no data of their own
	firstSuffix = ".b2nd" // of arrays; it comes first if two have one name
	otherSuffix = ".b2frame"
)

// A node is what a path names in a group.
type node uint8

const (
	nodeFolder node = iota // the group of a folder, or one of its arrays
	nodeOne                // the group of one array
	nodeData               // the array in that
	nodeCoord              // a coordinate beside it
)

// groupPath reads a path in a group.
func (s *Server) groupPath(c *call) (done bool, err error) {
	if done, err = s.zarrPath(c); done || err != nil {
		return done, err
	}
	dir, last := "", c.key
	if i := strings.LastIndexByte(c.key, '/'); i >= 0 {
		dir, last = c.key[:i], c.key[i+1:]
	}
	switch {
	case !c.zarr.chunk && s.isArray(c.r.Context(), c.root, c.key):
		c.zarr.node = nodeOne
	case last == oneMember && s.isArray(c.r.Context(), c.root, dir):
		c.zarr.node, c.key = nodeData, dir
	case last != "" && s.isArray(c.r.Context(), c.root, dir):
		c.zarr.node, c.key, c.zarr.coord = nodeCoord, dir, last
	case c.version != "":
		return false, badf("option", "a folder has no version")
	default:
		c.zarr.o.Folder = true
	}
	return false, nil
}

// isArray reports whether a key is that of an array, by its name. The key of a root is "".
func (s *Server) isArray(ctx context.Context, root, key string) bool {
	if key == "" {
		r, err := s.root(ctx, root)
		if key = r.Key; err != nil {
			return false // place tells
		}
	}
	return strings.HasSuffix(key, firstSuffix) || strings.HasSuffix(key, otherSuffix)
}

// group answers with the document of a group, or for an array in it.
func (s *Server) group(c *call) error {
	switch c.zarr.node {
	case nodeOne:
		return s.again(c, func(h *handle) error { return s.answer(c, verb{plan: planGroup}, h) })
	case nodeData:
		return s.again(c, func(h *handle) error { return s.answer(c, verb{plan: planZarr}, h) })
	case nodeCoord:
		return s.again(c, func(h *handle) error { return s.answer(c, verb{plan: planCoord}, h) })
	case nodeFolder:
	}
	if done, err := s.sharedNow(c); done {
		return err
	}
	if c.zarr.chunk {
		return s.memberOrShared(c)
	}
	err := s.folder(c)
	if empty, none := errors.Is(err, errNoFolder), errors.Is(err, errNoListing); (empty || none) && c.key != "" {
		if other := s.memberOrShared(c); empty || !errors.Is(other, objstore.ErrNotFound) {
			return other
		}
	}
	return err
}

var (
	errNoFolder  = refusef(http.StatusNotFound, "not-found", "nothing is in this folder")
	errNoListing = badf("group", "a plain HTTP server lists nothing: name one array, as in /group/ROOT/KEY"+firstSuffix)
)

// planGroup plans the document of a group of one array.
func planGroup(ctx context.Context, s *Server, c *call, h *handle) (*job, error) {
	v, err := s.view(ctx, c, h)
	if err != nil {
		return nil, err
	}
	arrays := v.Coords()
	arrays[oneMember] = v.Doc()
	doc, err := zarrface.Group{Arrays: arrays}.Doc()
	if err != nil {
		return nil, err
	}
	j := zarrDocument(c, doc)
	c.part += " group"
	return j, nil
}

// planCoord plans the document or the only chunk of a coordinate in the group of one array.
func planCoord(ctx context.Context, s *Server, c *call, h *handle) (*job, error) {
	v, err := s.view(ctx, c, h)
	if err != nil {
		return nil, err
	}
	doc, ok := v.Coords()[c.zarr.coord]
	if !ok {
		return nil, refusef(http.StatusNotFound, "not-found", "the array has no coordinate of this name")
	}
	if !c.zarr.chunk {
		j := zarrDocument(c, doc)
		c.part += " coordinate " + c.zarr.coord
		return j, nil
	}
	if c.zarr.rest != "c/0" {
		return &job{absent: true}, nil
	}
	c.part = fmt.Sprintf("%d coordinate %s %+v", zarrface.Encoding, c.zarr.coord, c.zarr.o)
	p, _ := v.CoordChunk(c.zarr.coord)
	return &job{media: "application/octet-stream", exact: true, cheap: true, size: int64(len(p)),
		make: func(context.Context) ([]byte, error) { return append(begin(int64(len(p))), p...), nil }}, nil
}

// member answers for an array of a folder, whose name has no suffix.
func (s *Server) member(c *call) error {
	stem := c.key
	if !s.onlyOther(c, stem) {
		if err := s.named(c, stem+firstSuffix, false); !errors.Is(err, objstore.ErrNotFound) {
			return err
		}
		return s.named(c, stem+otherSuffix, true)
	}
	return s.named(c, stem+otherSuffix, false)
}

// named answers for an array by its key. sole says that no array of the first suffix is
// beside it.
func (s *Server) named(c *call, key string, sole bool) (err error) {
	c.key = key
	if c.at, err = s.place(c.r.Context(), c.target); err != nil {
		return err
	}
	c.place = c.at.URI
	return s.again(c, func(h *handle) error {
		if sole {
			h.sole.Store(s.now().UnixNano())
		}
		return s.answer(c, verb{plan: planZarr}, h)
	})
}

// onlyOther reports whether not long ago only the second suffix was there: each request
// would else look for the first one.
func (s *Server) onlyOther(c *call, stem string) bool {
	h, _ := s.open.find(c.root+"/"+stem+otherSuffix, s.now(), s.c.TTL)
	return h != nil && s.now().Sub(time.Unix(0, h.sole.Load())) < s.c.TTL
}

// groupIndex reads the index of a folder, if the listing has one, for the documents of arrays that
// are as it says. What is not used of it is told in the group.
func (s *Server) groupIndex(ctx context.Context, at farread.Place, listed map[string]objstore.Info, g *zarrface.Group) (*farread.Group, error) {
	if in, ok := listed[groupindex.Name]; ok && in.Size > s.listMemory()/4 { // decoded it takes a few times as much
		g.Index = fmt.Sprintf("not used: it has %d bytes", in.Size)
		return &farread.Group{}, nil
	}
	x, err := s.c.Client.Group(ctx, at.Bucket, at.Key, listed)
	if x == nil || err != nil {
		return &farread.Group{}, err
	}
	g.Attrs = x.Attrs
	stale := slices.DeleteFunc(x.Stale, func(key string) bool { return strings.Contains(key, "/") }) // the listing has none of them
	switch {
	case x.Unused != "":
		g.Index = "not used: " + clip(x.Unused)
	case len(stale) > 0:
		g.Index = fmt.Sprintf("not used of %d arrays, which are others by now: %s", len(stale), clip(strings.Join(stale, ", ")))
	}
	return x, nil
}

// folder answers with the document of the group of a folder. It is made anew for each
// request, of what the index of the group says, and of documents that are there while their
// arrays are open.
func (s *Server) folder(c *call) error {
	return s.page(c, "group "+c.tableName(), "", 0, func(ctx context.Context) ([]byte, error) {
		g, _, err := s.grouped(ctx, c)
		if err != nil {
			return nil, err
		}
		doc, err := g.Doc()
		return append([]byte{plainBody}, doc...), err
	})
}

// grouped finds the arrays of the folder of a call, and the coordinates that they share, whose
// table it keeps.
func (s *Server) grouped(ctx context.Context, c *call) (g zarrface.Group, shared table, err error) {
	now, at := s.now(), c.at
	if at.Key != "" && !strings.HasSuffix(at.Key, "/") {
		at.Key += "/"
	}
	list, g, listed, err := s.members(ctx, c, at)
	if err != nil {
		return g, nil, err
	}
	index, err := s.groupIndex(ctx, at, listed, &g)
	if err != nil {
		return g, nil, err
	}
	if shared, err = s.documents(ctx, c, list, index, &g); err != nil {
		return g, nil, err
	}
	s.tables.put(c.tableName(), shared, now)
	return g, shared, nil
}

// A member is an array of a folder, by its key in the root.
type member struct{ name, key, entry string }

// members lists the arrays of a folder, and names what is none.
func (s *Server) members(ctx context.Context, c *call, at farread.Place) (list []member, g zarrface.Group, listed map[string]objstore.Info, err error) {
	g.Arrays, listed = map[string][]byte{}, map[string]objstore.Info{}
	taken, n := map[string]bool{}, 0
	skip := func(name string) {
		if len(g.Skipped) < maxSkipped {
			g.Skipped = append(g.Skipped, name)
		}
	}
	var others []member
	for e, err := range objstore.ListFolder(ctx, at.Bucket, at.Key, "") {
		if errors.Is(err, errors.ErrUnsupported) {
			return nil, g, nil, errNoListing
		}
		if err != nil {
			return nil, g, nil, err
		}
		if n++; n > maxListed {
			return nil, g, nil, refusef(http.StatusRequestEntityTooLarge, "too-large", "a folder of more than %d entries", maxListed)
		}
		entry := strings.TrimPrefix(e.Key, at.Key)
		if !e.Folder {
			listed[entry] = e.Info
		}
		m := member{entry: entry, key: strings.TrimPrefix(join(c.key, strings.TrimSuffix(entry, "/")), "/")}
		if name, ok := strings.CutSuffix(strings.TrimSuffix(entry, "/"), firstSuffix); ok && name != "" {
			m.name, taken[name] = name, true
			list = append(list, m)
		} else if name, ok := strings.CutSuffix(strings.TrimSuffix(entry, "/"), otherSuffix); ok && name != "" {
			m.name = name
			others = append(others, m)
		} else if !strings.HasSuffix(entry, indexSuffix) && entry != groupindex.Name {
			skip(entry)
		}
	}
	if n == 0 && c.key != "" {
		return nil, g, nil, errNoFolder
	}
	for _, m := range others {
		if taken[m.name] {
			skip(m.entry)
			continue
		}
		list = append(list, m)
	}
	if len(list) > maxMembers {
		return nil, g, nil, refusef(http.StatusRequestEntityTooLarge, "too-large", "a group of %d arrays, %d allowed", len(list), maxMembers)
	}
	return list, g, listed, nil
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return strings.TrimSuffix(dir, "/") + "/" + name
}

// documents puts the documents of arrays into a group: of what an index says, or else it opens them. An array that no
// client can read is named; any other fault is one of the group, or else an array would
// be missing because its store was slow. The coordinates that the arrays share come along.
func (s *Server) documents(ctx context.Context, c *call, list []member, index *farread.Group, g *zarrface.Group) (table, error) {
	docs, coords := make([][]byte, len(list)), make([]zarrface.Coordinates, len(list))
	err := par.Do(ctx, len(list), groupFlight, func(ctx context.Context, i int) error {
		if a, ok := index.Arrays[list[i].entry]; ok {
			f, err := zarrface.FactsIn(a)
			if err == nil {
				docs[i], coords[i], err = f.Document(c.zarr.o)
			}
			if err == nil {
				return nil
			}
		}
		one := &call{r: c.r, of: c, target: target{verb: "zarr", root: c.root, key: list[i].key}, zarr: c.zarr}
		err := s.document(ctx, one, &docs[i], &coords[i])
		if err == nil {
			return nil
		}
		if status := explain(err).status; status != http.StatusUnprocessableEntity && status != http.StatusNotFound && status != http.StatusBadRequest { // 400: a key that paths cannot have
			return err
		}
		return nil // it stays without a document
	})
	if err != nil {
		return nil, err
	}
	names := make([]string, len(list))
	for i, m := range list {
		if names[i] = m.name; docs[i] == nil {
			g.Skipped = append(g.Skipped, m.entry)
			continue
		}
		g.Arrays[m.name] = docs[i]
	}
	shared := zarrface.Share(names, coords)
	maps.Copy(g.Arrays, shared.Docs)
	g.Left = shared.Left
	sum, most := int64(0), min(groupDocs, s.listMemory()/2)
	for _, doc := range g.Arrays {
		sum += int64(len(doc))
	}
	if sum > most {
		return nil, tooLarge("documents of a group", sum, most)
	}
	t := table{}
	for name, i := range shared.From {
		t[name] = list[i].key
	}
	return t, nil
}

// document finds the document of one array, and its coordinates.
func (s *Server) document(ctx context.Context, c *call, doc *[]byte, coords *zarrface.Coordinates) (err error) {
	if c.at, err = s.place(ctx, c.target); err != nil {
		return err
	}
	c.place = c.at.URI
	return objstore.Again(ctx, func() error {
		h, err := s.dataset(ctx, c)
		if err != nil {
			return err
		}
		v, err := s.view(ctx, c, h)
		if err == nil {
			*doc, *coords = v.Doc(), v.Coordinates()
		} else if errors.Is(err, objstore.ErrChanged) {
			s.open.drop(c.place, h)
		}
		return err
	})
}
