package functions

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

func set(t *testing.T, b objstore.Bucket, key, content string, meta map[string]string) objstore.Info {
	t.Helper()
	info, err := objstore.Put(t.Context(), b, key, strings.NewReader(content), objstore.PutOptions{Meta: meta})
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// making is a Maker of a text that depends on the ETag. It records its runs.
func making(runs *[]Upload) Maker {
	return func(_ context.Context, u Upload, data io.Writer) (func(io.Writer) error, error) {
		*runs = append(*runs, u)
		_, err := io.WriteString(data, "data of "+u.ETag)
		return func(w io.Writer) error {
			_, err := io.WriteString(w, "index of "+u.ETag)
			return err
		}, err
	}
}

func version(etag, seq string) Upload {
	return Upload{Bucket: "uploads", Key: "k", ETag: etag, Sequencer: seq}
}

// pairIn is an output of two objects.
func pairIn(b objstore.Bucket) Pair { return Pair{Bucket: b, Data: "k.d", Meta: "k.m", Layout: "l"} }

// stand puts the halves of two versions into b; a version "" is left out.
func stand(t *testing.T, b objstore.Bucket, data, meta Upload) {
	t.Helper()
	var info objstore.Info
	if data.Key != "" {
		info = set(t, b, "k.d", "data of "+data.ETag, data.meta("l"))
	}
	if meta.Key != "" {
		md := meta.meta("l")
		md[MetaDataETag] = "of another"
		if data == meta {
			md[MetaDataETag] = info.ETag
		}
		set(t, b, "k.m", "index of "+meta.ETag, md)
	}
}

// TestWhatIsMade: which version of an upload a worker makes, given the standing
// halves.
func TestWhatIsMade(t *testing.T) {
	t.Parallel()
	none, v1, v2, v3 := Upload{}, version(`"1"`, "01"), version(`"2"`, "02"), version(`"3"`, "03")
	for name, c := range map[string]struct{ data, meta, u, want Upload }{
		"nothing there":                  {none, none, v2, v2},
		"older":                          {v1, v1, v2, v2},
		"the same":                       {v2, v2, v2, none},
		"newer":                          {v3, v3, v2, none},
		"data of a newer one":            {v3, none, v2, none},
		"data of a newer over an older":  {v3, v1, v2, none},
		"newer ones, the index behind":   {v3, v2, v1, none},
		"older data over a newer pair":   {v1, v3, v2, v3},
		"newer data over a newest pair":  {v2, v3, v1, v3},
		"data alone, of this one":        {v2, none, v2, v2},
		"an index alone, of this one":    {none, v2, v2, v2},
		"an index alone, of a newer one": {none, v3, v2, v3},
	} {
		b := memstore.New(memstore.Config{})
		stand(t, b, c.data, c.meta)
		var runs []Upload
		infos, err := pairIn(b).Publish(t.Context(), nil, c.u, making(&runs))
		if err != nil || (len(infos) == 2) != (c.want == c.u) {
			t.Errorf("%s: %v, %v", name, infos, err)
		}
		if c.want.Key == "" && len(runs) > 0 || c.want.Key != "" && !slices.Equal(runs, []Upload{c.want}) {
			t.Errorf("%s: made %+v", name, runs)
		}
	}
}

// TestNoSequencer: an upload by its name alone is made if it is the version that its
// key holds.
func TestNoSequencer(t *testing.T) {
	t.Parallel()
	denied := func(string, string) error { return objstore.ErrDenied }
	for name, publish := range publishers() {
		src := newHooked()
		now := set(t, src, "k", "x", nil)
		current, old := version(now.ETag, ""), version(`"old"`, "")
		for _, c := range []struct {
			what string
			u    Upload
			fail func(op, key string) error
			made bool
		}{{"replaced", old, nil, false}, {"no answer", current, denied, false}, {"current", current, nil, true}, {"again", current, nil, false}} {
			out := newHooked()
			if c.what == "again" {
				if made, err := publish(out, src, c.u); err != nil || !made {
					t.Errorf("%s, %s: %v, %v", name, c.what, made, err)
				}
			}
			src.fail = c.fail
			made, err := publish(out, src, c.u)
			if made != c.made || (c.fail != nil) != errors.Is(err, objstore.ErrDenied) || c.fail == nil && err != nil {
				t.Errorf("%s, %s: made %v, %v", name, c.what, made, err)
			}
		}
		// The standing output is of an upload without a sequencer: the source is asked
		// as well.
		out := newHooked()
		src.fail = nil
		if made, err := publish(out, src, current); err != nil || !made {
			t.Errorf("%s: %v, %v", name, made, err)
		}
		src.fail = denied
		if made, err := publish(out, src, version(`"2"`, "02")); made || !errors.Is(err, objstore.ErrDenied) {
			t.Errorf("%s: made %v, %v", name, made, err)
		}
	}
}

// publishers are the two kinds of output.
func publishers() map[string]func(out, src objstore.Bucket, u Upload) (bool, error) {
	return map[string]func(out, src objstore.Bucket, u Upload) (bool, error){
		"pair": func(out, src objstore.Bucket, u Upload) (bool, error) {
			var runs []Upload
			p := pairIn(out)
			_, err := p.Publish(context.Background(), src, u, making(&runs))
			return len(runs) > 0, err
		},
		"single": func(out, src objstore.Bucket, u Upload) (bool, error) {
			made := false
			_, err := Single{Bucket: out, Key: "k.s", Layout: "l"}.Publish(context.Background(), src, u, func(_ context.Context, u Upload, w objstore.Writer, seal []byte) error {
				made = true
				_, err := w.Write(append(seal, u.ETag...))
				return err
			})
			return made, err
		},
	}
}

// TestOutputFails: any failure of the output's bucket is an ErrOutput, ends the try
// and leaves nothing half-written. A condition that is lost again and again is
// ErrBusy.
func TestOutputFails(t *testing.T) {
	t.Parallel()
	for name, publish := range publishers() {
		for _, op := range []string{"head", "create", "write", "commit"} {
			out := newHooked()
			out.fail = func(o, _ string) error {
				if o == op {
					return objstore.ErrThrottled
				}
				return nil
			}
			_, err := publish(out, nil, version(`"1"`, "01"))
			if !errors.Is(err, objstore.ErrThrottled) || errors.Is(err, ErrOutput) != (op != "write") || errors.Is(err, ErrBusy) {
				t.Errorf("%s, %s: %v", name, op, err)
			}
			if n := slices.Index(out.ops, "abort "+lastKey(out.ops)); n < 0 && (op == "write" || op == "commit") {
				t.Errorf("%s, %s: not given up: %q", name, op, out.ops)
			}
		}
		synctest.Test(t, func(t *testing.T) {
			for _, refused := range []error{objstore.ErrExists, objstore.ErrChanged} {
				out := newHooked()
				out.fail = func(op, _ string) error {
					if op == "commit" {
						return refused
					}
					return nil
				}
				if _, err := publish(out, nil, version(`"1"`, "01")); !errors.Is(err, ErrBusy) {
					t.Errorf("%s: %v", name, err)
				}
				n := 0
				for _, op := range out.ops {
					if strings.HasPrefix(op, "commit") {
						n++
					}
				}
				if n != maxTries {
					t.Errorf("%s: %d tries", name, n)
				}
			}
		})
	}
}

// lastKey is the key that was worked on last.
func lastKey(ops []string) string {
	_, key, _ := strings.Cut(ops[len(ops)-1], " ")
	return key
}

// TestTakenKeys: objects that are made of another upload, or by somebody else, are not
// touched.
func TestTakenKeys(t *testing.T) {
	t.Parallel()
	u := version(`"1"`, "01")
	bucket, key, unmarked := u.meta("l"), u.meta("l"), u.meta("l")
	bucket[MetaSource], key[MetaKey] = "others", "k2"
	delete(unmarked, MetaMarker)
	for what, meta := range map[string]map[string]string{"nothing said": nil, "another bucket": bucket, "another key": key, "no marker": unmarked} {
		for name, publish := range publishers() {
			out := memstore.New(memstore.Config{})
			for _, k := range []string{"k.s", "k.m"} {
				set(t, out, k, "theirs", meta)
			}
			if made, err := publish(out, nil, u); made || !errors.Is(err, ErrTaken) || !errors.Is(err, formats.ErrUnsupported) {
				t.Errorf("%s, %s: made %v, %v", name, what, made, err)
			}
		}
	}
}

// TestReplace: with Replace such objects are replaced, once the new ones are complete.
func TestReplace(t *testing.T) {
	t.Parallel()
	u := version(`"1"`, "01")
	for _, fails := range []bool{true, false} {
		out := memstore.New(memstore.Config{})
		for _, k := range []string{"k.s", "k.d", "k.m"} {
			set(t, out, k, "theirs", nil)
		}
		broken := errors.New("broken")
		fill := func(w io.Writer) error {
			if _, err := io.WriteString(w, "ours"); err != nil || !fails {
				return err
			}
			return broken
		}
		p := pairIn(out)
		p.Replace = true
		_, err := p.Publish(t.Context(), nil, u, func(_ context.Context, _ Upload, data io.Writer) (func(io.Writer) error, error) {
			return fill, fill(data)
		})
		_, err2 := Single{Bucket: out, Key: "k.s", Replace: true}.Publish(t.Context(), nil, u, func(_ context.Context, _ Upload, w objstore.Writer, _ []byte) error { return fill(w) })
		want, cause := "ours", error(nil)
		if fails {
			want, cause = "theirs", broken
		}
		if !errors.Is(err, cause) || !errors.Is(err2, cause) {
			t.Errorf("failing %t: %v, %v", fails, err, err2)
		}
		for _, k := range []string{"k.s", "k.d", "k.m"} {
			o, err := objstore.Open(t.Context(), out, k, objstore.OpenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			text := make([]byte, o.Size())
			if _, err := o.ReadAt(text, 0); err != nil && !errors.Is(err, io.EOF) || !strings.HasPrefix(string(text), want) {
				t.Errorf("failing %t: %s holds %q, %v", fails, k, text, err)
			}
		}
	}
}

// TestEndedContext: a worker whose context has ended makes no request.
func TestEndedContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out := newHooked()
	_, err := pairIn(out).Publish(ctx, nil, version(`"1"`, "01"), nil)
	_, err2 := Single{Bucket: out, Key: "k.s"}.Publish(ctx, nil, version(`"1"`, "01"), nil)
	if !errors.Is(err, context.Canceled) || !errors.Is(err2, context.Canceled) || len(out.ops) > 0 {
		t.Errorf("%v, %v, %q", err, err2, out.ops)
	}
	// Between tries as well.
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		out := newHooked()
		cause := errors.New("it has to end")
		out.fail = func(op, _ string) error {
			if op == "commit" {
				cancel(cause)
				return objstore.ErrChanged
			}
			return nil
		}
		var runs []Upload
		if _, err := pairIn(out).Publish(ctx, nil, version(`"1"`, "01"), making(&runs)); !errors.Is(err, cause) || len(runs) != 1 {
			t.Errorf("%v after %d runs", err, len(runs))
		}
	})
}

