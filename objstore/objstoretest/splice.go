package objstoretest

import (
	"errors"
	"testing"

	"github.com/farread/farread/objstore"
)

// splices: a new object out of written bytes and of ranges of a stored one has exactly
// these bytes, whatever their lengths, also if it takes the key of the stored one.
func splices(t *testing.T, b objstore.Bucket) {
	const mib = 1 << 20
	old := noise(31, 24*mib+5)
	put(t, b, "splice/some key+ü%2F", old, objstore.PutOptions{})
	o, err := objstore.Open(t.Context(), b, "splice/some key+ü%2F", objstore.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	size := int64(len(old))
	for name, parts := range map[string][]objstore.Range{ // Off < 0: that many new bytes
		"all":      {{Off: 0, Len: size}},
		"short":    {{Off: -100}, {Off: 7, Len: 100}, {Off: 9, Len: 0}, {Off: -3}},
		"append":   {{Off: 0, Len: size}, {Off: -9 * mib}},
		"header":   {{Off: -144}, {Off: 144, Len: size - 144}, {Off: -1000}},
		"between":  {{Off: -6 * mib}, {Off: 3, Len: 12 * mib}, {Off: -1}, {Off: 5, Len: 11 * mib}, {Off: -20}},
		"backward": {{Off: 12 * mib, Len: 12*mib + 5}, {Off: 0, Len: 12 * mib}},
	} {
		var want []byte
		key := "splice/" + name
		w := create(t, t.Context(), b, key, objstore.PutOptions{})
		for i, p := range parts {
			if p.Off < 0 {
				data := noise(uint64(40+i), int(-p.Off))
				write(t, w, data)
				want = append(want, data...)
				continue
			}
			n, err := objstore.Splice(t.Context(), w, o, p)
			if err != nil || n < 0 || n > p.Len {
				t.Fatalf("%s: splice %v: %d bytes copied, %v", name, p, n, err)
			}
			want = append(want, old[p.Off:p.Off+p.Len]...)
		}
		info, err := w.Commit(t.Context())
		if err != nil || info.Size != int64(len(want)) {
			t.Fatalf("%s: %+v, %v", name, info, err)
		}
		wantObject(t, b, key, want)
	}
	w := create(t, t.Context(), b, "splice/bad", objstore.PutOptions{})
	for _, r := range []objstore.Range{{Off: -1, Len: 5}, {Off: 0, Len: -5}, {Off: size, Len: 1}, {Off: 1, Len: 1<<63 - 1}} {
		if _, err := objstore.Splice(t.Context(), w, o, r); !errors.Is(err, objstore.ErrInvalid) {
			t.Errorf("splice %v: %v", r, err)
		}
	}
	w.Abort()
	put(t, b, "splice/some key+ü%2F", old[:len(old)-1], objstore.PutOptions{})
	w = create(t, t.Context(), b, "splice/bad", objstore.PutOptions{})
	_, err = objstore.Splice(t.Context(), w, o, objstore.Range{Off: 0, Len: size - 5})
	if info := o.Info(); info.VersionID == "" {
		wantError(t, "splice of an object that was replaced", err, objstore.ErrChanged)
	}
	w.Abort()
	wantAbsent(t, b, "splice/bad")
}
