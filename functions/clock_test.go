package functions

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

// TestClock: without two different sequencers the source is asked, once, which version
// is the newer one.
func TestClock(t *testing.T) {
	t.Parallel()
	src := newHooked()
	now := set(t, src, "k", "x", nil)
	current, other := version(now.ETag, ""), version(`"other"`, "")
	seq := func(u Upload, s string) Upload { u.Sequencer = s; return u }
	for name, c := range map[string]struct {
		a, b Upload
		want age
		asks int
	}{
		"sequencers":               {seq(other, "02"), seq(current, "01"), newer, 0},
		"one sequencer":            {seq(other, "02"), seq(current, "02"), older, 1},
		"one of one version":       {seq(current, "02"), seq(current, "02"), same, 0},
		"the current has none":     {current, seq(other, "05"), newer, 1},
		"the other has none":       {seq(other, "05"), current, older, 1},
		"the current's is smaller": {seq(current, "01"), other, newer, 1},
		"the same without":         {other, other, same, 0},
		"neither is current":       {version(`"a"`, ""), version(`"b"`, ""), older, 1},
	} {
		src.ops = nil
		clk := &clock{src: src}
		for range 2 {
			if got, err := clk.age(t.Context(), c.a, c.b); err != nil || got != c.want {
				t.Errorf("%s: %d, %v", name, got, err)
			}
		}
		if len(src.ops) != c.asks {
			t.Errorf("%s: %q", name, src.ops)
		}
	}
}

// TestIsCurrent: the meaning of the source's answers.
func TestIsCurrent(t *testing.T) {
	t.Parallel()
	src := newHooked()
	src.Bucket = memstore.New(memstore.Config{Versioned: true})
	now := set(t, src, "k", "x", nil)
	u := version(now.ETag, "")
	v := func(id string) Upload { w := u; w.VersionID = id; return w }
	for name, c := range map[string]struct {
		u    Upload
		err  error // of the source
		want bool
		bad  bool
	}{
		"it is":             {u, nil, true, false},
		"by its version":    {v(now.VersionID), nil, true, false},
		"another version":   {v("v0"), nil, false, false},
		"another content":   {version(`"y"`, ""), nil, false, false},
		"gone":              {u, &objstore.Error{Op: "head", Key: "k", Code: "NotFound", Err: objstore.ErrNotFound}, false, false},
		"gone, and no ETag": {version("", ""), &objstore.Error{Op: "head", Key: "k", Err: objstore.ErrNotFound}, false, false},
		"the bucket":        {u, &objstore.Error{Op: "head", Key: "k", Code: "NoSuchBucket", Err: objstore.ErrNotFound}, false, true},
		"denied":            {u, objstore.ErrDenied, false, true},
		"changed":           {u, &objstore.Error{Op: "head", Key: "k", Err: objstore.ErrChanged}, false, true},
	} {
		src.fail = func(string, string) error { return c.err }
		got, err := (&clock{src: src}).isCurrent(t.Context(), c.u)
		if got != c.want || (err != nil) != c.bad || c.bad && !errors.Is(err, c.err) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		a, err := (&clock{src: src}).age(t.Context(), c.u, version(`"z"`, ""))
		if (err != nil) != c.bad || err == nil && (a == newer) != c.want {
			t.Errorf("%s: age %d, %v", name, a, err)
		}
	}
}

// TestNoAnswerAboutAge: if sequencers cannot say which of two versions is newer and
// the source does not answer either, nothing is made.
func TestNoAnswerAboutAge(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ data, meta, u Upload }{
		"of the index":   {version(`"1"`, "01"), version(`"0"`, ""), version(`"2"`, "02")},
		"of the data":    {version(`"0"`, ""), version(`"1"`, "01"), version(`"2"`, "02")},
		"of both halves": {version(`"3"`, "03"), version(`"3b"`, "03"), version(`"2"`, "02")},
	} {
		src, b := newHooked(), memstore.New(memstore.Config{})
		src.fail = func(string, string) error { return objstore.ErrDenied }
		stand(t, b, c.data, c.meta)
		var runs []Upload
		if _, err := pairIn(b).Publish(t.Context(), src, c.u, making(&runs)); !errors.Is(err, objstore.ErrDenied) || len(runs) > 0 {
			t.Errorf("%s: %v, made %+v", name, err, runs)
		}
	}
}