// TestMendGone: the version from which to mend a pair is gone. A newer event follows,
// so there is nothing to do. All other failures are returned, and so is "gone" of the
// worker's own version.
func TestMendGone(t *testing.T) {
	t.Parallel()
	gone := &objstore.Error{Op: "get", Key: "k", Code: "NoSuchKey", Err: objstore.ErrNotFound}
	for name, c := range map[string]struct {
		u    Upload
		err  error
		told bool
	}{
		"gone":             {version(`"2"`, "02"), gone, false},
		"throttled":        {version(`"2"`, "02"), objstore.ErrThrottled, true},
		"the output, gone": {version(`"2"`, "02"), output(gone), true},
		"its own":          {version(`"4"`, "04"), gone, true},
	} {
		b := memstore.New(memstore.Config{})
		stand(t, b, version(`"1"`, "01"), version(`"3"`, "03"))
		infos, err := pairIn(b).Publish(t.Context(), nil, c.u, func(context.Context, Upload, io.Writer) (func(io.Writer) error, error) { return nil, c.err })
		if infos != nil || c.told != errors.Is(err, c.err) || !c.told && err != nil {
			t.Errorf("%s: %v, %v", name, infos, err)
		}
	}
}

// TestDataOfAnotherSize: data under this version's name that have another size than it
// writes are written again. So are data of the same bytes under an index that does not
// name them.
func TestDataOfAnotherSize(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := version(`"1"`, "01")
		b := memstore.New(memstore.Config{})
		set(t, b, "k.d", "something shorter", u.meta("l"))
		var runs []Upload
		if infos, err := pairIn(b).Publish(t.Context(), nil, u, making(&runs)); err != nil || len(infos) != 2 {
			t.Fatalf("%v, %v", infos, err)
		}
		if info, err := b.Head(t.Context(), "k.d"); err != nil || info.Size != int64(len("data of "+u.ETag)) {
			t.Errorf("%+v, %v", info, err)
		}
		// Its data alone, made of an earlier event of the same bytes.
		before, err := b.Head(t.Context(), "k.d")
		if err == nil {
			err = b.Delete(t.Context(), "k.m")
		}
		if err != nil {
			t.Fatal(err)
		}
		u.Sequencer = "03"
		if _, err := pairIn(b).Publish(t.Context(), nil, u, making(&runs)); err != nil {
			t.Fatal(err)
		}
		if now, err := b.Head(t.Context(), "k.d"); err != nil || now.ETag == before.ETag {
			t.Errorf("kept: %+v, %v", now, err)
		}
	})
}

