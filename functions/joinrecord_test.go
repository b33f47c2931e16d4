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
	n := j.before.rows
	for _, at := range j.list {
		n += at.rows
	}
	return n
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
			if err := j.put(len(j.list), false, joint{key: key(i), seq: "0055AED6DCD90281E5", id: "0123456789ab", rows: int64(i % 3)}); err != nil {
				t.Fatal(err)
			}
		}
		total := sum(j)
		p, err := j.encode()
		if err != nil || len(p) > maxJoinRecord || c.keep > 0 && len(j.list) != c.keep {
			t.Errorf("%s: %d bytes, %d uploads, %v", name, len(p), len(j.list), err)
		}
		back, err := parseJoints(p, total)
		if err != nil || sum(back) != total || int(back.before.uploads)+len(back.list) != n || !slices.Equal(back.list, j.list) {
			t.Fatalf("%s: %d + %d uploads, %d rows of %d, %v", name, back.before.uploads, len(back.list), sum(back), total, err)
		}
		gone := int(back.before.uploads)
		if _, _, _, err := back.find(key(gone - 1)); !errors.Is(err, ErrForgotten) || !errors.Is(err, formats.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
		if i, row, there, err := back.find(key(gone)); err != nil || !there || i != 0 || row != back.before.rows {
			t.Errorf("%s: %d, %d, %t, %v", name, i, row, there, err)
		}
		if i, row, there, err := back.find(key(n)); err != nil || there || i != len(back.list) || row != total {
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
		if _, err := parseJoints([]byte(text), 6); !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("%.80s: %v, want %v", text, err, want)
		}
	}
}

func FuzzJoints(f *testing.F) {
	f.Add([]byte(`{"version":1,"before":[3,7,"a"],"uploads":[["a","","",1],["b","0F","x",2],["c","","y",0]]}`), int64(12), "bb")
	f.Add([]byte(`{"version":1,"before":[0,0,""],"uploads":[["a","1","x",2]]}`), int64(2), "a")
	f.Fuzz(func(t *testing.T, p []byte, rows int64, key string) {
		if rows < 0 {
			return
		}
		j, err := parseJoints(p, rows)
		if err != nil {
			if !errors.Is(err, formats.ErrCorrupt) && !errors.Is(err, formats.ErrUnsupported) {
				t.Fatal(err)
			}
			return
		}
		if sum(j) != rows {
			t.Fatalf("%d rows of %d", sum(j), rows)
		}
		i, row, there, err := j.find(key)
		if err != nil {
			if !errors.Is(err, ErrForgotten) {
				t.Fatal(err)
			}
			return
		}
		if row < 0 || row > rows || i > len(j.list) || there && j.list[i].key != key || strings.ToValidUTF8(key, "") != key {
			if strings.ToValidUTF8(key, "") != key {
				return // no key of an upload
			}
			t.Fatalf("%q: %d, row %d, %t", key, i, row, there)
		}
		was := int64(0)
		if there {
			was = j.list[i].rows
		}
		at := joint{key: key, id: "new", rows: 5}
		if key == "" {
			return // no key of an upload
		}
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
		back, err := parseJoints(out, rows+5-was)
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if n, r, is, err := back.find(key); err != nil || !is || r != row || back.list[n] != at {
			t.Fatalf("%q: %d, row %d of %d, %t, %v", key, n, r, row, is, err)
		}
	})
}
