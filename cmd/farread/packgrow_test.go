package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// days packs an array of n rows of two numbers; row i lies at day(i), of the type.
func days(t *testing.T, dir, name string, n int, day func(i int) float64, flags ...string) (array, coord string) {
	t.Helper()
	at := func(s string) string { return filepath.Join(dir, name+s) }
	writeNPY(t, at(".npy"), "<i8", []int64{int64(n), 2}, func(i int) float64 { return day(i/2) * 10 })
	writeNPY(t, at(".time.npy"), "<i8", []int64{int64(n)}, day)
	write(t, at(".json"), []byte(`{"units":"days since 2025-01-01"}`))
	if flags != nil {
		run(t, append([]string{"pack", at(".npy"), at(".b2nd"), "--dims", "time,x", "--coord", "time=" + at(".time.npy"), "--attrs", "time=" + at(".json")}, flags...)...)
	}
	return at(".npy"), at(".time.npy")
}

// dayText is the day after so many days since 2025.
func dayText(n float64) string {
	return time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, int(n)).Format("2006-01-02")
}

// squares are days that no regular axis has.
func squares(from int) func(int) float64 {
	return func(i int) float64 { return float64((from + i) * (from + i)) }
}

func refused(t *testing.T, code int, says string, args ...string) {
	t.Helper()
	r := runner{}.run(t, args...)
	if r.code != code || !strings.Contains(r.stderr, says) || strings.Count(r.stderr, "\n") != 1 {
		t.Errorf("%q: exit %d %q, want %d %q", args, r.code, r.stderr, code, says)
	}
}

// TestAppendCoord: the coordinate of an axis grows with it, in whichever way it is stored, or nothing grows.
func TestAppendCoord(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	days(t, dir, "a", 5, squares(0), "--level", "1")
	more, when := days(t, dir, "b", 3, squares(5))
	before := read(t, in("a.b2nd"))
	refused(t, exitUsage, "add --coord time=FILE, a .npy of 3 values", "pack", "--append", more, in("a.b2nd"))
	refused(t, exitUsage, "want time=FILE, the first axis", "pack", "--append", more, in("a.b2nd"), "--coord", "x="+when)
	refused(t, exitUsage, "has 5 values: want 3, of the rows of SRC, or 8, of all", "pack", "--append", more, in("a.b2nd"), "--coord", "time="+in("a.time.npy"))
	if string(read(t, in("a.b2nd"))) != string(before) {
		t.Fatal("a refused append has changed the array")
	}
	if plan := run(t, "explain", "--append", more, in("a.b2nd"), "--coord", "time="+when); !strings.Contains(plan, "that write") {
		t.Error(plan)
	}
	run(t, "pack", "--append", more, in("a.b2nd"), "--coord", "time="+when)
	run(t, "verify", in("a.b2nd"))
	if text := run(t, "info", in("a.b2nd")); !strings.Contains(text, "time 2025-01-01 … 2025-02-19, 8") {
		t.Error(text)
	}
	if got := run(t, "slice", in("a.b2nd"), "time=2025-02-06, 0"); got != "360\n" {
		t.Errorf("%q", got)
	}

	// Of another array: another unit, the same days.
	writeNPY(t, in("c.npy"), "<i8", []int64{2, 2}, func(i int) float64 { return float64(i) })
	writeNPY(t, in("c.time.npy"), "<i8", []int64{2}, func(i int) float64 { return float64(24 * i) })
	write(t, in("c.json"), []byte(`{"units":"hours since 2025-03-06"}`))
	run(t, "pack", in("c.npy"), in("c.b2nd"), "--dims", "time,x", "--coord", "time="+in("c.time.npy"), "--attrs", "time="+in("c.json"))
	run(t, "pack", "--append", in("c.b2nd"), in("a.b2nd"))
	if text := run(t, "info", in("a.b2nd")); !strings.Contains(text, "time 2025-01-01 … 2025-03-07, 10") {
		t.Error(text)
	}
	if got := run(t, "slice", in("a.b2nd"), "time=2025-03-07, 1"); got != "3\n" {
		t.Errorf("%q", got)
	}
	write(t, in("c.json"), []byte(`{"units":"hours since 2025-03-06T01:00"}`))
	run(t, "pack", in("c.npy"), in("d.b2nd"), "--dims", "time,x", "--coord", "time="+in("c.time.npy"), "--attrs", "time="+in("c.json"))
	refused(t, exitCorrupt, "value 2025-03-06T01:00 does not fit", "pack", "--append", in("d.b2nd"), in("a.b2nd"))
	write(t, in("c.json"), []byte(`{"units":"m"}`))
	run(t, "pack", in("c.npy"), in("d.b2nd"), "--force", "--dims", "time,x", "--coord", "time="+in("c.time.npy"), "--attrs", "time="+in("c.json"))
	refused(t, exitCorrupt, `its units are "m"`, "pack", "--append", in("d.b2nd"), in("a.b2nd"))
}