// TestDataReplacedMeanwhile: the last look finds other data under the index that was
// just written, or none. The pair is made again.
func TestDataReplacedMeanwhile(t *testing.T) {
	t.Parallel()
	for _, deleted := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			out := newHooked()
			u, wrote := version(`"2"`, "02"), 0
			out.fail = func(op, key string) error {
				if op == "commit" && key == "k.m" {
					wrote++
				}
				if op == "head" && key == "k.d" && wrote == 1 {
					wrote++
					if deleted {
						return out.Delete(t.Context(), key)
					}
					set(t, out.Bucket, key, "late data", version(`"1"`, "01").meta("l"))
				}
				return nil
			}
			var runs []Upload
			infos, err := pairIn(out).Publish(t.Context(), nil, u, making(&runs))
			if err != nil || len(infos) != 2 || len(runs) != 2 {
				t.Fatalf("%v, %v, %d runs", infos, err, len(runs))
			}
			data, err := out.Bucket.Head(t.Context(), "k.d")
			meta, err2 := out.Bucket.Head(t.Context(), "k.m")
			if err != nil || err2 != nil || meta.Meta[MetaDataETag] != data.ETag {
				t.Errorf("%v, %v, %+v, %+v", err, err2, data, meta)
			}
		})
	}
	// The look itself fails: that is returned, though the next one would not fail.
	out, wrote, asked := newHooked(), false, false
	out.fail = func(op, key string) error {
		wrote = wrote || op == "commit" && key == "k.m"
		if wrote && !asked && op == "head" {
			asked = true
			return objstore.ErrDenied
		}
		return nil
	}
	var runs []Upload
	if _, err := pairIn(out).Publish(t.Context(), nil, version(`"1"`, "01"), making(&runs)); !errors.Is(err, ErrOutput) || !errors.Is(err, objstore.ErrDenied) {
		t.Errorf("the last look fails: %v", err)
	}
}

