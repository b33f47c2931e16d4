package zarr

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/farread/farread/formats/dtype"
)

// ParseFill returns the item that a fill value means, in the byte order of d. It takes the
// spellings of versions 2 and 3. null means no value: the item is then zero.
func ParseFill(d dtype.DType, text json.RawMessage) ([]byte, error) {
	item := make([]byte, d.ItemSize())
	if len(text) == 0 || string(text) == "null" {
		return item, nil
	}
	ok := false
	switch d.Kind() {
	case dtype.Bool:
		ok = parseBool(item, string(text))
	case dtype.Int, dtype.DateTime, dtype.Duration:
		ok = parseInt(item, string(text))
	case dtype.Uint:
		n, err := strconv.ParseUint(whole(string(text)), 10, 8*len(item))
		ok = err == nil
		putWord(item, n)
	case dtype.Float:
		ok = parseFloat(item, text)
	case dtype.Complex:
		var parts []json.RawMessage
		if json.Unmarshal(text, &parts) != nil { // a number without imaginary part, as version 2 may have it
			parts = []json.RawMessage{text, json.RawMessage("0")}
		}
		half := len(item) / 2
		ok = len(parts) == 2 && parseFloat(item[:half], parts[0]) && parseFloat(item[half:], parts[1])
	case dtype.Bytes, dtype.Text:
		ok = parseText(item, d.Kind() == dtype.Text, text)
	case dtype.Raw:
		ok = parseOctets(item, text)
	case dtype.Struct:
		ok = parseText(item, false, text) || parseMembers(d, item, text)
	}
	if !ok {
		return nil, corrupt("fill value", "%.100s for items of %s", text, d)
	}
	if d.BigEndian() {
		swap(item, wordSize(d))
	}
	return item, nil
}

// FillText is the fill value of an item as documents of version 3 write it. nil means that
// the type has no such text.
func FillText(d dtype.DType, item []byte) json.RawMessage {
	if len(item) != d.ItemSize() {
		return nil
	}
	p := slices.Clone(item)
	if d.BigEndian() {
		swap(p, wordSize(d))
	}
	switch d.Kind() {
	case dtype.Bool:
		return json.RawMessage(strconv.FormatBool(p[0] != 0))
	case dtype.Int, dtype.DateTime, dtype.Duration:
		shift := 64 - 8*len(p)
		return strconv.AppendInt(nil, int64(word(p)<<shift)>>shift, 10)
	case dtype.Uint:
		return strconv.AppendUint(nil, word(p), 10)
	case dtype.Float:
		return floatText(p)
	case dtype.Complex:
		re, im := floatText(p[:len(p)/2]), floatText(p[len(p)/2:])
		if re == nil || im == nil {
			return nil
		}
		return slices.Concat([]byte("["), re, []byte(","), im, []byte("]"))
	case dtype.Text:
		var s strings.Builder
		for ; len(p) >= 4; p = p[4:] {
			s.WriteRune(rune(binary.LittleEndian.Uint32(p)))
		}
		text, _ := json.Marshal(strings.TrimRight(s.String(), "\x00"))
		return text
	case dtype.Bytes:
		for len(p) > 0 && p[len(p)-1] == 0 {
			p = p[:len(p)-1]
		}
	case dtype.Raw, dtype.Struct:
	}
	text, _ := json.Marshal(base64.StdEncoding.EncodeToString(p))
	return text
}

// wordSize is the size of what has a byte order in an item, 1 for none.
func wordSize(d dtype.DType) int {
	switch d.Kind() {
	case dtype.Complex:
		return d.ItemSize() / 2
	case dtype.Text:
		return 4
	case dtype.Int, dtype.Uint, dtype.Float, dtype.DateTime, dtype.Duration:
		return d.ItemSize()
	default:
		return 1
	}
}

func word(p []byte) uint64 {
	var b [8]byte
	copy(b[:], p)
	return binary.LittleEndian.Uint64(b[:])
}

func putWord(p []byte, n uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], n)
	copy(p, b[:])
}

func parseBool(item []byte, text string) bool {
	switch text {
	case "true", "1":
		item[0] = 1
	case "false", "0":
	default:
		return false
	}
	return true
}

