package gateway

import (
	"bytes"
	"image/png"
	"strings"
	"testing"
)

// TestLooks: pictures with axes have what the parameters say, and those without are as they
// were.
func TestLooks(t *testing.T) {
	g := newGround(t, Config{MaxResponse: 8 << 20, Memory: 256 << 20})
	size := func(path string) (w, h int, corner uint32) {
		t.Helper()
		p, err := png.Decode(g.get(t, path).Body)
		if err != nil {
			t.Fatal(path, err)
		}
		r, _, _, _ := p.At(0, 0).RGBA()
		return p.Bounds().Dx(), p.Bounds().Dy(), r >> 8
	}
	if w, h, _ := size("/slice/d/v.b2nd?s=1&format=png"); w != 256 || h != 192 {
		t.Errorf("a plain picture of %d x %d", w, h)
	}
	_, h1, _ := size("/view/d/day.zoom?track=1&width=400&format=png")
	if w, h, corner := size("/view/d/day.zoom?track=1&width=400&height=200&dark=1&format=png"); w < 400 || h1-h != 120 || corner > 0x40 {
		t.Errorf("height and dark: %d x %d, not %d, %x", w, h, h1, corner)
	}
	for _, c := range []struct{ path, want string }{
		{"/view/d/day.zoom?track=1&width=400&title=One+%26+all&format=svg", ">One &amp; all<"},
		{"/slice/d/v.b2nd?s=1&axes=1&format=svg&width=400", ">v.b2nd [1]<"},
		{"/slice/d/v.b2nd?s=1,2&axes=1&format=svg&title=A+line&height=100", ">A line<"},
	} {
		w := g.get(t, c.path)
		if text := w.Body.String(); w.Header().Get("Content-Type") != "image/svg+xml" || !strings.Contains(text, c.want) {
			t.Errorf("%s: no %s in %d bytes", c.path, c.want, len(text))
		}
	}
	if w, _, corner := size("/slice/d/v.b2nd?s=1&axes=1&format=png&width=500&height=300&dark=1&colors=gray"); w < 550 || corner > 0x40 {
		t.Errorf("an array with axes: %d wide", w)
	}
	for path, want := range map[string]string{
		"/view/d/day.zoom?track=1&format=png&height=79":                         "400 bad-height",
		"/view/d/day.zoom?track=1&format=png&height=4001":                       "413 too-large",
		"/view/d/day.zoom?track=1&format=png&height=x":                          "400 bad-height",
		"/view/d/day.zoom?track=1&format=png&dark=x":                            "400 bad-dark",
		"/view/d/day.zoom?track=1&format=png&title=" + strings.Repeat("x", 201): "413 too-large",
		"/view/d/day.zoom?track=1&format=json&dark=1":                           "400 bad-query",
		"/view/d/day.zoom?track=1&tracks=1&format=png":                          "400 bad-track",
		"/view/d/day.zoom?tracks=1,1&format=png":                                "400 bad-track",
		"/view/d/day.zoom?tracks=1,,2&format=png":                               "400 bad-track",
		"/view/d/day.zoom?tracks=1,9&format=png":                                "404 no-entry",
		"/view/d/day.zoom?format=png&tracks=" + strings.Repeat("1,", 24) + "1":  "413 too-large",
		"/slice/d/v.b2nd?s=1&format=svg":                                        "400 bad-format",
		"/slice/d/v.b2nd?s=1&format=png&width=500":                              "400 bad-query",
		"/slice/d/v.b2nd?s=1&format=png&axes=1&width=399":                       "400 bad-width",
		"/slice/d/v.b2nd?s=1&format=png&axes=1&width=8001":                      "413 too-large",
		"/slice/d/v.b2nd?s=1&format=png&axes=x":                                 "400 bad-axes",
		"/slice/d/v.b2nd?s=1&format=npy&axes=1":                                 "400 bad-axes",
		"/slice/d/v.b2nd?s=:2,:,:&format=png&axes=1":                            "400 bad-format",
		"/slice/d/v.b2nd?where=v>1&axes=1":                                      "400 bad-query",
	} {
		w := g.ask("GET", path)
		if code, what, _ := strings.Cut(want, " "); w.Result().StatusCode/100 != 4 || !strings.HasPrefix(w.Result().Status, code) || !bytes.Contains(w.Body.Bytes(), []byte(what)) {
			t.Errorf("%.100s: %d %s, want %s", path, w.Code, w.Body, want)
		}
	}
}

// TestTracks: several tracks are in one picture, each with its name.
func TestTracks(t *testing.T) {
	g := newGround(t, Config{})
	text := g.get(t, "/view/d/day.zoom?tracks=left,2&width=400&format=svg").Body.String()
	if !strings.Contains(text, ">day.zoom<") || !strings.Contains(text, ">left<") || strings.Count(text, "textLength") < 3 {
		t.Errorf("no legend: %.300s", text)
	}
	if w := g.ask("GET", "/view/d/day.zoom?tracks=left,2&width=400"); w.Code != 400 {
		t.Errorf("JSON of two tracks: %d", w.Code)
	}
}
