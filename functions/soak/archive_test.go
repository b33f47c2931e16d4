package soak_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/objstore"
)

const (
	memory  = 512 << 20 // memory of a worker
	maxPeak = 256 << 20 // memory that a worker may use
	perGet  = 8 << 20   // least bytes of a request
)

// noDisk makes every write to a file fail, and names a folder for temporary files that
// does not exist.
const noDisk = "ulimit -f 0\nexport TMPDIR=/nonexistent"

// cage puts processes into a control group of 512 MB, if this process may make one.
// how says how they are limited.
func cage(t *testing.T) (lines, how string) {
	t.Helper()
	for _, v := range []struct{ root, limit string }{
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}, // version 1
		{"/sys/fs/cgroup", "memory.max"},                   // version 2
	} {
		dir := filepath.Join(v.root, fmt.Sprintf("farread-soak-%d-%s", os.Getpid(), strings.ReplaceAll(strings.ToLower(t.Name()), "/", "-")))
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		t.Cleanup(func() { os.Remove(dir) }) // the cloud has ended by then
		if os.WriteFile(filepath.Join(dir, v.limit), fmt.Append(nil, memory), 0o600) == nil {
			return "echo $$ > " + filepath.Join(dir, "cgroup.procs") + "\n", "a control group"
		}
	}
	return "", "the runtime, which looks every 20 ms"
}

// startCaged is a cloud whose functions have 512 MB and no disk.
func startCaged(t *testing.T) (c *cloud, how string) {
	t.Helper()
	lines, how := cage(t)
	return start(t, options{tries: 2, concurrency: 1, shape: "s3", wrap: lines + noDisk, args: []string{"--memory", fmt.Sprint(memory >> 20), "--timeout", "15m"}}), how
}

// highest is the most memory that any function of the cloud has used.
func (c *cloud) highest(t *testing.T) int64 {
	t.Helper()
	var most int64
	for _, name := range []string{"fn-pack", "fn-zoom"} {
		for _, pid := range c.pids(name) {
			n, err := peak(pid)
			if err != nil {
				t.Error(err)
			}
			most = max(most, n)
		}
	}
	if most == 0 {
		t.Error("no function lives")
	}
	return most
}

