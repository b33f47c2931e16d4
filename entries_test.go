package farread

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEntriesOptions: a limit takes the first entries; with Scan, places and lengths are
// those of the bytes that AppendStored gives.
func TestEntriesOptions(t *testing.T) {
	t.Parallel()
	client := sites(t)["s3"]
	for _, k := range kinds {
		t.Run(k.path, func(t *testing.T) {
			t.Parallel()
			c, base := client()
			d, err := c.OpenAny(t.Context(), base+k.path, AnyOptions{})
			if err != nil {
				t.Fatal(err)
			}
			all := entriesOf(t, d, "")
			for _, o := range []EntriesOptions{{Limit: 1}, {Limit: int64(len(all)) + 1}, {Limit: 1, Scan: true}, {Limit: 2, Scan: true}} {
				var list []Entry
				for e, err := range d.Entries(t.Context(), o) {
					if err != nil {
						t.Fatal(err)
					}
					list = append(list, e)
				}
				want := all[:min(len(all), int(o.Limit))]
				if len(list) != len(want) || !o.Scan && cmp.Diff(want, list) != "" {
					t.Errorf("%+v: %d entries, want %d", o, len(list), len(want))
				}
				for i, e := range list {
					if e.Cursor != want[i].Cursor || e.N != want[i].N || e.Object != want[i].Object {
						t.Errorf("%+v: %+v, want %+v", o, e, want[i])
					}
				}
			}
			checkPlaces(t, c, d)
		})
	}
}

// checkPlaces holds the entries of a Chunker against the bytes in their objects.
func checkPlaces(t *testing.T, c *Client, d Dataset) {
	t.Helper()
	k, ok := d.(Chunker)
	if !ok {
		return
	}
	at := d.Place()
	for e, err := range d.Entries(t.Context(), EntriesOptions{Scan: true}) {
		if err != nil {
			t.Fatal(err)
		}
		stored, err := k.AppendStored(t.Context(), nil, e.N)
		if err != nil {
			t.Fatal(err)
		}
		if e.Off < 0 {
			if e.Stored != 0 || e.Special == "" {
				t.Errorf("%+v is not stored", e)
			}
			continue
		}
		ob, err := c.Open(t.Context(), at.URI+e.Object)
		if err != nil {
			t.Fatal(err)
		}
		p := make([]byte, e.Stored)
		if _, err := ob.ReadAt(p, e.Off); err != nil || !bytes.Equal(p, stored) {
			t.Errorf("%+v: not the bytes that are stored, %v", e, err)
		}
	}
}

// TestEntriesOfAllLevels: Scan lists objects in folders below, and goes on behind any.
func TestEntriesOfAllLevels(t *testing.T) {
	t.Parallel()
	c, b := remote(Config{NoHedge: true})
	for _, key := range []string{"f/a", "f/d/b.b2nd", "f/d/e/c", "g"} {
		put(t, b, key, []byte(key), nil)
	}
	d, err := c.OpenAny(t.Context(), "s3://b/f/", AnyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for after, want := range map[string]string{"": "a d/b.b2nd d/e/c", "a": "d/b.b2nd d/e/c", "d/b.b2nd": "d/e/c", "d/e/c": ""} {
		names := ""
		for e, err := range d.Entries(t.Context(), EntriesOptions{After: after, Scan: true}) {
			if err != nil {
				t.Fatal(err)
			}
			if names += " " + e.Name; e.Folder || e.Cursor != e.Name || e.Size != int64(len("f/"+e.Name)) {
				t.Errorf("%+v", e)
			}
		}
		if names != "" && names[1:] != want || names == "" && want != "" {
			t.Errorf("behind %q: %q, want %q", after, names, want)
		}
	}
}
