package functions

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/farread/farread/formats"
)

func sum(j joints) int64 {
	return j.rows(len(j.list)).of(0)
}

// TestJointsForget: a record keeps its bounds, knows the number of what it has forgotten, and
// says of keys up to there that it cannot tell.
func TestJointsForget(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		long, keep int
	}{"many": {3, maxJoints}, "long keys": {900, 0}} {
		var j joints
		n := maxJoints + 100
		key := func(i int) string { return fmt.Sprintf("%s%06d", strings.Repeat("k", c.long), i) }
		for i := range n {
			at := joint{key: key(i), seq: "0055AED6DCD90281E5", id: "0123456789ab", rows: counts{int64(i % 3)}}
			if i < maxJoints { // each put counts the rows of all
				j.list = append(j.list, at)
			} else if err := j.put(len(j.list), false, at); err != nil {
				t.Fatal(err)
			}
		}
		total := sum(j)
		p, err := j.encode()
		if err != nil || len(p) > maxJoinRecord || c.keep > 0 && len(j.list) != c.keep {
			t.Errorf("%s: %d bytes, %d uploads, %v", name, len(p), len(j.list), err)
		}
		back, err := parseJoints(p, counts{total})
		if err != nil || sum(back) != total || int(back.before.uploads)+len(back.list) != n || !sameJoints(back.list, j.list) {
			t.Fatalf("%s: %d + %d uploads, %d rows of %d, %v", name, back.before.uploads, len(back.list), sum(back), total, err)
		}
		gone := int(back.before.uploads)
		if _, _, _, err := back.find(key(gone - 1)); !errors.Is(err, ErrForgotten) || !errors.Is(err, formats.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
		if i, row, there, err := back.find(key(gone)); err != nil || !there || i != 0 || row.of(0) != back.before.rows.of(0) {
			t.Errorf("%s: %d, %d, %t, %v", name, i, row, there, err)
		}
		if i, row, there, err := back.find(key(n)); err != nil || there || i != len(back.list) || row.of(0) != total {
			t.Errorf("%s: %d, %d, %t, %v", name, i, row, there, err)
		}
	}
}

func TestBadJoints(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]error{
		`{"version":1,"before":[0,0,""],"uploads":[["a","","x",2],["b","","y",3]]}`:                   nil,
		`{"version":1,"before":[0,0,""],"uploads":[["a","","x",2],["b","","y",9]]}`:                   formats.ErrCorrupt, // more rows than there are
		`{"version":1,"before":[1,9,"a"],"uploads":[["b","","x",2]]}`:                                 formats.ErrCorrupt,
		`{"version":1,"before":[0,0,""],"uploads":[["b","","x",2],["a","","y",2]]}`:                   formats.ErrCorrupt, // out of order
		`{"version":1,"before":[0,0,""],"uploads":[["b","","x",2],["b","","y",2]]}`:                   formats.ErrCorrupt,
		`{"version":1,"before":[0,0,""],"uploads":[["b","","x",-2]]}`:                                 formats.ErrCorrupt,
		`{"version":1,"before":[0,-1,""],"uploads":[]}`:                                               formats.ErrCorrupt,
		`{"version":1,"before":[0,0,""],"uploads":[["b","","x"]]}`:                                    formats.ErrCorrupt,
		`{"version":1,"before":[0,0,""],"uploads":[["b","","x",9223372036854775807],["c","","x",1]]}`: formats.ErrCorrupt,
		`{"version":2}`:           formats.ErrUnsupported,
		``:                        formats.ErrCorrupt,
		strings.Repeat("[", 1000): formats.ErrCorrupt,
	} {
		if _, err := parseJoints([]byte(text), counts{6}); !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("%.80s: %v, want %v", text, err, want)
		}
	}
}

// sameJoints reports whether two lists are equal.
func sameJoints(a, b []joint) bool {
	return slices.EqualFunc(a, b, func(a, b joint) bool {
		return a.key == b.key && a.seq == b.seq && a.id == b.id && slices.Equal(a.rows.short(), b.rows.short())
	})
}