// zipped uploads a zip of n stored entries while it is made.
func zipped(t *testing.T, c *cloud, key string, n int, entry func(i int) (name string, data []byte)) {
	t.Helper()
	w, err := c.in.Create(t.Context(), key, objstore.PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	z := zip.NewWriter(w)
	for i := range n {
		name, p := entry(i)
		e, err := z.CreateRaw(&zip.FileHeader{Name: name, Method: zip.Store, CRC32: crc32.ChecksumIEEE(p), CompressedSize64: uint64(len(p)), UncompressedSize64: uint64(len(p))})
		if err == nil {
			_, err = e.Write(p)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// eachFrame reads a gulp of the cloud from front to end.
func eachFrame(t *testing.T, c *cloud, key string, f func(i int, p []byte) error) int {
	t.Helper()
	meta, err := objstore.Open(t.Context(), c.out, key+".gmeta", objstore.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	data, err := objstore.Open(t.Context(), c.out, key+".gulp", objstore.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	g, err := gulp.Open(t.Context(), meta, data, gulp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	if err := g.Each(t.Context(), func(_ string, _ int, frame []byte) error {
		n++
		return f(n-1, frame)
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestHugeArchive (docs/reliability.md, E4): a zip of 10 000 JPEGs and 2 GB, in 512 MB
// and without a disk.
func TestHugeArchive(t *testing.T) {
	apart(t)
	c, how := startCaged(t)
	const key, size = "gulp/huge.zip", 205_000
	n := scale(500, 10_000)
	h := head(t)
	zipped(t, c, key, n, func(i int) (string, []byte) {
		return fmt.Sprintf("c%03d/f%05d.jpg", i/100, i), photo(h, uint64(i), size)
	})
	r, _, err := c.settled(key)
	if err != nil || r.failed {
		t.Fatalf("%+v, %v", r, err)
	}
	counts, _, read := c.proxy.seen()
	most := c.highest(t)
	got := eachFrame(t, c, key, func(i int, p []byte) error {
		if !bytes.Equal(p, photo(h, uint64(i), size)) {
			return fmt.Errorf("frame %d is another", i)
		}
		return nil
	})
	if got != n {
		t.Errorf("%d frames of %d", got, n)
	}
	if most > maxPeak {
		t.Errorf("%d MiB of memory", most>>20)
	}
	gets, bytes := counts[uploads+" GET"], read[uploads]
	// Opening costs three more requests: the first bytes, the end of the archive and
	// its directory. They count in small archives.
	if gets > bytes/perGet+3+1 {
		t.Errorf("%d GETs for %d bytes", gets, bytes)
	}
	figure(t, "E4", fmt.Sprintf("zip of %d JPEGs, %.2f GB; 512 MB by %s, no disk", n, float64(n*size)/1e9, how),
		fmt.Sprintf("peak RSS %d MB, %d entries lost, %d GETs for %d MiB (one per %.1f MiB); %.1f s", most/1e6, n-got, gets, bytes>>20, float64(bytes)/float64(gets)/(1<<20), r.ms/1000),
		"<= 256 MB, 0 lost, <= 1 GET per 8 MiB", most <= maxPeak && got == n && gets*perGet <= bytes)
}

// TestManyEntries: a million entries of nearly nothing are packed as well.
func TestManyEntries(t *testing.T) {
	apart(t)
	c, _ := startCaged(t)
	const key = "gulp/many.zip"
	n := scale(20_000, 1_000_000)
	h := head(t)
	entry := func(i int) []byte { return binary.LittleEndian.AppendUint32(bytes.Clone(h), uint32(i)) }
	zipped(t, c, key, n, func(i int) (string, []byte) { return fmt.Sprintf("c%04d/%06d.jpg", i/1000, i), entry(i) })
	r, _, err := c.settled(key)
	if err != nil || r.failed {
		t.Fatalf("%+v, %v", r, err)
	}
	most := c.highest(t)
	got := eachFrame(t, c, key, func(i int, p []byte) error {
		if !bytes.Equal(p, entry(i)) {
			return fmt.Errorf("frame %d is another", i)
		}
		return nil
	})
	if got != n || most > maxPeak {
		t.Errorf("%d frames of %d with %d MiB", got, n, most>>20)
	}
	figure(t, "E4", fmt.Sprintf("zip of %d entries of %d bytes", n, len(entry(0))),
		fmt.Sprintf("peak RSS %d MB, %d entries lost; %.1f s", most/1e6, n-got, r.ms/1000), "<= 256 MB, 0 lost", most <= maxPeak && got == n)
}

// zipOf is a small zip of one deflated entry.
func zipOf(t *testing.T, name string, data io.Reader) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	e, err := w.Create(name)
	if err == nil {
		_, err = io.Copy(e, data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// zeros is a reader of n zeros.
func zeros(n int64) io.Reader { return io.LimitReader(zero{}, n) }

type zero struct{}

func (zero) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// central changes a field of the first line of a zip's directory.
func central(p []byte, at int, v uint32) []byte {
	p = bytes.Clone(p)
	i := bytes.Index(p, []byte("PK\x01\x02"))
	binary.LittleEndian.PutUint32(p[i+at:], v)
	return p
}

// TestHostileArchives: a hostile archive ends in a report that tells what is wrong. It
// costs no more memory than others and leaves nothing else.
func TestHostileArchives(t *testing.T) {
	apart(t)
	c, _ := startCaged(t)
	bombSize := int64(scale(64<<20, 4<<30-1))
	bomb := zipOf(t, "a/1.jpg", io.MultiReader(bytes.NewReader(head(t)), zeros(bombSize)))
	var gz bytes.Buffer
	w := gzip.NewWriter(&gz)
	io.Copy(w, io.MultiReader(bytes.NewReader(frames(t, 1, 100<<10)[:100<<10]), zeros(bombSize)))
	w.Close()
	one := zipOf(t, "a/1.jpg", bytes.NewReader(head(t)))
	nested := bomb
	for range 5 {
		nested = zipOf(t, "inner.zip", bytes.NewReader(nested))
	}
	cases := map[string]struct {
		data  []byte
		kinds string // of the report
	}{
		"bomb.zip":         {bomb, "too large"},
		"bomb.tar.gz":      {gz.Bytes(), "too large, corrupt"},
		"nested.zip":       {nested, "unsupported"},
		"says-less.zip":    {central(one, 24, 10), "corrupt"},
		"says-more.zip":    {central(one, 24, 60<<20), "corrupt, too large"},
		"says-packed.zip":  {central(one, 20, 1<<30), "corrupt, too large"},
		"says-4gb.zip":     {central(one, 24, 1<<32-2), "too large, corrupt"},
		"far-off.zip":      {central(one, 42, 1<<31), "corrupt"},
		"bad-crc.zip":      {central(one, 16, 7), "corrupt"},
		"encrypted.zip":    {central(one, 8, 1|8<<16), "unsupported"},
		"truncated.zip":    {one[:len(one)-30], "corrupt"},
		"empty.zip":        {nil, "corrupt, unsupported"},
		"climbs.zip":       {zipOf(t, "../../etc/1.jpg", bytes.NewReader(head(t))), "unsupported, corrupt"},
		"no-jpeg.zip":      {zipOf(t, "a/1.jpg", strings.NewReader("GIF89a")), "unsupported, corrupt"},
		"long-name.zip":    {zipOf(t, strings.Repeat("n", 60_000)+".jpg", bytes.NewReader(head(t))), "too large, unsupported"},
		"deep.zip":         {zipOf(t, strings.Repeat("d/", 5000)+"1.jpg", bytes.NewReader(head(t))), "too large, unsupported"},
		"million-dirs.zip": {central(one, 0, 0x02014b51), "corrupt"},
	}
	for name, u := range cases {
		c.put(t, "gulp/"+name, u.data)
	}
	reported := 0
	for name, u := range cases {
		r, _, err := c.settled("gulp/" + name)
		if err != nil || r.failed {
			t.Errorf("%s: %+v, %v", name, r, err)
			continue
		}
		rc, _, err := c.out.Get(t.Context(), "errors/gulp/"+name+".json", objstore.GetOptions{})
		if err != nil {
			t.Errorf("%s: no report: %v", name, err)
			continue
		}
		var rep functions.Report
		err = json.NewDecoder(rc).Decode(&rep)
		rc.Close()
		if err != nil || !slices.Contains(strings.Split(u.kinds, ", "), rep.Kind) || len(rep.What) < 10 || rep.Key != "gulp/"+name || rep.RequestID == "" {
			t.Errorf("%s: %+v, %v", name, rep, err)
			continue
		}
		t.Logf("%s: %s: %.120s", name, rep.Kind, rep.What)
		reported++
	}
	for _, key := range keys(t.Context(), t, c.out, "") {
		if !strings.HasPrefix(key, "errors/") {
			t.Errorf("%s was published", key)
		}
	}
	most := c.highest(t)
	if most > maxPeak {
		t.Errorf("%d MiB of memory", most>>20)
	}
	figure(t, "E4", fmt.Sprintf("%d hostile archives: bombs of %d MB, nested ones, sizes that lie, paths that climb …", len(cases), bombSize/1e6),
		fmt.Sprintf("%d reports under errors/, nothing else published, peak RSS %d MB", reported, most/1e6), "a report each, <= 256 MB", reported == len(cases) && most <= maxPeak)
}
