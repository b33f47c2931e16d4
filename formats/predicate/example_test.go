package predicate_test

import (
	"encoding/binary"
	"fmt"

	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/predicate"
	"github.com/farread/farread/formats/stats"
)

// Statistics tell that no item of a block matches, or that each does; only other blocks
// are looked into.
func Example() {
	d, err := dtype.Parse("<i2")
	if err != nil {
		panic(err)
	}
	e, err := predicate.Parse("3 < v <= 5")
	if err != nil {
		panic(err)
	}
	p, err := e.Bind(d)
	if err != nil {
		panic(err)
	}
	columns, err := stats.Columns(d, nil)
	if err != nil {
		panic(err)
	}
	for _, items := range [][]uint16{{1, 2, 3}, {4, 5, 4}, {1, 4, 9, 5}} {
		var block []byte
		for _, v := range items {
			block = binary.LittleEndian.AppendUint16(block, v)
		}
		var known []stats.Stat // in an index: no bytes of the block are needed for it
		for _, c := range p.Columns() {
			known = append(known, columns[c].Of(block))
		}
		switch m := p.Match(known); m {
		case predicate.Some:
			fmt.Printf("%v: mask %04b\n", m, p.Mask(nil, block))
		default:
			fmt.Println(m)
		}
	}
	// Output:
	// None
	// All
	// Some: mask [1010]
}

// An error says where in the text it is.
func ExampleParse() {
	_, err := predicate.Parse("v > 3 && v < 5")
	fmt.Println(err)
	// Output: where: character 7, at "&& v < 5": write and: syntax error
}
