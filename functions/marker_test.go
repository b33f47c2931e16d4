package functions_test

import (
	"testing"

	"github.com/farread/farread/functions"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

// TestDeleteMarker: a deleted upload is not packed, although its bucket keeps the
// version that its event names. If it was uploaded again after the delete marker, it
// is packed. So is an older version that was replaced, not deleted. A usual upload
// costs no request for that.
func TestDeleteMarker(t *testing.T) {
	t.Parallel()
	for kind, p := range plays() {
		for name, c := range map[string]struct {
			steps   string // "+" uploads the next version, "-" deletes
			deliver []int  // then these, from 1
			want    []functions.Result
		}{
			"deleted":            {"+-", []int{1, 1}, []functions.Result{{Dropped: 1}, {Dropped: 1}}},
			"deleted, two":       {"++-", []int{2, 1}, []functions.Result{{Dropped: 1}, {Dropped: 1}}},
			"deleted before":     {"+-+", []int{2}, []functions.Result{{Packed: 1}}},
			"deleted before, 1":  {"+-+", []int{1, 2}, []functions.Result{{Packed: 1}, {Packed: 1}}},
			"replaced":           {"++", []int{1, 2, 1}, []functions.Result{{Packed: 1}, {Packed: 1}, {Unchanged: 1}}},
			"deleted over again": {"+-+-", []int{1, 2}, []functions.Result{{Dropped: 1}, {Dropped: 1}}},
		} {
			for bucket, in := range map[string]objstore.Bucket{
				"unique tags":  memstore.New(memstore.Config{Name: "mem://uploads", Versioned: true}),
				"content tags": &contentTags{b: memstore.New(memstore.Config{Name: "mem://uploads", Versioned: true})},
			} {
				t.Run(kind+"/"+name+"/"+bucket, func(t *testing.T) {
					t.Parallel()
					out := memstore.New(memstore.Config{Name: "mem://datasets"})
					var events [][]byte
					for _, s := range c.steps {
						if s == '-' {
							if err := in.Delete(t.Context(), p.key); err != nil {
								t.Fatal(err)
							}
							continue
						}
						events = append(events, s3Event(record(p.key, put(t, in, p.key, p.upload(t, len(events)), nil), len(events)+1)))
					}
					h := handlerOf(p, in, out)
					for i, n := range c.deliver {
						r, err := h.Handle(t.Context(), events[n-1])
						want := c.want[i]
						if err != nil || r.Packed != want.Packed || r.Dropped != want.Dropped || r.Unchanged != want.Unchanged {
							t.Errorf("event %d: %+v, %v, not %+v", n, r, err, want)
						}
					}
					if c.steps[len(c.steps)-1] == '-' {
						if got := keys(out, ""); len(got) > 0 {
							t.Errorf("made of what was deleted: %q", got)
						}
						return
					}
					p.check(t, in, out)
				})
			}
		}
	}
}

// TestMarkerCosts: looking for a delete marker takes no request of its own.
func TestMarkerCosts(t *testing.T) {
	t.Parallel()
	for kind, p := range plays() {
		requests := map[bool]int64{}
		for _, versioned := range []bool{false, true} {
			var n objstore.Counter
			in := objstore.Chain(memstore.New(memstore.Config{Name: "mem://uploads", Versioned: versioned}), objstore.Count(&n))
			event := s3Event(record(p.key, put(t, in, p.key, p.upload(t, 1), nil), 1))
			if r, err := handlerOf(p, in, memstore.New(memstore.Config{})).Handle(t.Context(), event); err != nil || r.Packed != 1 {
				t.Errorf("%s: %+v, %v", kind, r, err)
			}
			requests[versioned] = n.Stats().Requests
		}
		if requests[true] != requests[false] || requests[true] == 0 {
			t.Errorf("%s: requests with versions %d, without %d", kind, requests[true], requests[false])
		}
	}
}
