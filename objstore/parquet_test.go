package objstore

import (
	"os"
	"slices"
	"testing"
)

// TestPartsOf: the column chunks of a file of pyarrow, by its footer.
func TestPartsOf(t *testing.T) {
	footer, err := os.ReadFile("testdata/pyarrow.footer")
	if err != nil {
		t.Fatal(err)
	}
	const size = 105_473_267
	parts := partsOf("a/b.Parquet", footer, size)
	for _, want := range []Range{{43_319_869, 8_663_973}, {96_054_813, 1_883_016}} { // as pyarrow says of the sixth column
		if !slices.Contains(parts, want) {
			t.Errorf("no %+v in %+v", want, parts)
		}
	}
	if len(parts) != 20 || parts[0].Off != 4 {
		t.Errorf("%+v", parts)
	}
	for name, tail := range map[string][]byte{"a.zip": footer, "b.parquet": footer[1:], "c.parquet": footer[:len(footer)-1], "d.parquet": nil} {
		if parts := partsOf(name, tail, size); parts != nil {
			t.Errorf("%s: %+v", name, parts)
		}
	}
}

// FuzzPartsOf: whatever a footer says, parts lie inside the object.
func FuzzPartsOf(f *testing.F) {
	footer, err := os.ReadFile("testdata/pyarrow.footer")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(footer, int64(105_473_267))
	f.Add([]byte("\x4c\xfc\x4c\x04\x00\x00\x00PAR1"), int64(50))
	f.Fuzz(func(t *testing.T, tail []byte, size int64) {
		for _, r := range partsOf("x.parquet", tail, size) {
			if r.Off < 0 || r.Len <= 0 || r.Len > size-r.Off {
				t.Fatalf("%+v of %d bytes", r, size)
			}
		}
	})
}