// TestAppendRegular: a regular coordinate goes on by itself, becomes a list if other values are given, and does not run
// over its type.
func TestAppendRegular(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	days(t, dir, "a", 5, func(i int) float64 { return float64(i) }, "--level", "1")
	more, when := days(t, dir, "b", 3, squares(5))
	next, later := days(t, dir, "c", 3, func(i int) float64 { return float64(5 + i) })
	run(t, "pack", "--append", next, in("a.b2nd"))
	refused(t, exitCorrupt, "value 2025-01-06, number 1 of the 3 to append, does not come behind 2025-01-08: values before it go up", "pack", "--append", next, in("a.b2nd"), "--coord", "time="+later)
	run(t, "pack", "--append", more, in("a.b2nd"), "--coord", "time="+when)
	if got := run(t, "slice", in("a.b2nd"), "time=2025-02-06, 0"); got != "360\n" {
		t.Errorf("%q", got)
	}
	// All values may be given at once.
	writeNPY(t, in("all.npy"), "<i8", []int64{14}, func(i int) float64 { return float64(i) })
	run(t, "pack", "--append", next, in("a.b2nd"), "--coord", "time="+in("all.npy"))
	if text := run(t, "info", in("a.b2nd")); !strings.Contains(text, "time 2025-01-01 … 2025-01-14, 14 days") {
		t.Error(text)
	}

	write(t, in("u.raw"), make([]byte, 200))
	write(t, in("u1.raw"), ramp8(200))
	run(t, "pack", in("u1.raw"), in("u1.b2nd"), "--dtype", "|u1", "--shape", "200")
	run(t, "unpack", in("u1.b2nd"), in("u1.npy"))
	run(t, "pack", in("u.raw"), in("u.b2nd"), "--dtype", "|u1", "--shape", "200", "--dims", "n", "--coord", "n="+in("u1.npy"))
	write(t, in("v.raw"), make([]byte, 56))
	run(t, "pack", "--append", in("v.raw"), in("u.b2nd"), "--dtype", "|u1", "--shape", "56")
	refused(t, exitUsage, "would run over", "pack", "--append", in("v.raw"), in("u.b2nd"), "--dtype", "|u1", "--shape", "56")
}

// TestAppendBackwards: a coordinate that is in order stays in order, or nothing grows; one of labels takes any, and whoever
// gives all values says what they are.
func TestAppendBackwards(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	pick := func(list ...float64) func(int) float64 { return func(i int) float64 { return list[i] } }
	for name, c := range map[string]struct {
		had, more []float64
		says      string
	}{
		"list":       {[]float64{0, 3, 9}, []float64{10, 8}, "value 2025-01-09, number 2 of the 2 to append, does not come behind 2025-01-11: values before it go up; leave out rows that are there already, or"},
		"again":      {[]float64{0, 3, 9}, []float64{9, 10}, "number 1 of the 2 to append"},
		"regular":    {[]float64{0, 1, 2}, []float64{2, 3}, "number 1 of the 2 to append"},
		"one":        {[]float64{5}, []float64{4, 3}, "number 1 of the 2 to append"},
		"descending": {[]float64{9, 3, 0}, []float64{-1, -3}, ""},
		"turns":      {[]float64{9, 3, 0}, []float64{-3, -1}, "values before it go down"},
		"twice":      {[]float64{0, 3, 3, 9}, []float64{9, 9}, ""},
		"labels":     {[]float64{4, 1, 9}, []float64{3, 4}, ""},
	} {
		days(t, dir, name, len(c.had), pick(c.had...), "--level", "1")
		more, when := days(t, dir, "more-"+name, len(c.more), pick(c.more...))
		dst := in(name + ".b2nd")
		before := read(t, dst)
		if c.says == "" {
			run(t, "pack", "--append", more, dst, "--coord", "time="+when)
			continue
		}
		for _, verb := range []string{"pack", "explain"} {
			refused(t, exitCorrupt, strings.Replace(c.says, "; ", ": unsupported feature; ", 1), verb, "--append", more, dst, "--coord", "time="+when)
		}
		if string(read(t, dst)) != string(before) {
			t.Errorf("%s: a refused append has changed the array", name)
		}
	}
	all := append([]float64{0, 3, 9}, 10, 8)
	writeNPY(t, in("all.npy"), "<i8", []int64{5}, pick(all...))
	r := runner{}.run(t, "pack", "--append", in("more-list.npy"), in("list.b2nd"), "--coord", "time="+in("all.npy"))
	if r.code != 0 || !strings.Contains(r.stderr, "the coordinate time is in no order now") {
		t.Errorf("exit %d %q", r.code, r.stderr)
	}
	if got := run(t, "slice", in("list.b2nd"), "time=2025-01-09, 0"); got != "80\n" {
		t.Errorf("%q", got)
	}
	more, when := days(t, dir, "any", 1, pick(2))
	run(t, "pack", "--append", more, in("list.b2nd"), "--coord", "time="+when) // it was in no order already
}