// TestColumns: columns of a dataset may have different numbers of rows.
func TestColumns(t *testing.T) {
	t.Parallel()
	text := `{"version":1,"before":[1,[1,0],"a"],"uploads":[["b","","x",2],["c","","y",[0,3]]]}`
	j, err := parseJoints([]byte(text), counts{5, 5})
	if err != nil {
		t.Fatal(err)
	}
	if p, err := j.encode(); err != nil || !strings.Contains(string(p), `["c","","y",[0,3]],["c","","",[2,0]]]`) {
		t.Errorf("%s, %v", p, err)
	}
	for key, want := range map[string]counts{"b": {1, 0}, "bb": {3, 2}, "c": {3, 2}, "d": {5, 5}} {
		if _, row, _, err := j.find(key); err != nil || !slices.Equal(row.all(2), want) {
			t.Errorf("%s: %d, %v", key, row, err)
		}
	}
	if err := j.put(1, true, joint{key: "c", id: "z", rows: counts{4}}); err != nil || !slices.Equal(j.rows(3), counts{9, 6}) {
		t.Errorf("%d, %v", j.rows(3), err)
	}
	for _, bad := range []counts{{5}, {5, 4}, {5, 5, 5}} {
		if _, err := parseJoints([]byte(text), bad); !errors.Is(err, formats.ErrCorrupt) {
			t.Errorf("%d: %v", bad, err)
		}
	}
}

func FuzzJoints(f *testing.F) {
	f.Add([]byte(`{"version":1,"before":[3,7,"a"],"uploads":[["a","","",1],["b","0F","x",2],["c","","y",0]]}`), int64(12), "bb")
	f.Add([]byte(`{"version":1,"before":[0,0,""],"uploads":[["a","1","x",2]]}`), int64(2), "a")
	f.Add([]byte(`{"version":1,"before":[1,[1,0,2],"a"],"uploads":[["b","","x",2],["c","","y",[0,3,1]]]}`), int64(7), "bb")
	f.Fuzz(func(t *testing.T, p []byte, rows int64, key string) {
		if rows < 0 {
			return
		}
		total := counts{rows}
		if rows%2 == 1 { // three columns
			total = counts{rows, rows - 1, rows}
		}
		j, err := parseJoints(p, total)
		if err != nil {
			if !errors.Is(err, formats.ErrCorrupt) && !errors.Is(err, formats.ErrUnsupported) {
				t.Fatal(err)
			}
			return
		}
		all := j.rows(len(j.list))
		if !slices.Equal(all.all(len(total)), total) {
			t.Fatalf("%d rows of %d", all, total)
		}
		i, row, there, err := j.find(key)
		if err != nil {
			if !errors.Is(err, ErrForgotten) {
				t.Fatal(err)
			}
			return
		}
		if key == "" || strings.ToValidUTF8(key, "") != key {
			return // no key of an upload
		}
		if !row.fit(total, len(total)) || i > len(j.list) || there && j.list[i].key != key {
			t.Fatalf("%q: %d, row %d, %t", key, i, row, there)
		}
		was := counts{}
		if there {
			was = j.list[i].rows
		}
		at := joint{key: key, id: "new", rows: counts{5, 6, 7}[:len(total)]}
		if err := j.put(i, there, at); err != nil {
			if !errors.Is(err, formats.ErrTooLarge) {
				t.Fatal(err)
			}
			return
		}
		out, err := j.encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := parseJoints(out, total.plus(at.rows).less(was).all(len(total)))
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if n, r, is, err := back.find(key); err != nil || !is || !slices.Equal(r.all(len(total)), row.all(len(total))) || !sameJoints(back.list[n:n+1], []joint{at}) {
			t.Fatalf("%q: %d, row %d of %d, %t, %v", key, n, r, row, is, err)
		}
	})
}
