package parquet

import (
	"encoding/binary"
	"math"
	"math/big"
	"strconv"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"github.com/farread/farread/formats/dtype"
)

// Physical types, as they stand in the file.
const (
	physicalBool   = format.Boolean
	physicalInt32  = format.Int32
	physicalInt64  = format.Int64
	physicalInt96  = format.Int96
	physicalFloat  = format.Float
	physicalDouble = format.Double
	physicalBytes  = format.ByteArray
	physicalFixed  = format.FixedLenByteArray
)

// A Type is what the values of a column are.
type Type int

// The types. Other values are not read.
const (
	Other Type = iota
	Bool
	I8
	I16
	I32
	I64
	U8
	U16
	U32
	U64
	F32
	F64
	Time  // a date, or a date and a time
	Clock // a time of day
	Text
)

// Integer reports whether values of the type are in Values.Int alone.
func (t Type) Integer() bool { return t >= Bool && t <= U64 }

// Float reports whether values of the type are in Values.Float.
func (t Type) Float() bool { return t == F32 || t == F64 }

// A Column is a column of a file.
type Column struct {
	Name  string // of members of structures with points between
	Type  Type
	Kind  string // the type in words
	Local bool   // times are local, and not UTC
	// Digits is how many digits decimals have that become the floats next to them; 0: values are as they stand there.
	Digits int

	physical format.Type
	size     int // bytes of a value; 0: its length stands before it
	maxDef   int
	unit     int64 // units of a second; 0: days
	scale    int   // digits of a decimal behind the point
	decimal  bool
}

// Values are values of a column in the order of rows, without those that are null. Which
// of the lists is used, the type decides: Bool and whole numbers are in Int (a U64 with
// its bits), F32 and F64 in Float, texts in Text. Times are seconds since 1970, and times
// of day since midnight, in Int, and what they have beyond these in Nano.
type Values struct {
	Null  []bool // of each row
	Int   []int64
	Nano  []int32
	Float []float64
	Text  []string
}

// Reset empties v and keeps its memory.
func (v *Values) Reset() {
	v.Null, v.Int, v.Nano, v.Float, v.Text = v.Null[:0], v.Int[:0], v.Nano[:0], v.Float[:0], v.Text[:0]
}

func (v *Values) len() int { return max(len(v.Int), len(v.Float), len(v.Text)) }

// copy appends a value of a dictionary.
func (v *Values) copy(d *Values, i int) {
	switch {
	case len(d.Float) > 0:
		v.Float = append(v.Float, d.Float[i])
	case len(d.Text) > 0:
		v.Text = append(v.Text, d.Text[i])
	default:
		v.Int = append(v.Int, d.Int[i])
		if len(d.Nano) > 0 {
			v.Nano = append(v.Nano, d.Nano[i])
		}
	}
}

// columnOf says what a leaf of the schema is. If maxRep is above 0, a row may have
// several values.
func columnOf(e *format.SchemaElement, name string, maxDef, maxRep int) Column {
	c := Column{Name: name, physical: e.Type.V, maxDef: maxDef}
	switch c.physical {
	case physicalInt32, physicalFloat:
		c.size = 4
	case physicalInt64, physicalDouble:
		c.size = 8
	case physicalInt96:
		c.size = 12
	case physicalFixed:
		c.size = int(e.TypeLength.V)
	case physicalBool, physicalBytes:
	}
	c.meaning(e)
	if maxRep > 0 {
		c.Type, c.Kind = Other, "list"
	}
	return c
}

// meaning finds out what values are, by the logical type, the older converted type, and
// the physical one.
func (c *Column) meaning(e *format.SchemaElement) {
	c.Type, c.Kind = Other, "bytes"
	switch c.physical {
	case physicalBool:
		c.Type = Bool
	case physicalInt32:
		c.Type = I32
	case physicalInt64:
		c.Type = I64
	case physicalInt96:
		c.Type, c.Local, c.unit = Time, true, 1e9
	case physicalFloat:
		c.Type = F32
	case physicalDouble:
		c.Type = F64
	case physicalBytes:
		c.Type = Text // without a type it may be one: writers of old did not say so
	case physicalFixed:
	}
	is32, is64 := c.physical == physicalInt32, c.physical == physicalInt64
	switch t := e.LogicalType.Value.(type) {
	case *format.TimestampType:
		c.timestamp(unitOf(&t.Unit), !t.IsAdjustedToUTC, is64)
	case *format.TimeType:
		c.clock(unitOf(&t.Unit), is32 || is64)
	case *format.DateType:
		c.day(is32)
	case *format.IntType:
		c.integer(int(t.BitWidth), t.IsSigned)
	case *format.DecimalType:
		c.decimals(int(t.Precision), int(t.Scale))
	case *format.Float16Type:
		if c.size == 2 {
			c.Type = F32
		}
	case *format.NullType:
		c.Type, c.Kind = Other, "nothing"
	case *format.JsonType, *format.BsonType, *format.UUIDType, *format.MapType, *format.ListType:
		c.Type = Other
	case nil:
		c.converted(e, is32, is64)
	}
	if c.Type != Other {
		c.Kind = [...]string{"", "bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64", "times", "times of day", "text"}[c.Type]
	}
}

