package gateway

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/simstore"
)

// TestGroupOfOne: an array as a group, which some clients want.
func TestGroupOfOne(t *testing.T) {
	g := newGround(t, Config{Roots: []Root{}})
	d := documentOf(t, g.get(t, "/group/d/v.b2nd/zarr.json"))
	if got := g.took(); got != "get get" {
		t.Errorf("requests %q", got)
	}
	in := d.Consolidated.Metadata["data"]
	if d.Node != "group" || len(d.Consolidated.Metadata) != 1 || !slices.Equal(in.Dimensions, []string{"z", "y", "x"}) {
		t.Errorf("%+v", d)
	}
	a := g.get(t, "/group/d/v.b2nd/data/zarr.json")
	if b := g.get(t, "/zarr/d/v.b2nd/zarr.json"); a.Body.String() != b.Body.String() {
		t.Errorf("%s", a.Body)
	}
	checkZarr(t, g, "/group/d/v.b2nd/data", false, samples()["v.b2nd"], 100)
	pinned := "/group~v-" + in.Attributes.Farread.Version + "/d/v.b2nd"
	g.get(t, pinned+"/zarr.json")
	g.get(t, pinned+"/data/c/0/0/0")

	s, err := New(Config{Client: g.client, Roots: []Root{{"one.x", g.mem, "data/v.b2nd"}}})
	must(err)
	defer s.Close()
	g.Server = s
	documentOf(t, g.get(t, "/group/one.x/zarr.json"))
	checkZarr(t, g, "/group/one.x/data", false, samples()["v.b2nd"], 3)
	checkZarr(t, g, "/zarr/one.x", false, samples()["v.b2nd"], 3)
}

// fill puts arrays and others into a folder.
func (g *ground) fill(t *testing.T) map[string]string {
	t.Helper()
	arrays := map[string]string{"f/temp.b2nd": "nd2.b2nd", "f/wind.b2frame": "nd3.b2nd", "f/c.b2nd": "scalar_i4.b2nd", "f/both.b2nd": "nd1.b2nd", "f/data.b2nd": "nd1_auto.b2nd"}
	for key, name := range arrays {
		g.put(t, key, fixture(name))
	}
	g.put(t, "f/both.b2frame", fixture("nd2.b2nd"))
	g.put(t, "f/packed.b2nd", fixture("codec_ndlz.b2nd"))
	g.put(t, "f/broken.b2nd", []byte("no frame"))
	g.put(t, "f/notes.txt", []byte("text"))
	g.put(t, "f/temp.b2nd.fri", []byte("an index"))
	g.put(t, "f/sub/x.b2nd", fixture("nd1.b2nd"))
	g.put(t, "f/.b2nd", nil)
	g.put(t, "f/odd\x01.b2nd", fixture("nd1.b2nd"))
	return arrays
}

// TestGroupOfFolder: the arrays of a folder under their names without suffix; what is none
// that clients can read is named.
func TestGroupOfFolder(t *testing.T) {
	g := newGround(t, Config{TTL: 10 * time.Second})
	arrays := g.fill(t)
	d := documentOf(t, g.get(t, "/group/d/f/zarr.json"))
	if got, want := slices.Sorted(maps.Keys(d.Consolidated.Metadata)), []string{"both", "c", "data", "temp", "wind"}; !slices.Equal(got, want) {
		t.Errorf("members %q", got)
	}
	if got, want := slices.Sorted(slices.Values(d.Attributes.Farread.Skipped)), []string{".b2nd", "both.b2frame", "broken.b2nd", "notes.txt", "odd\x01.b2nd", "packed.b2nd", "sub/"}; !slices.Equal(got, want) {
		t.Errorf("skipped %q", got)
	}
	temp := d.Consolidated.Metadata["temp"]
	if want := []string{fmt.Sprint("n", temp.Shape[0]), fmt.Sprint("n", temp.Shape[1])}; !slices.Equal(temp.Dimensions, want) {
		t.Errorf("%q, want %q", temp.Dimensions, want)
	}
	g.took()
	g.get(t, "/group/d/f/zarr.json")
	if got := g.took(); strings.Count(got, "list") != 1 || strings.Count(got, "get") > 6 { // what is refused is opened again
		t.Errorf("again: %q", got)
	}
	for key, name := range arrays {
		stem := strings.TrimSuffix(strings.TrimSuffix(key, firstSuffix), otherSuffix)
		checkZarr(t, g, "/group/d/"+stem, false, fixture(name), 10)
		checkZarr(t, g, "/group~blocks~raw/d/"+stem, true, fixture(name), 3)
	}
	g.took()
	g.get(t, "/group/d/f/wind/c/0/0/0")
	if got := g.took(); got != "" {
		t.Errorf("a chunk that is kept: %q", got)
	}
	if sub := documentOf(t, g.get(t, "/group/d/f/sub/zarr.json")); len(sub.Consolidated.Metadata) != 1 {
		t.Errorf("%+v", sub)
	}
	if top := documentOf(t, g.get(t, "/group/d/zarr.json")); len(top.Consolidated.Metadata) != 1 { // v
		t.Errorf("%v", slices.Collect(maps.Keys(top.Consolidated.Metadata)))
	}
	// One of the first suffix that comes later is found after the time to live.
	g.put(t, "f/wind.b2nd", fixture("nd4.b2nd"))
	g.pass(11 * time.Second)
	checkZarr(t, g, "/group/d/f/wind", false, fixture("nd4.b2nd"), 10)
}

