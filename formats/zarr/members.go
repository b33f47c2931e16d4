package zarr

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/dtype/pylit"
)

// maxNested bounds types in types.
const maxNested = 16

// members2 reads the type of items with members of version 2: a list of names and types, as
// NumPy's descr has it in JSON.
func members2(text json.RawMessage) (dtype.DType, error) {
	v, err := descr(text, 0)
	if err != nil {
		return dtype.DType{}, err
	}
	d, err := dtype.FromLiteral(v)
	if err != nil {
		return d, typeError(err)
	}
	return writable(d)
}

// descr turns a type in JSON into the literal that NumPy has for it: lists of members are lists of tuples.
func descr(text json.RawMessage, depth int) (pylit.Value, error) {
	var name string
	if json.Unmarshal(text, &name) == nil {
		return pylit.Value{Kind: pylit.String, Str: name}, nil
	}
	var list [][]json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil || depth > maxNested {
		return pylit.Value{}, corrupt("type", "%.100s", text)
	}
	out := pylit.Value{Kind: pylit.List}
	for _, m := range list {
		if len(m) == 3 {
			return out, unsupported("type", "member %.100s is an array, which Zarr's structured types have none of", m[0])
		}
		if len(m) != 2 || json.Unmarshal(m[0], &name) != nil {
			return out, corrupt("type", "%.100s", text)
		}
		t, err := descr(m[1], depth+1)
		if err != nil {
			return out, err
		}
		out.List = append(out.List, pylit.Value{Kind: pylit.Tuple, List: []pylit.Value{{Kind: pylit.String, Str: name}, t}})
	}
	return out, nil
}

// typeError is about a text of version 2 that is no type here.
func typeError(err error) error {
	if errors.Is(err, formats.ErrUnsupported) {
		return within("type", unsupported("", "objects and types of one machine alone: %v", err))
	}
	return within("type", err)
}

// writable returns the type of items with members, in which gaps are members, too. What could not be
// written as Zarr again is refused.
func writable(d dtype.DType) (dtype.DType, error) {
	d = d.Packed()
	_, err := TypeOf(d)
	return d, err
}

// members3 reads the configuration of a structured type: members are pairs, as zarr-python writes
// "structured", or objects, as "struct" has them.
func (p *part) members3(l formats.Limits, depth int) (dtype.DType, error) {
	none := dtype.DType{}
	var c struct {
		Fields []json.RawMessage `json:"fields"`
	}
	if err := p.into(&c); err != nil {
		return none, err
	}
	if len(c.Fields) == 0 || depth > maxNested {
		return none, corrupt("data_type", "%s of %d members, %d deep", p.Name, len(c.Fields), depth)
	}
	list := pylit.Value{Kind: pylit.List}
	for _, text := range c.Fields {
		var f struct {
			Name string          `json:"name"`
			Type json.RawMessage `json:"data_type"`
		}
		var pair []json.RawMessage
		if json.Unmarshal(text, &pair) == nil && len(pair) == 2 && json.Unmarshal(pair[0], &f.Name) == nil {
			f.Type = pair[1]
		} else if json.Unmarshal(text, &f) != nil {
			return none, corrupt("data_type", "member %.100s", text)
		}
		if f.Name == "" {
			return none, corrupt("data_type", "a member without a name")
		}
		d, err := typeAt(f.Type, l, depth+1)
		if err != nil {
			return none, within("member "+strconv.Quote(f.Name), err)
		}
		descr, err := d.AppendDescr(nil)
		if err != nil {
			return none, within("data_type", err)
		}
		v, err := pylit.Parse(string(descr))
		if err != nil {
			return none, corrupt("data_type", "%v", err)
		}
		list.List = append(list.List, pylit.Value{Kind: pylit.Tuple, List: []pylit.Value{{Kind: pylit.String, Str: f.Name}, v}})
	}
	d, err := dtype.FromLiteral(list)
	if err != nil {
		return none, within("data_type", err)
	}
	if int64(d.ItemSize()) > l.MaxDecoded {
		return none, fail("data_type", formats.ErrTooLarge, "items of %d bytes", d.ItemSize())
	}
	return writable(d)
}

// rawBits reads the name of raw bytes by their bits, as "r64".
func rawBits(name string) (int64, bool) {
	digits, ok := strings.CutPrefix(name, "r")
	bits, err := strconv.ParseUint(digits, 10, 40)
	return int64(bits), ok && err == nil && bits > 0 && bits%8 == 0
}

// parseMembers reads the fill value of items with members that has a value for each.
func parseMembers(d dtype.DType, item []byte, text json.RawMessage) bool {
	var values map[string]json.RawMessage
	if json.Unmarshal(text, &values) != nil || len(values) > len(d.Fields()) {
		return false
	}
	for name, v := range values {
		f, ok := d.Field(name)
		if !ok || f.Shape != nil {
			return false
		}
		p, err := ParseFill(f.Type, v)
		if err != nil {
			return false
		}
		copy(item[f.Off:], p)
	}
	return true
}

// parseOctets reads bytes in base64, or as a list of numbers, as raw bits have them. Version 2 may say 0 for zeros.
func parseOctets(item []byte, text json.RawMessage) bool {
	var numbers []uint16
	if json.Unmarshal(text, &numbers) != nil {
		return parseText(item, false, text)
	}
	if len(numbers) != len(item) {
		return false
	}
	for i, n := range numbers {
		if item[i] = byte(n); n > 255 {
			return false
		}
	}
	return true
}