// whole takes the fraction off a whole number: some writers put 0.0 as the fill value of
// integers.
func whole(text string) string {
	if before, zeros, ok := strings.Cut(text, "."); ok && strings.Trim(zeros, "0") == "" {
		return before
	}
	return text
}

func parseInt(item []byte, text string) bool {
	if text == `"NaT"` {
		text = strconv.FormatInt(math.MinInt64, 10)
	}
	n, err := strconv.ParseInt(whole(text), 10, 8*len(item))
	putWord(item, uint64(n))
	return err == nil
}

// parseFloat reads a number, the words for what JSON has no numbers for, or the bits in
// hexadecimal.
func parseFloat(p []byte, text json.RawMessage) bool {
	s := string(text)
	if len(s) > 1 && s[0] == '"' && json.Unmarshal(text, &s) != nil {
		return false
	}
	if bits, ok := strings.CutPrefix(s, "0x"); ok {
		n, err := strconv.ParseUint(bits, 16, 64)
		if err != nil || len(bits) != 2*len(p) {
			return false
		}
		putWord(p, n)
		return true
	}
	switch s {
	case "Infinity", "-Infinity", "NaN":
	default:
		if s == "" || s[0] != '-' && (s[0] < '0' || s[0] > '9') {
			return false
		}
	}
	size := min(8*len(p), 64)
	f, err := strconv.ParseFloat(s, max(size, 32))
	if err != nil && !math.IsInf(f, 0) {
		return false
	}
	switch len(p) {
	case 2:
		binary.LittleEndian.PutUint16(p, dtype.FloatToHalf(float32(f)))
	case 4:
		binary.LittleEndian.PutUint32(p, math.Float32bits(float32(f)))
	case 8:
		binary.LittleEndian.PutUint64(p, math.Float64bits(f))
	default:
		return false
	}
	if f != f { // NumPy's NaN
		copy(p, map[int][]byte{2: {0, 0x7e}, 4: {0, 0, 0xc0, 0x7f}, 8: {0, 0, 0, 0, 0, 0, 0xf8, 0x7f}}[len(p)])
	}
	return true
}

func floatText(p []byte) json.RawMessage {
	var f float64
	size := 64
	switch len(p) {
	case 2:
		f, size = float64(dtype.HalfToFloat(binary.LittleEndian.Uint16(p))), 32
	case 4:
		f, size = float64(math.Float32frombits(binary.LittleEndian.Uint32(p))), 32
	case 8:
		f = math.Float64frombits(binary.LittleEndian.Uint64(p))
	default:
		return nil
	}
	switch {
	case f != f:
		return json.RawMessage(`"NaN"`)
	case math.IsInf(f, 1):
		return json.RawMessage(`"Infinity"`)
	case math.IsInf(f, -1):
		return json.RawMessage(`"-Infinity"`)
	}
	b := strconv.AppendFloat(nil, f, 'g', -1, size)
	if !slices.ContainsFunc(b, func(c byte) bool { return c == '.' || c == 'e' }) {
		b = append(b, ".0"...)
	}
	return b
}

// parseText reads characters for text, and base64 for bytes. Version 2 may say 0 for zeros.
func parseText(item []byte, characters bool, text json.RawMessage) bool {
	if string(text) == "0" {
		return true
	}
	var s string
	if json.Unmarshal(text, &s) != nil {
		return false
	}
	if !characters {
		b, err := base64.StdEncoding.DecodeString(s)
		return err == nil && copy(item, b) == len(b)
	}
	if utf8.RuneCountInString(s) > len(item)/4 {
		return false
	}
	for _, r := range s {
		binary.LittleEndian.PutUint32(item, uint32(r))
		item = item[4:]
	}
	return true
}

// swap reverses the bytes of each word.
func swap(p []byte, size int) {
	switch size {
	case 1:
	case 2:
		for ; len(p) >= 2; p = p[2:] {
			p[0], p[1] = p[1], p[0]
		}
	case 4:
		for ; len(p) >= 4; p = p[4:] {
			binary.LittleEndian.PutUint32(p, binary.BigEndian.Uint32(p))
		}
	case 8:
		for ; len(p) >= 8; p = p[8:] {
			binary.LittleEndian.PutUint64(p, binary.BigEndian.Uint64(p))
		}
	default:
		for ; len(p) >= size; p = p[size:] {
			slices.Reverse(p[:size])
		}
	}
}
