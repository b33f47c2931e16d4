//go:build peers

package peers

import (
	"bytes"
	"encoding/json"
	"image"
	"image/png"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// node runs a script of the folder node. Without Node and its packages the test is
// skipped, or fails where BROWSER_REQUIRE is set.
func node(t *testing.T, in, out any, script string) {
	t.Helper()
	path, err := exec.LookPath("node")
	if _, not := os.Stat("../../.node/peers/.installed"); err != nil || not != nil {
		lacking(t, "no Node with its packages: run 'scripts/node.sh'")
	}
	text, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), path, filepath.Join("node", script))
	cmd.Stdin, cmd.Stderr = bytes.NewReader(text), &stderr
	got, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(got, out)
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s%.2000s", script, err, stderr.Bytes(), got)
	}
}

func lacking(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("BROWSER_REQUIRE") != "" {
		t.Fatal(what)
	}
	t.Skip(what)
}

// digest is an array as a client read it: its items little-endian, in C order.
type digest struct {
	Shape  []int  `json:"shape"`
	SHA256 string `json:"sha256"`
	Error  string `json:"error,omitempty"`
}

// makeServed makes the arrays of make_served.py in a folder, besides some fixtures, and
// returns what those hold.
func makeServed(t *testing.T, dir string, fixtures ...string) (want map[string]digest) {
	t.Helper()
	arrays := map[string]string{}
	for _, name := range fixtures {
		arrays[name] = filepath.Join(dir, name)
		writeFile(t, arrays[name], loaded(t, filepath.Join(b2ndFixtures, name)))
	}
	in, err := json.Marshal(map[string]any{"dir": dir, "arrays": arrays})
	if err != nil {
		t.Fatal(err)
	}
	runIn(t.Context(), t, bytes.NewReader(in), &want, "make_served.py")
	return want
}

// TestServedZarrita: zarrita.js reads what python-blosc2 does, by chunks, blocks and
// without the codec.
func TestServedZarrita(t *testing.T) {
	dir := t.TempDir()
	want := makeServed(t, dir, "nd2.b2nd", "nd3.b2nd", "nd4_auto.b2nd", "dtype_b1.b2nd", "dtype_u1.b2nd", "dtype_lei8.b2nd", "dtype_bei4.b2nd", "dtype_bef8.b2nd",
		"make_zeros.b2nd", "make_nans_f4.b2nd", "scalar_f8.b2nd", "make_arange2d.b2nd")
	at, arrays, all := serveFolder(t, dir), map[string]string{}, map[string]digest{}
	for _, verb := range []string{"zarr", "zarr~blocks", "zarr~raw"} {
		for name, d := range want {
			arrays[verb+" "+name], all[verb+" "+name] = at+"/"+verb+"/data/"+name, d
		}
	}
	var out struct{ Read map[string]digest }
	node(t, map[string]any{"arrays": arrays, "statuses": map[string]string{}}, &out, "zarrita.mjs")
	if d := cmp.Diff(all, out.Read); d != "" {
		t.Errorf("(-blosc2 +zarrita)\n%.4000s", d)
	}
}

// A failing server answers below /CLIENT/STATUS/ as a gateway does for one array, except
// for one chunk: that has the status. "short" is 200 with half of the bytes, "403-bare" has
// no header for pages of other origins.
type failing struct {
	*httptest.Server

	mu    sync.Mutex
	tries map[string]map[string]int // of the chunk, by client and status
}