// TestIndexFails: an index that cannot be written is not published.
func TestIndexFails(t *testing.T) {
	t.Parallel()
	b := memstore.New(memstore.Config{})
	bad := errors.New("no index")
	_, err := pairIn(b).Publish(t.Context(), nil, version(`"1"`, "01"), func(context.Context, Upload, io.Writer) (func(io.Writer) error, error) {
		return func(io.Writer) error { return bad }, nil
	})
	if _, head := b.Head(t.Context(), "k.m"); !errors.Is(err, bad) || !errors.Is(head, objstore.ErrNotFound) {
		t.Errorf("%v, %v", err, head)
	}
	// The seal is the last write.
	out, n := newHooked(), 0
	out.fail = func(op, key string) error {
		if op == "write" && key == "k.m" {
			if n++; n == 2 {
				return objstore.ErrThrottled
			}
		}
		return nil
	}
	var runs []Upload
	if _, err := pairIn(out).Publish(t.Context(), nil, version(`"1"`, "01"), making(&runs)); !errors.Is(err, objstore.ErrThrottled) {
		t.Errorf("the seal is not written: %v", err)
	}
	// A Maker that fails, over data that stand.
	stand(t, b, version(`"1"`, "01"), Upload{})
	tries := 0
	_, err = pairIn(b).Publish(t.Context(), nil, version(`"1"`, "01"), func(context.Context, Upload, io.Writer) (func(io.Writer) error, error) {
		tries++
		return nil, bad
	})
	if !errors.Is(err, bad) || tries != 1 {
		t.Errorf("%v after %d tries", err, tries)
	}
}

