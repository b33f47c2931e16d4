package zarrface

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"

	"github.com/farread/farread/formats/dtype"
)

// mask is the attribute that tells the value of what is missing, as in CF.
const mask = "_FillValue"

// respell spells a mask as xarray writes it in Zarr v3: floats as base64 of their eight
// bytes. It refuses to open any array of a group if one has another spelling. False means
// that there is a mask that it could not read.
func respell(attributes map[string]any, d dtype.DType) bool {
	text, ok := attributes[mask].(json.RawMessage)
	var value any
	if !ok || json.Unmarshal(text, &value) != nil {
		return true
	}
	pair, isPair := value.([]any)
	_, isNumber := value.(float64)
	switch d.Kind() {
	case dtype.Bool:
		return true
	case dtype.Int, dtype.Uint:
		return isNumber
	case dtype.Float:
		attributes[mask], ok = float64Text(value)
	case dtype.Complex:
		if !isPair {
			pair = []any{value, 0.0}
		}
		both := make([]string, len(pair))
		for i := range both {
			part, is := float64Text(pair[i])
			both[i], ok = part, ok && is
		}
		attributes[mask], ok = both, ok && len(both) == 2
	default:
		ok = false
	}
	return ok
}

// float64Text is a number of JSON in base64; text that is one already stays.
func float64Text(value any) (string, bool) {
	text, _ := value.(string)
	f, ok := map[string]float64{"NaN": math.Float64frombits(0x7FF8 << 48), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1)}[text]
	if n, is := value.(float64); is {
		f, ok = n, true
	}
	if ok {
		return base64.StdEncoding.EncodeToString(binary.LittleEndian.AppendUint64(nil, math.Float64bits(f))), true
	}
	p, err := base64.StdEncoding.DecodeString(text)
	return text, err == nil && len(p) == 8
}
