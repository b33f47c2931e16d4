package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/farread/farread/internal/racetest"
	"github.com/farread/farread/internal/teststack"
)

// A meeting serves files, and answers a process only if the others have come, too, or have ended. As a
// process opens DST before SRC, all have seen the same DST then.
type meeting struct {
	files http.Handler
	mu    sync.Mutex
	came  map[string]chan struct{} // by the names of files, of which each process has its own
}

func newMeeting(dir string, names ...string) *meeting {
	g := &meeting{files: http.FileServer(http.Dir(dir)), came: map[string]chan struct{}{}}
	for _, n := range names {
		g.came[n] = make(chan struct{})
	}
	return g
}

// pass lets the others go on.
func (g *meeting) pass(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.came[name]:
	default:
		close(g.came[name])
	}
}

func (g *meeting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if name := path.Base(r.URL.Path); g.came[name] != nil {
		g.pass(name)
		for _, other := range g.came {
			<-other
		}
	}
	g.files.ServeHTTP(w, r)
}

// TestAppendRaced: of two processes that append to one file at once, in S3 or on disk, one wins and the other one says that it
// has appended nothing; then it can. No chunk is lost, in whichever format.
func TestAppendRaced(t *testing.T) {
	s := teststack.Run(t, teststack.Options{Buckets: []string{"grown"}})
	for k, v := range cloudEnv(s) {
		t.Setenv(k, v)
	}
	for _, k := range racedKinds(t) {
		for _, where := range []string{t.TempDir() + string(os.PathSeparator), "s3://grown/" + k.name + "/"} {
			scheme, _, _ := strings.Cut(where, ":")
			t.Run(k.name+"/"+map[bool]string{true: "s3", false: "disk"}[scheme == "s3"], func(t *testing.T) { raced(t, k, where+"x"+k.suffix) })
		}
	}
}

type racedKind struct {
	killedKind
	dir  string
	srcs [4]string            // in dir
	rest func(i int) []string // flags of one
	all  func(dst string) string
	late string // what is said of one that comes behind a later one, if it is refused
}

// racedKinds are all formats that grow, with SRC that go behind each other in this order.
func racedKinds(t *testing.T) (out []racedKind) {
	t.Helper()
	dir := t.TempDir()
	for _, k := range grownKinds() {
		r := racedKind{killedKind: killedKind{name: k.name, suffix: k.suffix}, dir: dir, all: func(dst string) string { return k.whole(t, dst) }, rest: func(int) []string { return nil }}
		if k.name == "zoom" {
			r.late = "times go back"
		}
		first := filepath.Join(dir, k.name+"0"+k.src)
		size := 6 << 20 // more than what S3 joins without a copy
		if k.name == "zoom" {
			size = 1 << 20
		}
		write(t, first, k.part(0, racetest.Share(size, 4)))
		r.first = append([]string{first}, k.flags...)
		for i := range r.srcs {
			r.srcs[i] = fmt.Sprintf("%s%d%s", k.name, i+1, k.src)
			write(t, filepath.Join(dir, r.srcs[i]), k.part(i+1, 40_000))
		}
		out = append(out, r)
	}
	r := racedKind{killedKind: killedKind{name: "array", suffix: ".b2nd"}, dir: dir, srcs: [4]string{"rows1.raw", "rows2.raw", "rows3.raw", "rows4.raw"}}
	rows := func(n string) []string { return []string{"--dtype", "|u1", "--shape", n + ",65536"} }
	write(t, filepath.Join(dir, "rows0.raw"), noisyBytes(6<<20, 1))
	for i, name := range r.srcs {
		write(t, filepath.Join(dir, name), noisyBytes(1<<20, uint64(i+2)))
	}
	r.first, r.rest = append([]string{filepath.Join(dir, "rows0.raw"), "--chunk-shape", "12,65536"}, rows("96")...), func(int) []string { return rows("16") }
	r.all = func(dst string) string { return run(t, "slice", dst, ":", "-o", "-", "--format", "raw") }
	return append(out, r, racedCoord(t, r.all))
}

