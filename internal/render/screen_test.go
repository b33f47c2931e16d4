package render

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/farread/farread/formats/dtype"
)

// A printed is a line of testdata/prints.jsonl: an array, and what NumPy prints of it.
type printed struct {
	DType   string  `json:"dtype"`
	Shape   []int64 `json:"shape"`
	Columns int     `json:"columns"`
	Items   []byte  `json:"items"`
	Text    string  `json:"text"`
}

// TestPrints: a terminal shows arrays as NumPy prints them, character by character.
func TestPrints(t *testing.T) {
	t.Parallel()
	f, err := os.Open("testdata/prints.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, wrong := bufio.NewScanner(f), 0
	lines.Buffer(nil, 1<<20)
	n := 0
	for ; lines.Scan(); n++ {
		var p printed
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			t.Fatal(err)
		}
		z, err := zlib.NewReader(bytes.NewReader(p.Items))
		if err != nil {
			t.Fatal(err)
		}
		items, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		d, err := dtype.Parse(p.DType)
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		err = Array(&got, d, p.Shape, ArrayOptions{Format: Text, Columns: p.Columns}, func(put func(p []byte) error) error { return put(items) })
		if err != nil || got.String() != p.Text+"\n" {
			if wrong++; wrong < 10 {
				t.Errorf("%s of %v in %d columns: %v\n%s\nwant\n%s", p.DType, p.Shape, p.Columns, err, got.String(), p.Text)
			}
		}
	}
	if lines.Err() != nil || n < 1000 || wrong > 0 {
		t.Errorf("%d of %d arrays are printed otherwise, %v", wrong, n, lines.Err())
	}
}
