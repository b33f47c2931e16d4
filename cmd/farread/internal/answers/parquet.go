package answers

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/farread/farread/analyze"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/internal/parquetfile"
)

// Parquet is the name of the format of Parquet files.
const Parquet = "parquet"

const (
	groupRows   = 1 << 16
	mostColumns = 1 << 12 // columns at most
)

// A parquetField is a column of a Parquet file.
type parquetField struct {
	field
	part   int   // of complex numbers: 0 or 1
	factor int64 // of dates: of the unit of the column
	kind   parquetfile.Kind
}

// writeParquet writes the columns of a CSV, with types. What CSV leaves empty is missing.
func writeParquet(w io.Writer, a *analyze.Answers) error {
	places := headings(a)
	var columns []parquetfile.Column
	for i := range places {
		columns = append(columns, places[i].column())
	}
	var list []parquetField
	var notes [][2]string
	for _, f := range fields(a.Shape, a.Results) {
		p, err := columnsOf(f)
		if err != nil {
			return fmt.Errorf("%s as Parquet: %w", f.name, err)
		}
		for _, one := range p {
			columns = append(columns, parquetfile.Column{Name: one.name, Kind: one.kind, Optional: f.r.None != nil || f.r.Type.Kind() == dtype.DateTime})
			if f.r.Type.Kind() == dtype.Duration {
				notes = append(notes, [2]string{"farread.dtype." + one.name, f.r.Type.String()})
			}
		}
		if list = append(list, p...); len(columns) > mostColumns {
			return fmt.Errorf("a Parquet file of more than %d columns: %w", mostColumns, formats.ErrTooLarge)
		}
	}
	out, err := parquetfile.NewWriter(w, columns, notes...)
	if err != nil {
		return err
	}
	rows, values := 0, make([]parquetfile.Values, len(columns))
	flush := func() error {
		err := out.Group(rows, values)
		rows = 0
		for i := range values {
			values[i] = parquetfile.Values{Data: values[i].Data[:0], Valid: values[i].Valid[:0]}
		}
		return err
	}
	err = cells(a.Shape, func(cell int, at []int64) error {
		for i := range places {
			values[i].Data = places[i].appendValue(values[i].Data, at)
		}
		for i := range list {
			if err := list[i].put(&values[len(places)+i], cell, columns[len(places)+i].Optional); err != nil {
				return err
			}
		}
		if rows++; rows == groupRows {
			return flush()
		}
		return nil
	})
	if err == nil && rows > 0 {
		err = flush()
	}
	if err != nil {
		return err
	}
	return out.Close()
}

// column returns the column of a heading: of positions, or of labels.
func (h *heading) column() parquetfile.Column {
	if h.labels == nil {
		return parquetfile.Column{Name: h.name, Kind: parquetfile.Int64}
	}
	return parquetfile.Column{Name: h.name, Kind: parquetfile.Text}
}

// appendValue appends the value of a cell as the column has it.
func (h *heading) appendValue(dst []byte, at []int64) []byte {
	if h.labels == nil {
		return binary.LittleEndian.AppendUint64(dst, uint64(at[h.axis]))
	}
	text := h.value(at)
	return append(binary.LittleEndian.AppendUint32(dst, uint32(len(text))), text...)
}

// columnsOf returns the columns of a value: two of a complex number.
func columnsOf(f field) ([]parquetField, error) {
	p := parquetField{field: f, factor: 1}
	d, size := f.r.Type, f.r.Type.ItemSize()
	kinds := map[int]parquetfile.Kind{}
	switch d.Kind() {
	case dtype.Bool:
		p.kind = parquetfile.Bool
	case dtype.Int:
		kinds = map[int]parquetfile.Kind{1: parquetfile.Int8, 2: parquetfile.Int16, 4: parquetfile.Int32, 8: parquetfile.Int64}
	case dtype.Uint:
		kinds = map[int]parquetfile.Kind{1: parquetfile.Uint8, 2: parquetfile.Uint16, 4: parquetfile.Uint32, 8: parquetfile.Uint64}
	case dtype.Float:
		kinds = map[int]parquetfile.Kind{2: parquetfile.Float, 4: parquetfile.Float, 8: parquetfile.Double}
	case dtype.Complex: // of answers, of two float64
		re, im := p, p
		re.name, re.kind = f.name+".real", parquetfile.Double
		im.name, im.kind, im.part = f.name+".imag", parquetfile.Double, 1
		return []parquetField{re, im}, nil
	case dtype.Duration:
		p.kind = parquetfile.Int64
	case dtype.DateTime:
		unit, count := d.Unit()
		p.kind = map[string]parquetfile.Kind{"us": parquetfile.TimeMicros, "ns": parquetfile.TimeNanos}[unit]
		long := map[string]int64{"W": 604_800_000, "D": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}[unit]
		if long > 0 {
			p.kind = parquetfile.TimeMillis
		}
		p.factor = int64(count) * max(long, 1)
	default:
	}
	if k, ok := kinds[size]; ok {
		p.kind = k
	}
	if p.kind == 0 {
		return nil, fmt.Errorf("items of %s: %w", d, formats.ErrUnsupported)
	}
	return []parquetField{p}, nil
}

// put appends the value of a cell.
func (p *parquetField) put(v *parquetfile.Values, cell int, optional bool) error {
	d, size := p.r.Type, p.r.Type.ItemSize()
	item := p.r.Items[(cell*p.of+p.k)*size:][:size]
	if d.Kind() == dtype.Complex {
		v.Data = append(v.Data, item[8*p.part:][:8]...)
		return nil
	}
	var word [8]byte
	copy(word[:], item)
	if d.BigEndian() {
		slices.Reverse(word[:size])
	}
	bits := binary.LittleEndian.Uint64(word[:])
	moment := d.Kind() == dtype.DateTime
	if optional {
		has := (p.r.None == nil || !p.r.None[cell]) && (!moment || int64(bits) != math.MinInt64)
		if v.Valid = append(v.Valid, has); !has {
			return nil
		}
	}
	switch {
	case p.kind == parquetfile.Bool:
		v.Data = append(v.Data, word[0])
		return nil
	case d.Kind() == dtype.Float && size == 2:
		f, _ := d.Float(item)
		bits = uint64(math.Float32bits(float32(f)))
	case d.Kind() == dtype.Int: // with its sign
		bits = uint64(int64(bits) << (64 - 8*size) >> (64 - 8*size))
	case moment:
		t := int64(bits)
		if t > math.MaxInt64/p.factor || t < math.MinInt64/p.factor {
			return fmt.Errorf("%s: %s of %d as Parquet, in milliseconds: %w", p.name, d, t, formats.ErrUnsupported)
		}
		bits = uint64(t * p.factor)
	}
	if size < 8 {
		v.Data = binary.LittleEndian.AppendUint32(v.Data, uint32(bits))
	} else {
		v.Data = binary.LittleEndian.AppendUint64(v.Data, bits)
	}
	return nil
}