// TestGroupFaults: a member that its store does not give now is no member that is absent.
func TestGroupFaults(t *testing.T) {
	fault := error(nil)
	g := newGround(t, Config{}, simstore.Replace(func(_ context.Context, c simstore.Call) error {
		if strings.HasSuffix(c.Key, "temp.b2nd") {
			return fault
		}
		return nil
	}))
	g.fill(t)
	for _, x := range []struct {
		fault  error
		status int
	}{{objstore.ErrDenied, 424}, {objstore.ErrThrottled, 503}, {errors.New("secret"), 500}} {
		fault = &objstore.Error{Op: "get", Bucket: "s3://secret", Key: "secret", Status: 418, Err: x.fault}
		for _, path := range []string{"/group/d/f/zarr.json", "/group/d/f/temp/c/0/0", "/zarr/d/f/temp.b2nd/c/0/0", "/group/d/f/temp.b2nd/data/c/0/0"} {
			if w := g.ask("GET", path); w.Code != x.status || (w.Code == 503) != (w.Header().Get("Retry-After") != "") || strings.Contains(w.Body.String(), "secret") {
				t.Errorf("%v: %s: %d %s", x.fault, path, w.Code, w.Body)
			}
		}
	}
	fault = nil
	if d := documentOf(t, g.get(t, "/group/d/f/zarr.json")); len(d.Consolidated.Metadata) != 5 {
		t.Errorf("%+v", d)
	}
}

// TestGroupLimits: a group has 256 arrays at most.
func TestGroupLimits(t *testing.T) {
	g := newGround(t, Config{})
	p := fixture("scalar_i4.b2nd")
	for i := range maxMembers + 1 {
		g.put(t, fmt.Sprintf("m/%d.b2nd", i), p)
	}
	if w := g.ask("GET", "/group/d/m/zarr.json"); w.Code != 413 || !strings.Contains(w.Body.String(), "257 arrays, 256 allowed") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	must(g.mem.Delete(t.Context(), "data/m/7.b2nd"))
	if d := documentOf(t, g.get(t, "/group/d/m/zarr.json")); len(d.Consolidated.Metadata) != maxMembers {
		t.Errorf("%d members", len(d.Consolidated.Metadata))
	}
}

// A mute bucket lists nothing, as a plain HTTP server.
type mute struct{ objstore.Bucket }

func (b mute) List(context.Context, string) iter.Seq2[objstore.Info, error] {
	return func(yield func(objstore.Info, error) bool) {
		yield(objstore.Info{}, fmt.Errorf("%w: %w", objstore.ErrInvalid, errors.ErrUnsupported))
	}
}

// TestGroupWithoutListing: where nothing is listed, there are groups of one array, and
// arrays by their names.
func TestGroupWithoutListing(t *testing.T) {
	g := newGround(t, Config{}, func(b objstore.Bucket) objstore.Bucket { return mute{b} })
	g.fill(t)
	for path, want := range map[string]int{"/group/d/f/zarr.json": 400, "/group/d/zarr.json": 400, "/group/d/f/temp/zarr.json": 200, "/group/d/f/temp/c/0/0": 200, "/group/d/f/wind/c/0/0/0": 200,
		"/group/d/f/temp.b2nd/zarr.json": 200, "/group/d/f/none/c/0": 410, "/ls/d/": 422} {
		if w := g.ask("GET", path); w.Code != want {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		} else if (want == 400 || want == 422) && !strings.Contains(w.Body.String(), "lists nothing") {
			t.Errorf("%s: %s", path, w.Body)
		}
	}
}

// TestGroupCrowd: clients that open a group and read its arrays at once open each array
// once, and get the same.
func TestGroupCrowd(t *testing.T) {
	g := newGround(t, Config{TTL: time.Hour})
	g.fill(t)
	var wg sync.WaitGroup
	docs := make([]string, 12)
	for i := range docs {
		wg.Go(func() {
			docs[i] = g.ask("GET", "/group/d/f/zarr.json").Body.String()
			for _, path := range []string{"/group/d/f/temp/c/0/0", "/group~raw/d/f/temp/c/0/0", "/zarr/d/f/temp.b2nd/zarr.json", "/group~blocks/d/f/wind/c/0/0/0", "/group/d/f/data.b2nd/zarr.json"} {
				if w := g.ask("GET", path); w.Code != 200 {
					t.Errorf("%s: %d %s", path, w.Code, w.Body)
				}
			}
		})
	}
	wg.Wait()
	if len(slices.Compact(docs)) != 1 || len(docs[0]) < 1000 {
		t.Errorf("documents of %d bytes", len(docs[0]))
	}
	g.took()
	g.get(t, "/group/d/f/temp/c/0/0")
	if got := g.took(); got != "" {
		t.Errorf("requests %q", got)
	}
	if n := g.memory.used.Load(); n != 0 {
		t.Errorf("%d bytes are still lent", n)
	}
}
