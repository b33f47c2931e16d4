package functions_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

// A meeting is a few actors at one upload and its output.
type meeting struct {
	name  string
	first []int // contents that are uploaded, in order, before the actors meet
	// actors are scripts, whose steps are done in order: "event N" handles the event
	// of the N-th upload, "upload C" uploads content C and handles its event, "name"
	// handles the object by its name, "delete" deletes the upload.
	actors []string
	gone   bool // in the end the upload may be deleted
	flat   bool // all events have the same sequencer
	log    []string
}

func meetings() []meeting {
	return []meeting{
		{name: "twice", first: []int{1}, actors: []string{"event 1", "event 1"}},
		{name: "the older one last", first: []int{1}, actors: []string{"event 1", "upload 2"}},
		{name: "two versions", first: []int{1, 2}, actors: []string{"event 1", "event 2"}},
		{name: "over an output", first: []int{1}, actors: []string{"event 1,event 1", "upload 2,event 1"}},
		{name: "content comes back", first: []int{1, 2, 1}, actors: []string{"event 1", "event 3,event 2"}},
		{name: "three", first: []int{1, 2}, actors: []string{"event 1", "event 2", "upload 1"}},
		{name: "by name", first: []int{1}, actors: []string{"name", "upload 2"}},
		{name: "one sequencer", first: []int{1, 2}, actors: []string{"event 1", "event 2"}, flat: true},
		{name: "one sequencer, by and by", first: []int{1}, actors: []string{"event 1", "upload 2"}, flat: true},
		{name: "by name and event", first: []int{1, 2}, actors: []string{"name", "event 1", "event 2"}},
		{name: "deleted", first: []int{1}, actors: []string{"event 1", "delete"}, gone: true},
		{name: "deleted and back", first: []int{1}, actors: []string{"event 1", "delete,upload 2"}},
	}
}

// TestMeetings: the requests of workers that meet at one output may interleave in any
// way. In the end the output is whole and of the newest upload. On the way it never
// goes back to an older upload, and every event is acknowledged after a few tries. Two
// actors take all paths that leave one of them at most twice, and random ones.
func TestMeetings(t *testing.T) {
	t.Parallel()
	kinds := map[string]play{"pair": tars(), "single": {seriesKey, zoomcache.Format, tide, checkSeries}, "kinds": {mixedKey, "", either, checkMixed}}
	stores := map[string]func() (in, out objstore.Bucket){
		"content tags": func() (in, out objstore.Bucket) {
			return &contentTags{b: memstore.New(memstore.Config{Name: "mem://uploads"})}, &contentTags{b: memstore.New(memstore.Config{Name: "mem://datasets"})}
		},
		"versions": func() (in, out objstore.Bucket) {
			return &contentTags{b: memstore.New(memstore.Config{Name: "mem://uploads", Versioned: true})}, &contentTags{b: memstore.New(memstore.Config{Name: "mem://datasets", Versioned: true})}
		},
	}
	for kind, p := range kinds {
		for store, open := range stores {
			for _, m := range meetings() {
				t.Run(kind+"/"+store+"/"+m.name, func(t *testing.T) {
					t.Parallel()
					run := func(way *path, what string) {
						in, out := open()
						synctest.Test(t, func(t *testing.T) { m.run(t, p, in, out, way) })
						if !m.gone { // outside of the bubble: decoders are shared with other tests
							p.check(t, in, out)
						}
						if t.Failed() {
							t.Fatalf("%s, in this order:\n%s", what, strings.Join(m.log, "\n"))
						}
					}
					for seed := range rounds(40) {
						run(&path{rng: rand.New(rand.NewPCG(uint64(seed), 2))}, fmt.Sprintf("seed %d", seed))
					}
					n := 0
					for way := (&path{}); way.next() && n < rounds(200); n++ {
						run(way, fmt.Sprintf("path %v", way.taken))
					}
				})
			}
		}
	}
}

// run lets the actors meet once.
func (m *meeting) run(t *testing.T, p play, in, out objstore.Bucket, way *path) {
	t.Helper()
	var mu sync.Mutex
	var events [][]byte
	put := func(b objstore.Bucket, content int) []byte {
		info, err := objstore.Put(t.Context(), b, p.key, bytes.NewReader(p.upload(t, content)), objstore.PutOptions{})
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		seq := len(events) + 1 // uploads of one key take turns
		if m.flat {
			seq = 1
		}
		e := s3Event(record(p.key, info, seq))
		events = append(events, e)
		return e
	}
	for _, c := range m.first {
		put(in, c)
	}
	c := &conductor{path: way, last: -1}
	var all sync.WaitGroup
	for actor, todo := range m.actors {
		all.Go(func() {
			src, dst := conducted{in, c, actor}, conducted{out, c, actor}
			h := handlerOf(p, src, dst)
			for _, what := range strings.Split(todo, ",") {
				name, arg, _ := strings.Cut(what, " ")
				n, _ := strconv.Atoi(arg) // a step without a number has 0
				switch name {
				case "event":
					attend(t, h, events[n-1])
				case "upload":
					attend(t, h, put(src, n))
				case "name":
					attend(t, h, []byte(fmt.Sprintf(`{"bucket":"uploads","key":%q}`, p.key)))
				case "delete":
					if err := src.Delete(t.Context(), p.key); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	newest := ""
	c.conduct(done, func() {
		if now := sequencerOf(out, p); now < newest && !strings.Contains(fmt.Sprint(m.actors), "name") {
			t.Errorf("the output went from %q back to %q", newest, now)
		} else {
			newest = now
		}
	})
	m.log = c.log
}

// attend delivers an event until it is acknowledged, as a queue does.
func attend(t *testing.T, h *functions.Handler, event []byte) {
	t.Helper()
	for range 5 {
		r, err := h.Handle(t.Context(), event)
		if r.Failed+r.Unmatched+r.Ignored+r.Own+r.Elsewhere > 0 {
			t.Errorf("%+v", r)
		}
		if err == nil {
			return
		}
	}
	t.Errorf("given up: %s", event)
}

// sequencerOf is the newest version that readers of the output see.
func sequencerOf(out objstore.Bucket, p play) (newest string) {
	suffixes := map[string][]string{"gulp": {".gmeta"}, zoomcache.Format: {".zoom"}, "": {".gmeta", ".b2nd", ".blp"}}[p.format]
	for _, suffix := range suffixes {
		info, err := out.Head(context.Background(), p.key+suffix)
		if err != nil {
			continue
		}
		of, _ := functions.SourceOf(info.Meta)
		newest = max(newest, of.Sequencer)
	}
	return newest
}
