package stats_test

import (
	"encoding/binary"
	"fmt"

	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/stats"
)

// The statistics of a chunk are those of its blocks, merged. A page of an index keeps
// them.
func Example() {
	d, err := dtype.Parse("[('id', '<u2'), ('temp', '<i2')]")
	if err != nil {
		panic(err)
	}
	block := func(items ...[2]int16) []byte {
		var p []byte
		for _, it := range items {
			p = binary.LittleEndian.AppendUint16(p, uint16(it[0]))
			p = binary.LittleEndian.AppendUint16(p, uint16(it[1]))
		}
		return p
	}
	columns, err := stats.Columns(d, nil)
	if err != nil {
		panic(err)
	}
	temp := columns[1]
	blocks := []stats.Stat{temp.Of(block([2]int16{1, -7}, [2]int16{2, 0})), temp.Of(block([2]int16{3, 19}))}
	page, err := temp.AppendPage(nil, blocks)
	if err != nil {
		panic(err)
	}

	kept, err := temp.ParsePage(nil, page, 2)
	if err != nil {
		panic(err)
	}
	chunk := kept[0].Merge(kept[1])
	low := temp.Type().AppendJSON(nil, temp.Append(nil, chunk.Min))
	high := temp.Type().AppendJSON(nil, temp.Append(nil, chunk.Max))
	fmt.Printf("%s: %d items from %s to %s, %d of them 0\n", temp.Name(), chunk.Items, low, high, chunk.Fill)
	// Output: temp: 3 items from -7 to 19, 1 of them 0
}

// An array of 2 by 3 items ends within a block of 4 by 4: its padding does not count.
func ExampleColumn_OfBox() {
	d, err := dtype.Parse("|u1")
	if err != nil {
		panic(err)
	}
	columns, err := stats.Columns(d, nil)
	if err != nil {
		panic(err)
	}
	block := []byte{5, 6, 7, 0, 8, 9, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	s := columns[0].OfBox(block, []int64{4, 4}, []int64{2, 3})
	fmt.Println(s.Items, s.Min, s.Max, s.Fill)
	// Output: 6 5 9 0
}