// TestFirstTryAtOnce: only tries after a loss wait, each longer than the one before.
func TestFirstTryAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for n := range maxTries {
			least, most := backoff<<n/2, backoff<<n/2+backoff<<n
			if n == 0 {
				least, most = 0, 0
			}
			waits := map[time.Duration]bool{}
			for range 20 {
				begun := time.Now()
				if err := pause(t.Context(), n); err != nil || time.Since(begun) < least || time.Since(begun) > most {
					t.Errorf("before try %d: %v, %v", n, time.Since(begun), err)
				}
				waits[time.Since(begun)] = true
			}
			if n > 0 && len(waits) == 1 {
				t.Errorf("before try %d always %v: those that lost together meet again", n, waits)
			}
		}
	})
}

// TestKeysOnTheEdge: names that collide, and names of the length at which they are
// cut.
func TestKeysOnTheEdge(t *testing.T) {
	t.Parallel()
	const digits = "-0123456789abcdef"
	if dir, manifest, ok := Closing("d/a.tar"); dir != "" || manifest || ok {
		t.Error(dir, manifest, ok)
	}
	for _, name := range []string{"d/frames", "d/manifest", "manifest", "x" + digits} {
		if got := OutputKey("", name, ".gulp"); !regexp.MustCompile("^" + name + `-[0-9a-f]{16}\.gulp$`).MatchString(got) {
			t.Errorf("%s: %s", name, got)
		}
	}
	// A name that just fits with its hash.
	room := maxKey - len(digits) - len(".gmeta")
	fits := strings.Repeat("k", room-len(digits)) + digits
	if got := OutputKey("", fits, ".gulp"); !strings.HasPrefix(got, fits+"-") || len(got) != maxKey-1 {
		t.Errorf("%d bytes: %q", len(got), got[room-20:])
	}
	if got := OutputKey("", "k"+fits, ".gulp"); strings.HasPrefix(got, "k"+fits) || len(got) != maxKey-1 {
		t.Errorf("%d bytes: %q", len(got), got[room-20:])
	}
	fits = strings.Repeat("e", maxKey-len("errors/.json"))
	if got := ErrorKey(fits); got != "errors/"+fits+".json" {
		t.Errorf("%d bytes, …%q", len(got), got[len(got)-30:])
	}
	for _, k := range []string{fits + "e", "x" + digits, strings.Repeat("e", 1024)} {
		if got := ErrorKey(k); len(got) > maxKey || !hashed.MatchString(strings.TrimSuffix(got, ".json")) || got == "errors/"+k+".json" {
			t.Errorf("%d bytes, …%q", len(got), got[len(got)-30:])
		}
	}
}

