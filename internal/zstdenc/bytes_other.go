//go:build !(amd64 || arm64) || race

package zstdenc

import "encoding/binary"

func load64(p []byte, i int) uint64     { return binary.LittleEndian.Uint64(p[i:]) }
func load32(p []byte, i int) uint32     { return binary.LittleEndian.Uint32(p[i:]) }
func load8(p []byte, i int) byte        { return p[i] }
func store64(p []byte, i int, v uint64) { binary.LittleEndian.PutUint64(p[i:], v) }

func copy16(dst []byte, i int, src []byte, j int) { copy(dst[i:i+16], src[j:j+16]) }