// converted is for files of old writers.
func (c *Column) converted(e *format.SchemaElement, is32, is64 bool) {
	if !e.ConvertedType.Valid {
		return
	}
	switch e.ConvertedType.V {
	case deprecated.Date:
		c.day(is32)
	case deprecated.TimeMillis:
		c.clock(1e3, is32)
	case deprecated.TimeMicros:
		c.clock(1e6, is64)
	case deprecated.TimestampMillis:
		c.timestamp(1e3, false, is64)
	case deprecated.TimestampMicros:
		c.timestamp(1e6, false, is64)
	case deprecated.Decimal:
		c.decimals(int(e.Precision.V), int(e.Scale.V))
	case deprecated.Uint8, deprecated.Uint16, deprecated.Uint32, deprecated.Uint64:
		c.integer(8<<(e.ConvertedType.V-deprecated.Uint8), false)
	case deprecated.Int8, deprecated.Int16, deprecated.Int32, deprecated.Int64:
		c.integer(8<<(e.ConvertedType.V-deprecated.Int8), true)
	case deprecated.Json, deprecated.Bson, deprecated.Interval, deprecated.Map, deprecated.MapKeyValue, deprecated.List:
		c.Type = Other
	default: // texts
	}
}

func unitOf(u *format.TimeUnit) int64 {
	switch u.Value.(type) {
	case *format.MilliSeconds:
		return 1e3
	case *format.MicroSeconds:
		return 1e6
	case *format.NanoSeconds:
		return 1e9
	}
	return 0
}

func (c *Column) timestamp(unit int64, local, ok bool) {
	if ok && unit > 0 {
		c.Type, c.unit, c.Local = Time, unit, local
	}
}

func (c *Column) clock(unit int64, ok bool) {
	if ok && unit > 0 {
		c.Type, c.unit = Clock, unit
	}
}

func (c *Column) day(ok bool) {
	if ok {
		c.Type, c.unit, c.Local = Time, 0, true
	}
}

func (c *Column) integer(bits int, signed bool) {
	if c.physical != physicalInt32 && c.physical != physicalInt64 {
		return
	}
	if bits == 64 && c.physical == physicalInt32 {
		return
	}
	switch types := map[int][2]Type{8: {U8, I8}, 16: {U16, I16}, 32: {U32, I32}, 64: {U64, I64}}[bits]; {
	case signed:
		c.Type = types[1]
	default:
		c.Type = types[0]
	}
}

// decimals become whole numbers if they are some, else the floats next to them.
func (c *Column) decimals(digits, scale int) {
	const most = 76 // digits of the longest decimals
	switch whole := c.physical == physicalInt32 || c.physical == physicalInt64; {
	case scale < 0 || scale > most || !whole && c.physical != physicalFixed && c.physical != physicalBytes || c.size > 32:
		c.Type, c.Kind = Other, "decimals"
	case scale > 0 || !whole:
		c.Type, c.decimal, c.scale, c.Digits = F64, true, scale, digits
	}
}

// putInt appends a value of a type of whole numbers.
func (c *Column) putInt(v *Values, x int64) {
	switch c.Type {
	case Time, Clock:
		if c.unit == 0 {
			v.Int, v.Nano = append(v.Int, x*86400), append(v.Nano, 0)
			return
		}
		sec, rest := x/c.unit, x%c.unit
		if rest < 0 {
			sec, rest = sec-1, rest+c.unit
		}
		v.Int, v.Nano = append(v.Int, sec), append(v.Nano, int32(rest*(1e9/c.unit)))
	case U8:
		v.Int = append(v.Int, int64(uint8(x)))
	case U16:
		v.Int = append(v.Int, int64(uint16(x)))
	case U32:
		v.Int = append(v.Int, int64(uint32(x)))
	case I8:
		v.Int = append(v.Int, int64(int8(x)))
	case I16:
		v.Int = append(v.Int, int64(int16(x)))
	default:
		if c.decimal {
			v.Float = append(v.Float, scaled(strconv.FormatInt(x, 10), c.scale))
			return
		}
		v.Int = append(v.Int, x)
	}
}

// scaled is the float next to a decimal.
func scaled(digits string, scale int) float64 {
	f, _ := strconv.ParseFloat(digits+"e-"+strconv.Itoa(scale), 64)
	return f
}

// put appends a value of c.size bytes, or of any number if c.size is 0.
func (c *Column) put(v *Values, p []byte) {
	switch c.physical {
	case physicalInt32:
		c.putInt(v, int64(int32(binary.LittleEndian.Uint32(p))))
	case physicalInt64:
		c.putInt(v, int64(binary.LittleEndian.Uint64(p)))
	case physicalFloat:
		v.Float = append(v.Float, float64(math.Float32frombits(binary.LittleEndian.Uint32(p))))
	case physicalDouble:
		v.Float = append(v.Float, math.Float64frombits(binary.LittleEndian.Uint64(p)))
	case physicalInt96:
		const epoch = 2_440_588 // 1970 in Julian days
		ns := int64(binary.LittleEndian.Uint64(p))
		sec, rest := ns/1e9, ns%1e9
		if rest < 0 {
			sec, rest = sec-1, rest+1e9
		}
		day := int64(int32(binary.LittleEndian.Uint32(p[8:]))) - epoch
		v.Int, v.Nano = append(v.Int, day*86400+sec), append(v.Nano, int32(rest))
	default:
		c.putBytes(v, p)
	}
}

func (c *Column) putBytes(v *Values, p []byte) {
	switch {
	case c.decimal:
		n := new(big.Int).SetBytes(p)
		if len(p) > 0 && p[0] >= 0x80 {
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(p))))
		}
		v.Float = append(v.Float, scaled(n.String(), c.scale))
	case c.Type == F32: // two bytes
		v.Float = append(v.Float, float64(dtype.HalfToFloat(binary.LittleEndian.Uint16(p))))
	default:
		v.Text = append(v.Text, string(p))
	}
}
