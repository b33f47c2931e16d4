package varint_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/farread/farread/formats/internal/varint"
)

func TestReader(t *testing.T) {
	t.Parallel()
	p := binary.AppendUvarint(nil, math.MaxUint64)
	p = binary.AppendVarint(p, math.MinInt64)
	p = append(p, "abc"...)
	r := varint.Reader{P: p}
	if u, i, b := r.Uint(), r.Int(), r.Bytes(3); u != math.MaxUint64 || i != math.MinInt64 || string(b) != "abc" || r.Bad || len(r.P) > 0 {
		t.Error(u, i, b, r)
	}
	for name, read := range map[string]func(r *varint.Reader){
		"Uint, cut":     func(r *varint.Reader) { r.Uint() },
		"Int, cut":      func(r *varint.Reader) { r.Int() },
		"Bytes, beyond": func(r *varint.Reader) { r.Bytes(3) },
		"Bytes, far":    func(r *varint.Reader) { r.Bytes(math.MaxUint64) },
	} {
		r := varint.Reader{P: []byte{0x80, 0x80}}
		if read(&r); !r.Bad || r.P != nil || r.Uint() != 0 || r.Int() != 0 || r.Bytes(1) != nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
