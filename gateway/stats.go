package gateway

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/formats/stats"
	"github.com/farread/farread/internal/render"
)

// chunkStats is the JSON of stats: a page of the statistics of chunks.
type chunkStats struct {
	Columns []statColumn   `json:"columns"`
	Entries []oneChunkStat `json:"entries"`
	Next    string         `json:"next"`
}

// statColumn names the items that a statistic is about: a member, or all of the item.
type statColumn struct {
	Name string `json:"name"`
	Type string `json:"dtype"`
}

type oneChunkStat struct {
	Chunk   int       `json:"chunk"`
	Columns []statOne `json:"columns"`
}

// statOne is a stats.Stat. Min and Max are missing if no item has an order.
type statOne struct {
	Items int64           `json:"items"`
	NaN   int64           `json:"nan"`
	Zeros *int64          `json:"zeros,omitempty"` // as in ArrayStatistics, and Fill
	Fill  *int64          `json:"fill,omitempty"`
	Min   json.RawMessage `json:"min,omitempty"`
	Max   json.RawMessage `json:"max,omitempty"`
}

func toStat(c stats.Column, s *stats.Stat, fill bool) statOne {
	o, n := statOne{Items: s.Items, NaN: s.NaN}, s.Fill
	if o.Zeros = &n; fill {
		o.Zeros, o.Fill = nil, &n
	}
	o.Min, o.Max = c.ExtremesJSON(s)
	return o
}

const (
	statSize   = 160     // most bytes of a statistic as JSON, about
	statMemory = 8 << 20 // pages of statistics that are read together, and those that are kept
)

// planStats plans a page of the statistics of chunks.
func planStats(ctx context.Context, s *Server, c *call, h *handle) (*job, error) {
	a, ok := h.d.(farread.Searcher)
	k, chunked := h.d.(farread.Chunker)
	if !ok || !chunked {
		return nil, wrongKind(h.d, "array with statistics")
	}
	known, err := a.Statistics(ctx)
	if err != nil && !errors.Is(err, index.ErrUnusable) {
		return nil, err
	}
	if known == nil {
		return nil, refusef(http.StatusNotFound, "no-entry", "the index of the array has no statistics")
	}
	cols, all := []int{}, a.StatColumns()[:known.Columns()]
	out := chunkStats{Columns: []statColumn{}, Entries: []oneChunkStat{}}
	for i, col := range all {
		if name := c.query.Get("column"); !c.query.Has("column") || col.Name() == name {
			cols, out.Columns = append(cols, i), append(out.Columns, statColumn{col.Name(), col.Type().String()})
		}
	}
	if len(cols) == 0 {
		return nil, refusef(http.StatusNotFound, "no-entry", "no statistics of a member %q", clip(c.query.Get("column")))
	}
	chunks, next, err := pageOf(c, k.Chunks())
	if err != nil {
		return nil, err
	}
	out.Next = next
	n := int64(len(chunks)+1) * int64(len(cols))
	switch format := c.query.Get("format"); format {
	case "", render.JSON:
	case render.Npy:
		return statsArray(s, known, all, cols, chunks)
	default:
		return nil, badf("format", "format %q: want json or npy", clip(format))
	}
	return &job{media: "application/json", text: true, size: n*statSize + 1<<10, work: statMemory + n*statSize, read: min(known.Bytes(), s.c.MaxRead),
		make: func(ctx context.Context) ([]byte, error) {
			return statsPage(ctx, s, known, all, cols, chunks, out)
		}}, nil
}

// pageOf is the numbers of a page of n chunks, by the parameters after and limit.
func pageOf(c *call, n int64) (chunks []int, next string, err error) {
	first := int64(0)
	if text := c.query.Get("after"); text != "" {
		if first, err = number("after", text); err != nil {
			return nil, "", err
		}
		first = min(first, n) + 1
	}
	limit, err := c.limit()
	if err != nil {
		return nil, "", err
	}
	for i := first; i < min(first+limit, n); i++ {
		chunks = append(chunks, int(i))
	}
	if first+limit < n {
		next = strconv.FormatInt(first+limit-1, 10)
	}
	return chunks, next, nil
}

func statsPage(ctx context.Context, s *Server, known *b2nd.Statistics, all []stats.Column, cols, chunks []int, out chunkStats) ([]byte, error) {
	err := known.Chunks(ctx, cols, chunks, func(i int, list []stats.Stat) error {
		e := oneChunkStat{Chunk: chunks[i]}
		for k := range list {
			e.Columns = append(e.Columns, toStat(all[cols[k]], &list[k], known.Fill() != nil))
		}
		out.Entries = append(out.Entries, e)
		return nil
	})
	if err != nil {
		return nil, ofStats(err)
	}
	w := newPage(firstPage, s.c.MaxResponse)
	err = json.NewEncoder(w).Encode(out)
	return w.Bytes(), err
}

// statsArray plans a page of statistics as records, one for each chunk: its number, and for
// each column the counts and, if its numbers have an order, the least and the greatest one.
// These are NaN, or 0, if there is no number.
func statsArray(s *Server, known *b2nd.Statistics, all []stats.Column, cols, chunks []int) (*job, error) {
	text, counted := "[('chunk', '<i8')", "zeros"
	if known.Fill() != nil {
		counted = "fill"
	}
	for _, i := range cols {
		name := all[i].Name()
		if name == "" {
			name = "v" // as records of items that match call it
		}
		text += ", (" + quoted(name) + ", [('items', '<i8'), ('nan', '<i8'), ('" + counted + "', '<i8')"
		if t := all[i].Type().String(); all[i].Ordered() {
			text += fmt.Sprintf(", ('min', '%s'), ('max', '%[1]s')", t)
		}
		text += "])"
	}
	d, err := dtype.Parse(text + "]")
	if err != nil {
		return nil, err
	}
	head, err := npy.AppendHeader([]byte{plainBody}, npy.Header{DType: d, Shape: []int64{int64(len(chunks))}})
	if err != nil {
		return nil, err
	}
	size := int64(len(head)-1) + int64(len(chunks))*int64(d.ItemSize())
	return &job{media: medias[render.Npy], text: true, exact: true, size: size, work: statMemory, read: min(known.Bytes(), s.c.MaxRead),
		head: map[string]string{"X-Shape": strconv.Itoa(len(chunks)), "X-Dtype": d.String()},
		make: func(ctx context.Context) ([]byte, error) {
			body := append(make([]byte, 0, size+1), head...)
			err := known.Chunks(ctx, cols, chunks, func(i int, list []stats.Stat) error {
				body = binary.LittleEndian.AppendUint64(body, uint64(chunks[i]))
				for k := range list {
					body = appendStat(body, all[cols[k]], &list[k])
				}
				return nil
			})
			return body, ofStats(err)
		}}, nil
}

// appendStat appends the members of a Stat in a record.
func appendStat(p []byte, c stats.Column, s *stats.Stat) []byte {
	for _, n := range []int64{s.Items, s.NaN, s.Fill} {
		p = binary.LittleEndian.AppendUint64(p, uint64(n))
	}
	switch {
	case !c.Ordered():
	case s.Ranged:
		p = c.Append(c.Append(p, s.Min), s.Max)
	default:
		p = c.AppendNone(c.AppendNone(p))
	}
	return p
}

// quoted is a name in the text of a type.
func quoted(name string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(name) + "'"
}

// ofStats is what clients are told of an error of statistics.
func ofStats(err error) error {
	if errors.Is(err, index.ErrUnusable) {
		return refusef(http.StatusNotFound, "no-entry", "the statistics of the array are damaged")
	}
	return err
}
