package bloscpack

import "encoding/binary"

// This file has the lengths of chunks that a Writer keeps until Close, in little
// memory, and the table that it makes of them.

// lengths keeps the lengths of chunks as varints: a length below 128 takes one
// byte, a length below 16384 takes two. So the lengths of ten million records
// of a few hundred bytes take 20 MB.
type lengths struct {
	n      int64
	blocks [][]byte // all but the last are full
}

// lengthsBlock is the number of bytes that are allocated at a time. Full blocks are
// never copied.
const lengthsBlock = 64 << 10

func (l *lengths) add(lens []uint32) {
	k := len(l.blocks) - 1
	for _, n := range lens {
		if k < 0 || cap(l.blocks[k])-len(l.blocks[k]) < binary.MaxVarintLen32 {
			l.blocks = append(l.blocks, make([]byte, 0, lengthsBlock))
			k++
		}
		l.blocks[k] = binary.AppendUvarint(l.blocks[k], uint64(n))
	}
	l.n += int64(len(lens))
}

// memory returns the number of bytes that l takes.
func (l *lengths) memory() int64 { return int64(len(l.blocks)) * lengthsBlock }

// table writes the offset of each chunk to b, from off for the first chunk on, and -1
// to the spare entries behind them. It frees the lengths.
func (l *lengths) table(b []byte, off int64) {
	for i, block := range l.blocks {
		for len(block) > 0 {
			n, k := binary.Uvarint(block)
			block = block[k:]
			binary.LittleEndian.PutUint64(b, uint64(off))
			b = b[entryLen:]
			off += int64(n)
		}
		l.blocks[i] = nil
	}
	for i := range b {
		b[i] = 0xff
	}
	l.blocks = nil
}