// TestMetaSays: the names of metadata for which other programs look.
func TestMetaSays(t *testing.T) {
	t.Parallel()
	u := Upload{Bucket: "uploads", Key: "d/a b.tar"}
	m := u.meta("l")
	want := map[string]string{MetaMarker: "1", MetaSource: "uploads", MetaKey: "d%2Fa%20b.tar", MetaLayout: "l"}
	if len(m) != len(want) {
		t.Errorf("%q", m)
	}
	for k, v := range want {
		if m[k] != v {
			t.Errorf("%s: %q", k, m[k])
		}
	}
	for n, encoded := range map[int]bool{maxMetaKey / 3: true, maxMetaKey/3 + 1: false} {
		m := Upload{Bucket: "uploads", Key: strings.Repeat(" ", n)}.meta("l")
		if _, there := m[MetaKey]; there != encoded {
			t.Errorf("%d bytes: %q", 3*n, m)
		}
	}
	delete(m, MetaMarker)
	bad := Upload{Bucket: "b", Key: strings.Repeat(" ", 1024)}.meta("l")
	bad[MetaKey64] += "!"
	escape := map[string]string{MetaMarker: "1", MetaSource: "uploads", MetaKey: "%zz"}
	for name, m := range map[string]map[string]string{"nothing": nil, "no marker": m, "base64": bad, "escape": escape} {
		if got, ok := SourceOf(m); ok || got != (Upload{}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestReportSays: kind and place of a failure.
func TestReportSays(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]string{
		formats.ErrTooLarge: "too large", formats.ErrCorrupt: "corrupt", formats.ErrNoEntry: "no entry", formats.ErrUnsupported: "unsupported", ErrTooLong: "too large",
	} {
		if got := kindOf(err); got != want {
			t.Errorf("%v: %s", err, got)
		}
	}
}

// TestRulesMore: cases that TestRulesValidate leaves out.
func TestRulesMore(t *testing.T) {
	t.Parallel()
	good := Rule{Bucket: "ups", Job: "pack", Out: Out{Bucket: "sets"}}
	with := func(f func(*Rule)) Rules { r := good; f(&r); return Rules{r} }
	for name, c := range map[string]struct {
		rs   Rules
		want string // "": nothing is wrong
		n    int    // how often
	}{
		"good":               {Rules{good}, "", 0},
		"output's bucket":    {with(func(r *Rule) { r.Out.Bucket = "no" }), `out.bucket "no"`, 1},
		"format":             {with(func(r *Rule) { r.Format = "hdf5" }), `format "hdf5"`, 1},
		"shape":              {with(func(r *Rule) { r.Shape = "fax" }), `shape "fax"`, 1},
		"prefix":             {with(func(r *Rule) { r.Prefix = "\xff" }), "prefixes are UTF-8", 1},
		"suffix":             {with(func(r *Rule) { r.Suffix = "\xff" }), "prefixes are UTF-8", 1},
		"output's prefix":    {with(func(r *Rule) { r.Out.Prefix = "\xff" }), "prefixes are UTF-8", 1},
		"long prefix":        {with(func(r *Rule) { r.Out.Prefix = strings.Repeat("p", maxOutPrefix+1) }), "prefixes are UTF-8", 1},
		"longest prefix":     {with(func(r *Rule) { r.Out.Prefix = strings.Repeat("p", maxOutPrefix) }), "", 0},
		"beside the uploads": {Rules{{Bucket: "ups", Prefix: "in/", Job: "pack", Out: Out{Bucket: "ups", Prefix: "out/"}}}, "", 0},
		"two watch it":       {Rules{{Bucket: "ups", Prefix: "a/", Job: "pack", Out: Out{Bucket: "ups", Prefix: "a/"}}, {Bucket: "ups", Prefix: "a/b/", Job: "pack", Out: Out{Bucket: "sets"}}}, "a loop", 1},
		"two buckets":        {Rules{good, {Bucket: "other", Job: "pack", Out: Out{Bucket: "more"}}}, "", 0},
	} {
		err := c.rs.Validate()
		if (c.want == "") != (err == nil) || err != nil && strings.Count(err.Error(), c.want) != c.n {
			t.Errorf("%s: %v", name, err)
		}
	}
	rs := Rules{{Bucket: "ups", Prefix: "a/", Suffix: ".tar", Job: "pack"}, {Bucket: "ups", Job: "zoom"}, {Bucket: "ups", Job: "pack"}}
	for key, want := range map[string]string{"ups a/x.tar": "pack", "ups a/x.wav": "zoom", "ups x.tar": "zoom", "other a/x.tar": ""} {
		bucket, key, _ := strings.Cut(key, " ")
		if r, ok := rs.Match(bucket, key); r.Job != want || ok != (want != "") {
			t.Errorf("%s/%s: %+v, %v", bucket, key, r, ok)
		}
	}
	if got := rs.jobs(); strings.Join(got, " ") != "pack zoom" {
		t.Errorf("%q", got)
	}
}
