package diskcache

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// FuzzSegment: whatever a file holds, its pieces lie inside the file and the object.
func FuzzSegment(f *testing.F) {
	dir := f.TempDir()
	small(f, dir)
	for _, p := range filesOf(f, dir) {
		f.Add(p)
	}
	f.Add(append(make([]byte, 8), append([]byte{4, 0, 0, 0}, make([]byte, 12)...)...))
	f.Fuzz(func(t *testing.T, p []byte) {
		if len(p) >= pieceHead && p[0] != segMagic[0] { // a piece whose head has the right checksum
			p = bytes.Clone(p)
			binary.LittleEndian.PutUint32(p[16:], sumOf(p, [saltLen]byte{}))
		}
		r := bytes.NewReader(p)
		salt, id, from, err := readHead(r)
		if err != nil {
			// Any piece behind a head that cannot be read.
			from, id.Size = 0, 600
		}
		before, n := from, 0
		end := readPieces(r, from, int64(len(p)), salt, id.Size, func(x piece) bool {
			if x.pos < before+pieceHead || x.pos+int64(x.len) > int64(len(p)) || x.off < 0 || x.off+int64(x.len) > id.Size || x.len <= 0 {
				t.Fatalf("%+v in a file of %d bytes, of an object of %d", x, len(p), id.Size)
			}
			before = x.pos + int64(x.len)
			n++
			return true
		})
		if end > int64(max(len(p), int(from))) || end < before {
			t.Fatalf("end at %d of %d", end, len(p))
		}
	})
}

// FuzzLast: whatever a file holds, it is refused or says what would be written.
func FuzzLast(f *testing.F) {
	dir := f.TempDir()
	small(f, dir)
	for _, p := range filesOf(f, dir) {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		l, err := parseLast(p)
		if err != nil {
			return
		}
		if l.Size <= 0 {
			t.Fatalf("%+v", l)
		}
		if again := l.encode(); again != nil {
			if back, err := parseLast(again); err != nil || !back.equal(&l) {
				t.Fatalf("%+v, %+v, %v", l, back, err)
			}
		}
	})
}