func newFailing(t *testing.T, at, array, chunk string) *failing {
	t.Helper()
	to, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	f := &failing{tries: map[string]map[string]int{}}
	pass := httputil.NewSingleHostReverseProxy(to)
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		words := strings.SplitN(r.URL.Path, "/", 4) // "", client, status, the rest
		if len(words) < 4 {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		r.URL.Path, r.URL.RawPath, r.Host = "/zarr~raw/data/"+array+"/"+words[3], "", to.Host
		if words[3] == chunk && r.Method != http.MethodOptions {
			f.fault(w, words[1], words[2], r)
			return
		}
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *failing) fault(w http.ResponseWriter, client, status string, r *http.Request) {
	f.mu.Lock()
	if f.tries[client] == nil {
		f.tries[client] = map[string]int{}
	}
	f.tries[client][status]++
	f.mu.Unlock()
	if r.Header.Get("Origin") != "" && status != "403-bare" {
		w.Header().Set("Access-Control-Allow-Origin", "*")
	}
	if status == "short" {
		_, _ = w.Write(bytes.Repeat([]byte{7}, 2000)) // of 4000
		return
	}
	n, _ := strconv.Atoi(strings.TrimSuffix(status, "-bare"))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(n)
	_, _ = io.WriteString(w, `{"code":"test"}`)
}

// what tells how a client took each status: "fill", "raises" and so on, with a + if it
// tried more than once.
func (f *failing) what(client string, outcomes map[string]string) map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := map[string]string{}
	for status, o := range outcomes {
		if out[status] = o; f.tries[client][status] > 1 {
			out[status] += "+"
		}
	}
	return out
}

// statuses are those of the table in docs/serving.md. If a release of a client takes one in
// another way, the rules of the gateway have to be thought over.
var statuses = []string{"401", "403", "404", "409", "410", "413", "422", "429", "500", "501", "502", "503", "504", "short"}

func table(some map[string]string, other string) map[string]string {
	out := map[string]string{}
	for _, s := range statuses {
		if out[s] = other; some[s] != "" {
			out[s] = some[s]
		}
	}
	return out
}

// TestServedStatuses: what clients make of the status of a chunk is what the gateway
// chooses its statuses by: 404 is the fill value to all of them, and nothing else is.
func TestServedStatuses(t *testing.T) {
	dir := t.TempDir()
	makeServed(t, dir)
	f := newFailing(t, serveFolder(t, dir), "count.b2nd", "c/1")
	again := map[string]string{"404": "fill", "429": "raises+", "500": "raises+", "501": "raises+", "502": "raises+", "503": "raises+", "504": "raises+"}
	want := map[string]map[string]string{
		"fsspec":  table(map[string]string{"404": "fill"}, "raises"),
		"obstore": table(again, "raises"),
		"tensorstore": table(map[string]string{"404": "fill", "429": "waits+", "500": "waits+", "502": "waits+", "503": "waits+", "504": "waits+"},
			"raises"),
	}
	in, err := json.Marshal(map[string]any{"url": f.URL, "statuses": statuses})
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]map[string]string
	runIn(t.Context(), t, bytes.NewReader(in), &got, "read_status.py")
	for client := range want {
		if d := cmp.Diff(want[client], f.what(client, got[client])); d != "" {
			t.Errorf("%s (-known +now)\n%s", client, d)
		}
	}
	at, out := map[string]string{}, struct{ Statuses map[string]string }{}
	for _, s := range statuses {
		at[s] = f.URL + "/zarrita/" + s
	}
	node(t, map[string]any{"arrays": map[string]string{}, "statuses": at}, &out, "zarrita.mjs")
	if d := cmp.Diff(table(map[string]string{"404": "fill", "short": "zeros"}, "raises"), f.what("zarrita", out.Statuses)); d != "" {
		t.Errorf("zarrita (-known +now)\n%s", d)
	}
}

