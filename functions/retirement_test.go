package functions

import (
	"context"
	"strings"
	"testing"

	"github.com/farread/farread/objstore"
)

// ownKey is the output of these tests' worker, beside a pair, a single and a row.
const ownKey = "k.own"

func pairOut() Output          { return Output{Keys: []string{"k.m", "k.d"}} }
func oneOut(key string) Output { return Output{Keys: []string{key}} }
func rowOut() Output           { return Output{Below: "k/", Suffix: ".x"} }

func retirement(out objstore.Bucket, others ...Output) Retirement {
	return Retirement{Bucket: out, Own: oneOut(ownKey), Others: others}
}

// objects are keys and the uploads that they are made of; an empty upload marks an
// object of somebody else.
type objects map[string]Upload

func (o objects) put(t *testing.T, b objstore.Bucket) {
	t.Helper()
	for key, of := range o {
		var meta map[string]string
		if of.Key != "" {
			meta = of.meta("l")
		}
		set(t, b, key, key+" of "+of.ETag+of.Sequencer, meta)
	}
}

// keysOf are all keys, in one line.
func keysOf(t *testing.T, b objstore.Bucket) string {
	t.Helper()
	var keys []string
	for info, err := range b.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, info.Key)
	}
	return strings.Join(keys, " ")
}

// says is a Same that always says n.
func says(n int) func(context.Context) (int, error) {
	return func(context.Context) (int, error) { return n, nil }
}

// TestWhatGoes: which outputs of an upload are deleted, by the versions of their
// objects. Sequencers decide: the source is not asked.
func TestWhatGoes(t *testing.T) {
	t.Parallel()
	v1, v2, v3 := version(`"1"`, "01"), version(`"2"`, "02"), version(`"3"`, "03")
	bytes1, bytes3 := version(`"2"`, "01"), version(`"2"`, "03") // the bytes of v2, uploaded before and after
	for name, c := range map[string]struct {
		there objects
		same  int // answer of Same about k.s
		want  string
	}{
		"an older pair":                    {objects{"k.m": v1, "k.d": v1}, 0, "k.own"},
		"a newer pair":                     {objects{"k.m": v3, "k.d": v3}, 0, "k.d k.m"},
		"a pair of this one":               {objects{"k.m": v2, "k.d": v2}, 0, "k.d k.m k.own"},
		"older data alone":                 {objects{"k.d": v1}, 0, "k.own"},
		"an older index over newer data":   {objects{"k.m": v1, "k.d": v3}, 0, "k.d k.m k.own"},
		"an older index, data of this one": {objects{"k.m": v1, "k.d": v2}, 0, "k.d k.m k.own"},
		"an index of this one, older data": {objects{"k.m": v2, "k.d": v1}, 0, "k.d k.m k.own"},
		"a newer index, older data":        {objects{"k.m": v3, "k.d": v1}, 0, "k.d k.m"},
		"members, one older":               {objects{"k/a.x": v1, "k/b.x": v2, "k/c.x": v2}, 0, "k.own k/b.x k/c.x"},
		"members, one newer":               {objects{"k/a.x": v1, "k/b.x": v3}, 0, "k/a.x k/b.x"},
		"something else below":             {objects{"k/a.x": v1, "k/a.y": v1, "k/deep/a.x": {}}, 0, "k.own k/a.y k/deep/a.x"},
		"somebody else's":                  {objects{"k.s": {}, "k.m": {}, "k.d": v1}, 0, "k.m k.own k.s"},
		"older, of the same bytes":         {objects{"k.s": bytes1}, 9, "k.own"},
		"newer, of the same bytes":         {objects{"k.s": bytes3}, -9, "k.s"},
		"the same, and it goes":            {objects{"k.s": v2}, -9, "k.own"},
		"the same, and this one goes":      {objects{"k.s": v2}, 9, "k.s"},
		"the same, and both stay":          {objects{"k.s": v2}, 0, "k.own k.s"},
	} {
		out := newHooked()
		objects{ownKey: v2}.put(t, out)
		c.there.put(t, out)
		single := oneOut("k.s")
		single.Same = says(c.same)
		r := retirement(out, pairOut(), single, rowOut())
		r.Own.Same = says(-c.same)
		err := r.After(t.Context(), nil, v2)
		if got := keysOf(t, out); err != nil || got != c.want {
			t.Errorf("%s: %s, want %s; %v", name, got, c.want, err)
		}
	}
}

