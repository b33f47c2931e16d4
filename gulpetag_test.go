package farread

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/formats/gulpindex"
	"github.com/farread/farread/formats/index"
)

// A plainServer serves objects that all have one ETag, or none if it is empty.
type plainServer struct {
	mu    sync.Mutex
	files map[string][]byte
	etag  string
}

func (s *plainServer) set(name string, p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[name] = p
}

func (s *plainServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	s.mu.Lock()
	p, ok := s.files[name]
	s.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	if s.etag != "" {
		w.Header().Set("ETag", s.etag)
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(p))
}

// pairOfSizes makes a pair of two ids. Pairs of swapped sizes have the same sizes in all.
func pairOfSizes(t *testing.T, aa, bb int) (data, meta []byte) {
	t.Helper()
	var d, m bytes.Buffer
	w := gulp.NewWriter(&d, gulp.WriteOptions{})
	err := errors.Join(w.WriteFrame("aa", bytes.Repeat([]byte{'a'}, aa)), w.WriteFrame("bb", bytes.Repeat([]byte{'b'}, bb)), w.WriteMeta(&m))
	if err != nil {
		t.Fatal(err)
	}
	return d.Bytes(), m.Bytes()
}

// TestGulpIndexNoETag: of a server that gives no ETags, or weak ones, no index is made and
// none is believed: a pair that was replaced by one of the same sizes would not show.
func TestGulpIndexNoETag(t *testing.T) {
	t.Parallel()
	const name = "data_0.gulp"
	pair, _ := gulp.PairOf(name)
	oldData, oldMeta := pairOfSizes(t, 1000, 2000)
	data, meta := pairOfSizes(t, 2000, 1000)
	if len(data) != len(oldData) || len(meta) != len(oldMeta) {
		t.Fatal(len(data), len(meta))
	}
	for _, etag := range []string{"", `W/"same"`} {
		h := &plainServer{files: map[string][]byte{name: oldData, pair.Meta: oldMeta}, etag: etag}
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		uri := s.URL + "/" + name
		g, err := New(Config{}).OpenGulp(t.Context(), uri, GulpOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.BuildIndex(); !errors.Is(err, formats.ErrUnsupported) {
			t.Errorf("ETag %q: an index was made, %v", etag, err)
		}
		// One that was made of the objects elsewhere.
		of := func(p []byte) gulpindex.Version { return gulpindex.Version{Size: int64(len(p)), ETag: "v1"} }
		side, err := gulpindex.Build(g.Chunk, gulpindex.Pair{Data: of(oldData), Meta: of(oldMeta)})
		if err != nil {
			t.Fatal(err)
		}
		h.set(name+index.Suffix, side)
		h.set(name, data)
		h.set(pair.Meta, meta)
		x, err := New(Config{}).OpenGulpByID(t.Context(), uri, GulpOptions{Beside: true})
		if err != nil || x.Index != nil {
			t.Fatalf("ETag %q: the index is used: %t, %v", etag, x != nil && x.Index != nil, err)
		}
		for id, n := range map[string]int{"aa": 2000, "bb": 1000} {
			c, err := x.Select(t.Context(), id, 0, 1)
			if err != nil {
				t.Fatal(err)
			}
			sameFrameAs(t, bytes.Repeat([]byte(id[:1]), n), c, err, id, 0)
		}
		if g, err = New(Config{}).OpenGulp(t.Context(), uri, GulpOptions{}); err != nil {
			t.Fatal(err)
		}
		if side, err := g.Beside(t.Context(), true); err != nil || side == nil || !strings.Contains(side.Unusable, "ETag") {
			t.Errorf("ETag %q: %+v, %v", etag, side, err)
		}
	}
}