// TestAppendBackwardsBeside: the same for a coordinate that is an array beside, of which the ends are read if that is enough.
func TestAppendBackwardsBeside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	const n = 9000
	for name, day := range map[string]func(i int) float64{
		"order":  squares(0),
		"labels": func(i int) float64 { return float64(i * 7919 % 10007) },
	} {
		npy, when := days(t, dir, name, n, day)
		run(t, "pack", npy, in(name+"/a.b2nd"), "--dims", "time,x", "--coord", "time="+when)
	}
	more, back := days(t, dir, "more", 50, squares(n-1)) // begins with the last one
	refused(t, exitCorrupt, "number 1 of the 50 to append", "pack", "--append", more, in("order/a.b2nd"), "--coord", "time="+back)
	run(t, "pack", "--append", more, in("labels/a.b2nd"), "--coord", "time="+back)
	_, low := days(t, dir, "low", 50, func(i int) float64 { return float64(-i) })
	run(t, "pack", "--append", more, in("labels/a.b2nd"), "--coord", "time="+low)
	next, on := days(t, dir, "next", 50, squares(n))
	run(t, "pack", "--append", next, in("order/a.b2nd"), "--coord", "time="+on)
	for _, c := range [][2]string{{"order", strconv.Itoa((n + 49) * (n + 49))}, {"labels", "-49"}} {
		if got := run(t, "slice", in(c[0]+"/a.b2nd"), "time="+c[1]+", 0"); strings.Count(got, "\n") != 1 {
			t.Errorf("%s: %q", c[0], got)
		}
	}
}

func ramp8(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i)
	}
	return p
}

// TestAppendZarr: Zarr goes behind an array as any other source, with the coordinate of its group.
func TestAppendZarr(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	days(t, dir, "all", 9, squares(0), "--level", "1")
	run(t, "slice", in("all.b2nd"), "0:5", "-o", in("v.b2nd"))
	run(t, "unpack", in("v.b2nd"), in("v.npy"))
	for i, part := range []string{"0:5", "5:9"} {
		at := fmt.Sprintf("%d/v.b2nd", i)
		if err := os.Mkdir(filepath.Dir(in(at)), 0o755); err != nil {
			t.Fatal(err)
		}
		run(t, "slice", in("all.b2nd"), part, "-o", in(at))
		run(t, "unpack", in(fmt.Sprintf("%d/", i)), in(fmt.Sprintf("%d.zarr", i)))
	}
	run(t, "pack", in("0.zarr"), in("x.b2nd"), "--member", "v")
	run(t, "pack", "--append", in("1.zarr"), in("x.b2nd"), "--member", "v")
	run(t, "verify", in("x.b2nd"))
	for _, what := range [][]string{{"slice", ":", "-o", "-", "--format", "raw"}, {"slice", "time=2025-02-06"}} {
		args := func(name string) []string { return append([]string{what[0], in(name)}, what[1:]...) }
		if a, b := run(t, args("all.b2nd")...), run(t, args("x.b2nd")...); a != b || a == "" {
			t.Errorf("%q: %q, want %q", what, b, a)
		}
	}
	refused(t, exitUsage, "name one with --member", "pack", "--append", in("1.zarr"), in("x.b2nd"))
	refused(t, exitUsage, "add --coord time=FILE, a .npy of 4 values", "pack", "--append", in("1.zarr/v"), in("x.b2nd"))
	if text := run(t, "info", in("x.b2nd")); !strings.Contains(text, "time 2025-01-01 … 2025-03-06, 9") {
		t.Error(text)
	}
}

