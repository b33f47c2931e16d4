//go:build peers

package peers

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

// TestJoined: a dataset of a rule with append, whose uploads came shuffled and twice, is what
// NumPy puts together. python-blosc2 reads its record, appends rows of its own, and later
// uploads go on behind and between.
func TestJoined(t *testing.T) {
	dir := t.TempDir()
	var days []string
	run(t.Context(), t, &days, "joined.py", "make", dir)
	in, out := memstore.New(memstore.Config{Name: "uploads"}), memstore.New(memstore.Config{Name: "datasets"})
	h := &functions.Handler{Jobs: map[string]functions.JobMaker{"pack": pack.New(pack.Options{})},
		Rules: functions.Rules{{Bucket: "uploads", Job: "pack", Format: "b2nd", Append: true, To: "days.b2nd", Out: functions.Out{Bucket: "datasets"}}},
		Buckets: func(name string) (objstore.Bucket, error) {
			return map[string]objstore.Bucket{"uploads": in, "datasets": out}[name], nil
		}}
	send := func(n int) {
		t.Helper()
		p, err := os.ReadFile(filepath.Join(dir, days[n]))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := objstore.Put(t.Context(), in, days[n], bytes.NewReader(p), objstore.PutOptions{}); err != nil {
			t.Fatal(err)
		}
		for again := range 2 {
			r, err := h.Handle(t.Context(), fmt.Appendf(nil, `{"bucket":"uploads","key":%q}`, days[n]))
			if err != nil || r.Packed != 1-again || r.Unchanged != again {
				t.Fatalf("%s: %+v, %v", days[n], r, err)
			}
		}
	}
	file := filepath.Join(dir, "days.b2nd")
	check := func(what string, numbers ...string) {
		t.Helper()
		o, err := objstore.Open(t.Context(), out, "days.b2nd", objstore.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		p := make([]byte, o.Size())
		if _, err := o.ReadAt(p, 0); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, p, 0o600); err != nil {
			t.Fatal(err)
		}
		command(t, program(t), "verify", file)
		var problem string
		run(t.Context(), t, &problem, append([]string{"joined.py", what, dir}, numbers...)...)
		if problem != "" {
			t.Errorf("%s: %s", what, problem)
		}
		p, err = os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := objstore.Put(t.Context(), out, "days.b2nd", bytes.NewReader(p), objstore.PutOptions{Meta: o.Info().Meta}); err != nil {
			t.Fatal(err)
		}
	}
	early, late := []int{}, []int{0, 9, 4}
	for _, n := range rand.New(rand.NewPCG(4, 4)).Perm(10) {
		if n != 0 && n != 4 && n != 9 {
			early = append(early, n)
			send(n)
		}
	}
	if len(early) != 7 {
		t.Fatal(early)
	}
	check("extend", "1", "2", "3", "5", "6", "7", "8") // appends rows 1000 …
	for _, n := range late {
		send(n)
	}
	check("check", "0", "1", "2", "3", "4", "5", "6", "7", "8", "hand", "9")
}
