package gateway

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/rangeio"
)

// TestB2ndSlices: a slice as b2nd is an array with the same items, the same bytes each
// time.
func TestB2ndSlices(t *testing.T) {
	g := newGround(t, Config{})
	for _, x := range []struct{ path, shape, dtype string }{
		{"v.b2nd?s=5:40,::7,::-3", "[35 14 43]", "<u2"}, {"v.b2nd?s=3", "[96 128]", "<u2"}, {"v.b2nd?s=1,2,3", "[]", "<u2"}, {"v.b2nd?s=:0", "[0 96 128]", "<u2"},
		{"v.npy?s=:&as=f8", "[1000 50]", "<f8"}, {"members.b2nd?s=:2&field=id", "[2 21]", "<i4"}, {"members.b2nd?s=1", "[21]", ""},
	} {
		w := g.get(t, "/slice/d/"+x.path+"&format=b2nd")
		p := w.Body.Bytes()
		a, err := b2nd.Open(t.Context(), rangeio.FromReaderAt(bytes.NewReader(p), int64(len(p))), b2nd.Options{})
		if err != nil {
			t.Errorf("%s: %v", x.path, err)
			continue
		}
		box := b2nd.Whole(a.Shape())
		n, err := a.SizeOf(box)
		must(err)
		got := make([]byte, n)
		must(a.ReadSlice(t.Context(), got, box))
		want := g.get(t, "/slice/d/"+x.path+"&format=raw").Body.Bytes()
		if fmt.Sprint(a.Shape()) != x.shape || x.dtype != "" && a.DType().String() != x.dtype || !bytes.Equal(got, want) {
			t.Errorf("%s: %v of %s, %d bytes, want %d", x.path, a.Shape(), a.DType(), len(got), len(want))
		}
		if r, err := a.Verify(t.Context(), nil); err != nil {
			t.Errorf("%s: %v %v", x.path, r, err)
		}
		h := newGround(t, Config{Cache: -1})
		if again := h.get(t, "/slice/d/"+x.path+"&format=b2nd"); !bytes.Equal(again.Body.Bytes(), p) {
			t.Errorf("%s: other bytes", x.path)
		}
	}
}

// TestArrowSlices: a slice as an Arrow file, whose buffers are the items. Other clients
// read such files in e2e/peers.
func TestArrowSlices(t *testing.T) {
	g := newGround(t, Config{})
	w := g.get(t, "/slice/d/v.npy?s=100:200,:10&format=arrow")
	p := w.Body.Bytes()
	items := g.get(t, "/slice/d/v.npy?s=100:200,:10&format=raw").Body.Bytes()
	if w.Header().Get("Content-Type") != "application/vnd.apache.arrow.file" || !bytes.HasPrefix(p, []byte("ARROW1\x00\x00\xff\xff\xff\xff")) || !bytes.HasSuffix(p, []byte("ARROW1")) {
		t.Fatalf("%v: %d bytes, %.20q", w.Header(), len(p), p)
	}
	at := bytes.Index(p, items)
	if at < 0 || at%8 != 0 || !bytes.Contains(p, []byte(`{"shape":[10]}`)) {
		t.Errorf("the items are at %d of %d bytes", at, len(p))
	}
	foot := int(binary.LittleEndian.Uint32(p[len(p)-10:]))
	if foot <= 0 || foot > len(p)-at {
		t.Errorf("a footer of %d bytes", foot)
	}
	for path, want := range map[string]int{"v.b2nd?s=:&format=arrow": 200, "members.b2nd?format=arrow": 200, "v.b2nd?s=1,1,1&format=arrow": 200, "v.b2nd?s=:,:0&format=arrow": 200,
		"v.b2nd?format=arrow&colors=gray": 400, "v.b2nd?format=arrows": 400} {
		if w := g.ask("GET", "/slice/d/"+path); w.Code != want {
			t.Errorf("%s: %d %.100s", path, w.Code, w.Body)
		}
	}
}