// TestIndexNamesItsData: by ETag, and if the bucket keeps versions also by version.
func TestIndexNamesItsData(t *testing.T) {
	t.Parallel()
	for _, versioned := range []bool{false, true} {
		b := memstore.New(memstore.Config{Versioned: versioned})
		var runs []Upload
		if _, err := pairIn(b).Publish(t.Context(), nil, version(`"1"`, "01"), making(&runs)); err != nil {
			t.Fatal(err)
		}
		data, err := b.Head(t.Context(), "k.d")
		meta, err2 := b.Head(t.Context(), "k.m")
		if v, there := meta.Meta[MetaDataVersion]; err != nil || err2 != nil || meta.Meta[MetaDataETag] != data.ETag || there != versioned || v != data.VersionID {
			t.Errorf("%+v, %+v, %v, %v", meta, data, err, err2)
		}
		if meta.ContentType != "application/json" || data.ContentType != "application/octet-stream" {
			t.Errorf("types %q, %q", meta.ContentType, data.ContentType)
		}
	}
}

// TestSeal: all 256 bits would make the tail too long. It has 64 of them, each a blank
// or a tab, between two line ends.
func TestSeal(t *testing.T) {
	t.Parallel()
	u := version(`"1"`, "01")
	s, sum := seal(u), sealOf(u)
	if len(s) != 66 || s[0] != '\n' || s[65] != '\n' || strings.Trim(s[1:65], " \t") != "" {
		t.Fatalf("%q", s)
	}
	for i := range 64 {
		if (s[1+i] == '\t') != (sum[i/8]>>(i%8)&1 == 1) {
			t.Errorf("bit %d of %x", i, sum[:8])
		}
	}
}

// TestLost: the refusals that mean that another worker was quicker.
func TestLost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err     error
		matched bool
		lost    bool
	}{
		{objstore.ErrExists, false, true}, {objstore.ErrChanged, true, true}, {objstore.ErrNotFound, true, true}, {objstore.ErrNotFound, false, false}, {objstore.ErrDenied, true, false},
	} {
		if got := lost(c.err, c.matched); errors.Is(got, errLost) != c.lost || errors.Is(got, ErrOutput) == c.lost || !errors.Is(got, c.err) {
			t.Errorf("%v, %v: %v", c.err, c.matched, got)
		}
	}
}

// TestHalves: a missing object makes no pair whole, whatever ETags say.
func TestHalves(t *testing.T) {
	t.Parallel()
	named := half{there: true, info: objstore.Info{Meta: map[string]string{MetaDataETag: `"d"`}}}
	data := half{there: true, info: objstore.Info{ETag: `"d"`}}
	for _, c := range []struct {
		s    standing
		want bool
	}{
		{standing{data, named}, true}, {standing{half{}, half{there: true}}, false}, {standing{half{there: true}, half{}}, false}, {standing{half{there: true, info: objstore.Info{ETag: `"e"`}}, named}, false},
	} {
		if got := c.s.whole(); got != c.want {
			t.Errorf("%+v: %v", c.s, got)
		}
	}
	if strong("") || strong(`W/"x"`) || !strong(`"x"`) {
		t.Error("strong ETags")
	}
}

// TestSingleSays: type and layout of an output, and that another layout is written.
func TestSingleSays(t *testing.T) {
	t.Parallel()
	b := memstore.New(memstore.Config{})
	fill := func(_ context.Context, _ Upload, w objstore.Writer, seal []byte) error {
		_, err := w.Write(seal)
		return err
	}
	for i, c := range []struct {
		layout, typ, seq string
		made             bool
		want             string
	}{{"l", "", "02", true, "application/octet-stream"}, {"l", "", "02", false, "application/octet-stream"}, {"l2", "text/plain", "02", true, "text/plain"}, {"l3", "", "01", false, "text/plain"}, {"l2", "", "03", true, "application/octet-stream"}} {
		infos, err := Single{Bucket: b, Key: "k.s", Layout: c.layout, ContentType: c.typ}.Publish(t.Context(), nil, version(`"`+c.seq+`"`, c.seq), fill)
		if err != nil || (len(infos) == 1) != c.made {
			t.Errorf("%d: %v, %v", i, infos, err)
		}
		if info, err := b.Head(t.Context(), "k.s"); err != nil || info.ContentType != c.want {
			t.Errorf("%d: %+v, %v", i, info, err)
		}
	}
}