// racedCoord is an array with a coordinate that is an array beside it, which grows first.
func racedCoord(t *testing.T, items func(dst string) string) racedKind {
	t.Helper()
	dir := t.TempDir()
	r := racedKind{killedKind: killedKind{name: "coordinate", suffix: ".b2nd"}, dir: dir, late: "does not come behind"}
	const n = 9000 // times 8 bytes: more than the layer takes
	npy, when := days(t, dir, "first", n, squares(0))
	r.first = []string{npy, "--dims", "time,x", "--coord", "time=" + when}
	var coords [4]string
	for i := range r.srcs {
		npy, when := days(t, dir, fmt.Sprintf("more%d", i), 50, squares(n+50*i))
		r.srcs[i], coords[i] = filepath.Base(npy), when
	}
	r.rest = func(i int) []string { return []string{"--coord", "time=" + coords[i]} }
	r.all = func(dst string) string {
		times := dst[:strings.LastIndexAny(dst, `/\`)+1] + "time.b2nd"
		return items(dst) + items(times)
	}
	return r
}

func raced(t *testing.T, k racedKind, dst string) {
	t.Helper()
	run(t, append([]string{"pack", k.first[0], dst}, k.first[1:]...)...)
	before := k.all(dst)
	g := newMeeting(k.dir, k.srcs[:2]...)
	srv := httptest.NewServer(g)
	defer srv.Close()
	args := func(i int) []string {
		return append([]string{"pack", "--append", srv.URL + "/" + k.srcs[i], dst}, k.rest(i)...)
	}
	var both [2]*process
	for i := range both {
		both[i] = newProcess(t, args(i)...).start(t)
		go func() { <-both[i].ended; g.pass(k.srcs[i]) }()
	}
	codes := [2]int{both[0].wait(), both[1].wait()}
	won := 0
	if codes[1] == 0 {
		won = 1
	}
	said := both[1-won].errs.String()
	lost := codes[1-won] == exitChanged && strings.Contains(said, "somebody else has changed it; nothing was appended, try again")
	if k.name == "coordinate" { // it may see that beside before the array
		lost = lost || codes[1-won] == exitCorrupt && strings.Contains(said, "those of another append, which is under way")
	}
	if codes[won] != 0 || !lost || strings.Count(said, "\n") != 1 {
		t.Fatalf("exits %v: %q and %q", codes, both[0].errs.String(), both[1].errs.String())
	}
	t.Logf("%s won; %q", k.srcs[won], strings.TrimSpace(said))
	run(t, "verify", dst)
	after := k.all(dst)
	again := newProcess(t, args(1-won)...).start(t)
	if code := again.wait(); code != 0 && (k.late == "" || won == 0 || !strings.Contains(again.errs.String(), k.late)) {
		t.Fatalf("the loser again: exit %d %q", code, again.errs.String())
	}
	run(t, "verify", dst)
	// The same one behind the other.
	want := filepath.Join(t.TempDir(), "want"+k.suffix)
	run(t, append([]string{"pack", k.first[0], want}, k.first[1:]...)...)
	for n, i := range []int{won, 1 - won} {
		if r := (runner{}).run(t, append([]string{"pack", "--append", filepath.Join(k.dir, k.srcs[i]), want}, k.rest(i)...)...); r.code != 0 && (n == 0 || again.wait() == 0) {
			t.Fatal(r.stderr)
		}
		if n == 0 && (k.all(want) != after || after == before) {
			t.Fatalf("%d bytes after the race, that were %d before", len(after), len(before))
		}
	}
	if !bytes.Equal([]byte(k.all(want)), []byte(k.all(dst))) {
		t.Error("other items in the end")
	}
	overtaken(t, k, dst)
}

// overtaken: a process that has seen DST, and goes on when another one has appended, finds that it was changed.
func overtaken(t *testing.T, k racedKind, dst string) {
	t.Helper()
	came, done := make(chan struct{}), make(chan struct{})
	var once sync.Once
	files := http.FileServer(http.Dir(k.dir))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		once.Do(func() { close(came) })
		<-done
		files.ServeHTTP(w, r)
	}))
	defer srv.Close()
	late := newProcess(t, append([]string{"pack", "--append", srv.URL + "/" + k.srcs[3], dst}, k.rest(3)...)...).start(t)
	select {
	case <-came:
	case <-late.ended:
	}
	r := runner{}.run(t, append([]string{"pack", "--append", filepath.Join(k.dir, k.srcs[2]), dst}, k.rest(2)...)...)
	close(done)
	if r.code != 0 {
		t.Fatal(r.stderr)
	}
	after := k.all(dst)
	if code := late.wait(); code != exitChanged || !strings.Contains(late.errs.String(), "somebody else has changed it; nothing was appended, try again") {
		t.Errorf("exit %d %q", code, late.errs.String())
	}
	if k.all(dst) != after {
		t.Error("other items")
	}
}