// TestWhatIsSure: without sequencers that differ, an output is deleted only if its
// version or the worker's is the one that the source holds. Only then is the source
// asked.
func TestWhatIsSure(t *testing.T) {
	t.Parallel()
	src := newHooked()
	now := set(t, src, "k", "x", nil)
	current := func(seq string) Upload { return version(now.ETag, seq) }
	other := func(seq string) Upload { return version(`"other"`, seq) }
	for name, c := range map[string]struct {
		of, u Upload
		want  string
	}{
		// k.t is of a version older than any with a sequencer, or it is current.
		"one event":                  {current("02"), current("02"), "k.own k.s"},
		"one version, it has none":   {current(""), current("02"), "k.own k.s"},
		"one version, this has none": {current("02"), current(""), "k.own k.s"},
		"one version, neither has":   {current(""), current(""), "k.own k.s"},
		"the same bytes before":      {current("01"), current("02"), "k.own"},
		"the same bytes after":       {current("03"), current("02"), "k.s k.t"},
		"this one is current":        {other(""), current("02"), "k.own"},
		"this one has none":          {other("05"), current(""), "k.own"},
		"one sequencer":              {other("02"), current("02"), "k.own"},
		"it is current":              {current(""), other("05"), "k.s k.t"},
		"it is current, same":        {current("05"), other("05"), "k.s k.t"},
		"neither is":                 {version(`"a"`, ""), other(""), "k.own k.s k.t"},
	} {
		out := newHooked()
		objects{ownKey: c.u, "k.s": c.of, "k.t": version(`"0"`, "00")}.put(t, out)
		single := oneOut("k.s")
		if c.of.ETag != c.u.ETag {
			single.Same = says(-1) // nobody asks
		}
		err := retirement(out, single, oneOut("k.t")).After(t.Context(), src, c.u)
		if got := keysOf(t, out); err != nil || got != c.want {
			t.Errorf("%s: %s, want %s; %v", name, got, c.want, err)
		}
	}
}

// TestWhatReplacedLeaves: a worker whose version is gone deletes outputs older than
// the newest one, its own or another's, and nothing if there is no newer one.
func TestWhatReplacedLeaves(t *testing.T) {
	t.Parallel()
	v1, v2, v3 := version(`"1"`, "01"), version(`"2"`, "02"), version(`"3"`, "03")
	for name, c := range map[string]struct {
		there objects
		want  string
	}{
		"nothing newer":             {objects{"k.m": v1, "k.d": v1, "k.s": v2}, "k.d k.m k.s"},
		"its own and an older one":  {objects{"k.m": v2, "k.d": v2, "k.s": v3, "k/a.x": v1}, "k.s"},
		"a newer index, older data": {objects{"k.m": v3, "k.d": v1, "k.s": v2}, "k.d k.m"},
		"data are left":             {objects{"k.d": v2, "k.s": v3}, "k.s"},
		"somebody else's":           {objects{"k.m": {}, "k.d": v2, "k.s": v3}, "k.m k.s"},
		"newer members":             {objects{"k.s": v2, "k/a.x": v3, "k/b.x": v2, "k/c.x": {}}, "k/a.x k/c.x"},
	} {
		out := newHooked()
		c.there.put(t, out)
		err := retirement(out, pairOut(), oneOut("k.s"), rowOut()).Replaced(t.Context(), nil, v2)
		if got := keysOf(t, out); err != nil || got != c.want {
			t.Errorf("%s: %s, want %s; %v", name, got, c.want, err)
		}
	}
}

// TestRetirementAsks: looking costs one request for an output that is not there, and
// one for each object of another. The upload's own members are left out as long as it
// is the current version; later they may belong to another version.
func TestRetirementAsks(t *testing.T) {
	t.Parallel()
	src := newHooked()
	now := set(t, src, "k", "x", nil)
	v1, v2 := version(`"1"`, "01"), version(now.ETag, "02")
	row := rowOut()
	row.Keep = map[string]bool{"k/a.x": true}
	for name, c := range map[string]struct {
		other Output
		there objects
		u     Upload
		asks  int // of the source
		want  string
	}{
		"no pair":             {pairOut(), nil, v2, 0, "head k.d"},
		"no single":           {oneOut("k.s"), nil, v2, 0, "head k.s"},
		"no row":              {rowOut(), nil, v2, 0, "list k/"},
		"a pair of this one":  {pairOut(), objects{"k.m": v2, "k.d": v2}, v2, 0, "head k.d, head k.m"},
		"an older pair":       {pairOut(), objects{"k.m": v1, "k.d": v1}, v2, 0, "head k.d, head k.m, head k.m, delete k.m, head k.d, delete k.d"},
		"its own members":     {row, objects{"k/a.x": v2}, v2, 1, "list k/"},
		"and an older one":    {row, objects{"k/a.x": v2, "k/b.x": v1}, v2, 1, "list k/, head k/b.x, list k/, head k/b.x, head k/b.x, delete k/b.x"},
		"members of it, late": {row, objects{"k/a.x": v1}, v1, 1, "list k/, head k/a.x"},
	} {
		src.ops = nil
		out := newHooked()
		c.there.put(t, out.Bucket)
		err := retirement(out, c.other).After(t.Context(), src, c.u)
		if got := strings.Join(out.ops, ", "); err != nil || got != c.want || len(src.ops) != c.asks {
			t.Errorf("%s: %s, want %s; asked %q; %v", name, got, c.want, src.ops, err)
		}
	}
}
