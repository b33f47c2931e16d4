package arraymeta

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
)

// FillOf reads a fill value as people write it: true, 0, -1.5, nan, inf. Other types than
// booleans, integers and floats have none. The error matches formats.ErrUnsupported, and
// formats.ErrCorrupt if d cannot hold the value.
func FillOf(text string, d dtype.DType) (json.RawMessage, error) {
	fill := json.RawMessage(text)
	if d.Kind() == dtype.Float {
		if word, ok := map[string]string{"nan": "NaN", "inf": "Infinity", "+inf": "Infinity", "-inf": "-Infinity", "infinity": "Infinity", "-infinity": "-Infinity"}[strings.ToLower(text)]; ok {
			fill = json.RawMessage(strconv.Quote(word))
		}
	}
	_, err := FillItem(fill, d)
	return fill, err
}

// FillItem returns the bytes of an item with a fill value, as d stores it. Errors are
// those of FillOf.
func FillItem(fill json.RawMessage, d dtype.DType) ([]byte, error) {
	text, size := strings.TrimSpace(string(fill)), d.ItemSize()
	bad := fmt.Errorf("%.40s is no %s: %w", text, d, formats.ErrCorrupt)
	if d.Opaque() {
		return nil, fmt.Errorf("a fill value of %s: %w", d, formats.ErrUnsupported)
	}
	var b [8]byte
	switch d.Kind() {
	case dtype.Bool:
		if text != "true" && text != "false" {
			return nil, bad
		}
		return []byte{map[string]byte{"true": 1}[text]}, nil
	case dtype.Int, dtype.DateTime, dtype.Duration:
		v, err := strconv.ParseInt(text, 10, 8*size)
		if err != nil {
			return nil, bad
		}
		binary.LittleEndian.PutUint64(b[:], uint64(v))
	case dtype.Uint:
		v, err := strconv.ParseUint(text, 10, 8*size)
		if err != nil {
			return nil, bad
		}
		binary.LittleEndian.PutUint64(b[:], v)
	case dtype.Float:
		f, ok := map[string]float64{`"NaN"`: math.NaN(), `"Infinity"`: math.Inf(1), `"-Infinity"`: math.Inf(-1)}[text]
		if !ok {
			var err error
			if f, err = strconv.ParseFloat(text, 64); err != nil || !json.Valid(fill) {
				return nil, bad
			}
		}
		putFloat(b[:size], f)
	default:
		return nil, fmt.Errorf("a fill value of %s: %w", d, formats.ErrUnsupported)
	}
	if d.BigEndian() {
		for i := range size / 2 {
			b[i], b[size-1-i] = b[size-1-i], b[i]
		}
	}
	return append([]byte{}, b[:size]...), nil
}
