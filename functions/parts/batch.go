package parts

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/farread/farread/formats"
)

// A Batch is a run of parts that one invocation makes: those from From to before To.
type Batch struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// Bounds of plans and of the batches of a run.
const (
	MaxParts   = 40_000    // objects that the last step reads; a map may have more items, and runs 10,000 at the same time
	leastBytes = 64 << 20  // decoded, of a batch if there are more parts
	mostBytes  = 256 << 20 // decoded, of a batch
	goodNumber = 200       // batches that are made before they grow
)

// Batches cuts the parts that are missing, in order, into batches of so many decoded bytes.
// 0 bytes mean 64 to 256 MiB.
func Batches(p *Plan, missing []int, bytes int64) ([]Batch, error) {
	if p.Parts > MaxParts {
		return nil, fmt.Errorf("%d parts, %d at most: %w", p.Parts, MaxParts, formats.ErrTooLarge)
	}
	each := max(1, p.Bytes/int64(max(1, p.Parts))) // of a part
	if bytes <= 0 {
		bytes = min(max(each*int64(len(missing))/goodNumber, leastBytes), mostBytes)
	}
	return cut(missing, int(max(1, bytes/each))), nil
}

// Spelled returns the numbers of the parts: "3", or "5-9".
func (b Batch) Spelled() string {
	if b.To > b.From+1 {
		return fmt.Sprintf("%d-%d", b.From, b.To-1)
	}
	return strconv.Itoa(b.From)
}

// cut cuts into runs of at most size parts without a gap.
func cut(missing []int, size int) []Batch {
	out := []Batch{} // JSON has a list
	for _, n := range missing {
		if k := len(out) - 1; k >= 0 && out[k].To == n && n-out[k].From < size {
			out[k].To++
		} else {
			out = append(out, Batch{n, n + 1})
		}
	}
	return out
}

// maxNamed is how many runs of parts an error names.
const maxNamed = 8

// Spelled returns numbers of parts, in order, as text: "3, 5-9".
func Spelled(parts []int) string {
	var out strings.Builder
	for i, b := range cut(parts, len(parts)+1) {
		switch {
		case i == maxNamed:
			return out.String() + ", …"
		case i > 0:
			out.WriteString(", ")
		}
		out.WriteString(b.Spelled())
	}
	return out.String()
}
