package render

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/dtype"
)

// HitType returns the type of the records of items that match a comparison: the index
// along each of so many axes (at), and the value (v), an item of type d or the member f
// of it, whose type d is then.
func HitType(axes int, d dtype.DType, f *dtype.Field) (dtype.DType, error) {
	value := d.String()
	if d.Kind() != dtype.Struct {
		value = "'" + value + "'"
	}
	if f != nil && f.Shape != nil {
		value += ", (" + strings.Trim(strings.ReplaceAll(fmt.Sprint(f.Shape), " ", ","), "[]") + ",)"
	}
	text := "[('v', " + value + ")]"
	if axes > 0 {
		text = fmt.Sprintf("[('at', '<i8', (%d,)), ('v', %s)]", axes, value)
	}
	return dtype.Parse(text)
}

// AppendHits appends a record for each item of a hit in a box of an array, whose items have
// so many bytes. If f is not nil, the value is that member.
func AppendHits(dst []byte, box b2nd.Box, h b2nd.Hit, item int, f *dtype.Field) []byte {
	index := make([]int64, len(box.Start))
	for i, at := range h.At {
		b2nd.Index(index, box, at)
		for _, k := range index {
			dst = binary.LittleEndian.AppendUint64(dst, uint64(k))
		}
		p := h.Items[i*item:][:item]
		if f != nil {
			p = p[f.Off:][:f.Size()]
		}
		dst = append(dst, p...)
	}
	return dst
}
