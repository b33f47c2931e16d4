package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/farread/farread/internal/lru"
	"github.com/farread/farread/objstore"
)

// A table says in which array of a folder a coordinate is, by its name: the key of the array in its root.
type table map[string]string

// maxTables bounds the bytes of all tables that are kept.
const maxTables = 4 << 20

// tables keeps the tables of folders, so that a client that has read the document of a group finds a
// coordinate without a listing.
type tables struct {
	mu      sync.Mutex
	all     lru.Cache[string, keptTable]
	ttl     time.Duration
	flights flights[table]
}

type keptTable struct {
	t    table
	made time.Time
}

func (k *tables) init(ttl time.Duration) { k.all.Max, k.ttl = maxTables, ttl }

// find returns a table that was right not long ago; nil if there is none.
func (k *tables) find(name string, now time.Time) table {
	k.mu.Lock()
	defer k.mu.Unlock()
	if t, ok := k.all.Get(name); ok && now.Sub(t.made) < k.ttl {
		return t.t
	}
	return nil
}

func (k *tables) put(name string, t table, now time.Time) {
	size := int64(len(name)) + 256
	for coord, key := range t {
		size += int64(len(coord)+len(key)) + 64
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all.Put(name, keptTable{t, now}, size)
}

// tableName names the folder of a call, as the call wants its arrays.
func (c *call) tableName() string {
	return fmt.Sprintf("%s\x00%+v", strings.TrimSuffix(c.place, "/"), c.zarr.o)
}

// folderOf is a call for the folder that the key of a call is in, and the last name of the key. ok is false if the call names a root.
func (s *Server) folderOf(c *call) (of *call, last string, ok bool) {
	if c.key == "" {
		return nil, "", false
	}
	dir, last := "", c.key
	if i := strings.LastIndexByte(c.key, '/'); i >= 0 {
		dir, last = c.key[:i], c.key[i+1:]
	}
	of = &call{r: c.r, of: c, target: target{verb: c.verb, root: c.root, key: dir}, zarr: c.zarr}
	at, err := s.place(c.r.Context(), of.target)
	if of.at, of.place = at, at.URI; err != nil || last == "" {
		return nil, "", false
	}
	return of, last, true
}

// sharedNow answers for a coordinate of a folder whose table is kept.
func (s *Server) sharedNow(c *call) (done bool, err error) {
	of, last, ok := s.folderOf(c)
	if !ok {
		return false, nil
	}
	key, ok := s.tables.find(of.tableName(), s.now())[last]
	if !ok {
		return false, nil
	}
	return true, s.shared(c, key, last)
}

// memberOrShared answers for an array of a folder, or a coordinate that its arrays share.
func (s *Server) memberOrShared(c *call) error {
	of, last, ok := s.folderOf(c)
	err := s.member(c)
	if !ok || !errors.Is(err, objstore.ErrNotFound) {
		return err
	}
	t, other := s.table(c, of)
	if _, refused := errors.AsType[*refusal](other); refused { // it is no group, so it has no coordinates
		return err
	}
	if other != nil {
		return other
	}
	if key, ok := t[last]; ok {
		return s.shared(c, key, last)
	}
	return err
}

// table finds the table of a folder: one that is kept, or else as the document of its group is made.
func (s *Server) table(c, of *call) (table, error) {
	name := of.tableName()
	if t := s.tables.find(name, s.now()); t != nil {
		return t, nil
	}
	t, joined, err := s.tables.flights.do(c.r.Context(), s.base, s.c.Deadline, s.alone(name, s.c.TTL < 0), func(ctx context.Context) (table, error) {
		l, err := s.memory.take(ctx, s.listMemory(), s.c.Wait)
		if err != nil {
			return nil, err
		}
		defer l.release()
		_, t, err := s.grouped(c.count(ctx), of)
		return t, err
	}, nil)
	c.joined = c.joined || joined
	return t, err
}

// shared answers for a coordinate out of the array that has it.
func (s *Server) shared(c *call, key, name string) (err error) {
	c.key, c.zarr.coord = key, name
	if c.at, err = s.place(c.r.Context(), c.target); err != nil {
		return err
	}
	c.place = c.at.URI
	return s.again(c, func(h *handle) error { return s.answer(c, verb{plan: planCoord}, h) })
}