// TestCoordBeside: a coordinate that is too long for the layer is an array beside, which all readers follow, and which grows
// before the arrays that name it.
func TestCoordBeside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	const n = 9000 // times 8 bytes: more than the layer takes
	uneven := func(from int) func(int) float64 {
		return func(i int) float64 { return float64(2*(from+i) + (from+i)%2*(from+i)%3) }
	}
	for _, name := range []string{"t", "u"} {
		npy, when := days(t, dir, name, n, uneven(0))
		run(t, "pack", npy, in("set/"+name+".b2nd"), "--dims", "time,x", "--coord", "time="+when, "--attrs", "time="+in(name+".json"))
	}
	more, when := days(t, dir, "more", 100, uneven(n))
	label := func(uri string, i int) string {
		return run(t, "slice", uri, fmt.Sprintf("time=%s, 0", dayText(uneven(0)(i))))
	}
	if got, want := label(in("set/t.b2nd"), n-1), fmt.Sprintf("%d\n", int(uneven(0)(n-1))*10); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if text := run(t, "info", in("set/t.b2nd")); !strings.Contains(text, "time of time.b2nd, 9,000") {
		t.Error(text)
	}
	refused(t, exitUsage, "is the array time.b2nd of 9,000 values", "pack", "--append", more, in("set/t.b2nd"))
	run(t, "pack", "--append", more, in("set/t.b2nd"), "--coord", "time="+when)
	if got, want := label(in("set/t.b2nd"), n+99), fmt.Sprintf("%d\n", int(uneven(0)(n+99))*10); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	// The other array has the coordinates of its items still, and those that are there when it grows.
	if got, want := label(in("set/u.b2nd"), n-1), fmt.Sprintf("%d\n", int(uneven(0)(n-1))*10); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	_, other := days(t, dir, "other", 100, uneven(n+1))
	refused(t, exitCorrupt, "it has other values", "pack", "--append", more, in("set/u.b2nd"), "--coord", "time="+other)
	run(t, "pack", "--append", more, in("set/u.b2nd"))
	run(t, "unpack", in("set/"), in("set.zarr"))
	run(t, "pack", in("set.zarr"), in("again/"), "--format", "b2nd")
	run(t, "pack", in("set.zarr"), in("one/u.b2nd"), "--member", "u")
	run(t, "pack", in("set/u.b2nd"), in("copy/u.b2nd"), "--for", "series")
	srv := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer srv.Close()
	for _, uri := range []string{in("set/u.b2nd"), in("again/u.b2nd"), in("one/u.b2nd"), in("copy/u.b2nd"), srv.URL + "/set/u.b2nd"} {
		if got, want := label(uri, n+99), fmt.Sprintf("%d\n", int(uneven(0)(n+99))*10); got != want {
			t.Errorf("%s: %q, want %q", uri, got, want)
		}
	}
	// What is there and is other is not replaced.
	npy, late := days(t, dir, "w", n, uneven(1))
	refused(t, exitChanged, "time.b2nd exists", "pack", npy, in("set/w.b2nd"), "--dims", "time,x", "--coord", "time="+late)
	if _, err := os.Stat(in("set/w.b2nd")); err == nil {
		t.Error("an array without its coordinate")
	}
	// A list that becomes too long for the layer becomes an array beside.
	days(t, dir, "l", 8000, uneven(0), "--level", "1")
	npy, late = days(t, dir, "m", 1000, uneven(8000))
	var rep appendReport
	if err := json.Unmarshal([]byte(run(t, "pack", "--append", npy, in("l.b2nd"), "--coord", "time="+late, "--json")), &rep); err != nil || rep.Added != 1000 {
		t.Errorf("%v %+v", err, rep)
	}
	if got, want := label(in("l.b2nd"), 8999), fmt.Sprintf("%d\n", int(uneven(0)(8999))*10); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