// TestServedNeuroglancer: neuroglancer in Chromium draws the items of arrays, pixel by
// pixel, and takes statuses as the table in docs/serving.md says.
func TestServedNeuroglancer(t *testing.T) {
	if _, err := exec.LookPath("chromium"); err != nil && os.Getenv("CHROMIUM") == "" {
		lacking(t, "no Chromium")
	}
	dir, shots := t.TempDir(), t.TempDir()
	makeServed(t, dir)
	at := serveFolder(t, dir, "--cors", "*")
	f := newFailing(t, at, "white.b2nd", "c/0/1")
	type picture struct {
		Source string   `json:"source"`
		Axes   []string `json:"axes"`
		Size   []int    `json:"size"`
	}
	axes := []string{"x", "y"}
	pictures := []picture{{at + "/zarr/data/picture.b2nd", axes, []int{256, 128}}, {at + "/zarr~float32/data/floats.b2nd", axes, []int{256, 128}}}
	taken := []string{"404", "403-bare", "410", "500", "503"}
	for _, s := range taken {
		pictures = append(pictures, picture{f.URL + "/neuroglancer/" + s, axes, []int{128, 64}})
	}
	type page struct {
		URL   string `json:"url"`
		File  string `json:"file"`
		Ready bool   `json:"ready"`
		After int    `json:"after,omitempty"`
	}
	var pages []page
	for i, u := range neuroglancer(t, map[string]any{"pictures": pictures}) {
		p := page{URL: u, File: filepath.Join(shots, strconv.Itoa(i)+".png"), Ready: i < 2}
		if i >= 2 {
			p.After = 6000 // some fail, and some never end
		}
		pages = append(pages, p)
	}
	var out struct{ Faults []string }
	node(t, map[string]any{"pages": pages}, &out, "neuroglancer.mjs")
	for _, fault := range out.Faults {
		t.Error(fault)
	}
	for i := range 2 {
		checkPicture(t, pictures[i].Source, screenshot(t, pages[i].File), 256, 128, func(x, y int) byte { return byte((3*y+7*x)%251 + 3) })
	}
	outcomes := map[string]string{}
	for i, s := range taken {
		outcomes[s] = tookFor(screenshot(t, pages[i+2].File))
	}
	want := map[string]string{"404": "fill", "403-bare": "fill", "410": "nothing", "500": "nothing", "503": "nothing+"}
	if d := cmp.Diff(want, f.what("neuroglancer", outcomes)); d != "" {
		t.Errorf("neuroglancer (-known +now)\n%s", d)
	}
}

// neuroglancer serves pages until the test ends.
func neuroglancer(t *testing.T, job any) (urls []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), python(t), "neuroglancer_pages.py")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait() // its work is done
	})
	if err := json.NewEncoder(in).Encode(job); err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(out).Decode(&urls); err != nil {
		t.Fatalf("%v\n%s", err, stderr.Bytes())
	}
	if urls == nil {
		lacking(t, "no neuroglancer: run 'make venv'")
	}
	return urls
}

func screenshot(t *testing.T, file string) image.Image {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(loaded(t, file)))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// blue reports whether nothing is drawn at a place.
func blue(img image.Image, x, y int) bool {
	r, g, b, _ := img.At(x, y).RGBA()
	return r>>8 == 0 && g>>8 == 0 && b>>8 == 255
}

// checkPicture compares what is drawn around the middle with the items.
func checkPicture(t *testing.T, what string, img image.Image, width, height int, item func(x, y int) byte) {
	t.Helper()
	left, top, wrong := img.Bounds().Dx()/2-width/2, img.Bounds().Dy()/2-height/2, 0
	for _, p := range [][2]int{{left - 1, top}, {left, top - 1}, {left + width, top}, {left, top + height}} {
		if !blue(img, p[0], p[1]) {
			t.Errorf("%s: drawn at %v, beyond the array", what, p)
		}
	}
	for y := range height {
		for x := range width {
			r, g, b, _ := img.At(left+x, top+y).RGBA()
			want := float64(item(x, y))
			if r != g || g != b || math.Abs(float64(r>>8)-want) > 1 {
				wrong++
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%s: %d of %d pixels are not the items", what, wrong, width*height)
	}
}

// tookFor tells what a chunk was taken for, which is the right half of a picture of 128 x 64,
// white on the left.
func tookFor(img image.Image) string {
	x, y := img.Bounds().Dx()/2, img.Bounds().Dy()/2
	if r, g, b, _ := img.At(x-32, y).RGBA(); r>>8 < 250 || g != r || b != r {
		return "nothing at all"
	}
	if blue(img, x+32, y) {
		return "nothing"
	}
	if r, g, b, _ := img.At(x+32, y).RGBA(); r>>8 == 0 && g == r && b == r {
		return "fill"
	}
	return "wrong"
}
