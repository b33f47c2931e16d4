//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"

// What the encoder of LZ4 blocks keeps where, as places in src:
// R8 p, DX a place before with the same four bytes, R9 the first literal, R10 the place to
// look at next, R13 the last one that is looked at here. SI is src, BX the table, DI where
// output goes, R15 64 bytes before its end. R11 and R12 are step and tries.

// HASH makes the place in the table of what is in v.
#define HASH(v, h) \
	IMUL3L $-1640531535, v, h \
	SHRL   $19, h

// EXTEND writes the part of n, 15 or more, that does not fit into a token.
#define EXTEND(n, more, last) \
	SUBQ $15, n     \
more:               \
	CMPQ n, $255    \
	JCS  last       \
	MOVB $255, (DI) \
	INCQ DI         \
	SUBQ $255, n    \
	JMP  more       \
last:               \
	MOVB n, (DI)    \
	INCQ DI

// func lz4EncodeAVX2(s *lz4State, table *[1 << lz4TableLog]uint16, dst, src []byte)
TEXT ·lz4EncodeAVX2(SB), NOSPLIT, $0-64
	MOVQ s+0(FP), AX
	MOVQ table+8(FP), BX
	MOVQ dst_base+16(FP), DI
	MOVQ dst_len+24(FP), R15
	MOVQ src_base+40(FP), SI
	MOVQ src_len+48(FP), R13
	LEAQ -64(DI)(R15*1), R15
	SUBQ $64, R13
	MOVQ lz4State_lit(AX), R9
	MOVQ lz4State_p(AX), R10
	MOVQ lz4State_step(AX), R11
	MOVQ lz4State_tries(AX), R12

	PCALIGN $32
search:
	MOVQ    R10, R8
	ADDQ    R11, R10
	CMPQ    R10, R13
	JHI     searching
	MOVQ    R12, R11
	SHRQ    $const_lz4Skip, R11
	INCQ    R12
	MOVL    (SI)(R8*1), AX
	HASH(AX, CX)
	MOVWLZX (BX)(CX*2), DX
	MOVW    R8, (BX)(CX*2)
	CMPL    (SI)(DX*1), AX
	JNE     search

back: // as far as what is before both is alike, 8 bytes a turn
	MOVQ    R8, CX
	SUBQ    R9, CX
	CMPQ    DX, $8
	JCS     backbytes
	MOVQ    -8(SI)(R8*1), R14
	XORQ    -8(SI)(DX*1), R14
	BSWAPQ  R14
	TZCNTQ  R14, R14
	SHRQ    $3, R14
	CMPQ    R14, CX
	CMOVQHI CX, R14
	SUBQ    R14, R8
	SUBQ    R14, DX
	CMPQ    R14, $8
	JEQ     back
	SUBQ    R14, CX

count: // bytes that are alike behind the first four
	VMOVDQU   4(SI)(R8*1), Y0
	VPCMPEQB  4(SI)(DX*1), Y0, Y1
	VPMOVMSKB Y1, R14
	XORL      $-1, R14
	JEQ       long
	TZCNTL    R14, R14
	CMPQ      CX, $32
	JHI       general
	CMPQ      DI, R15
	JHI       found

	// At most 32 literals and 35 bytes of a match, without a branch: the byte behind 15 is
	// written always, and overwritten where it does not count.
	VMOVDQU (SI)(R9*1), Y0
	MOVL    R8, R10
	SUBL    DX, R10
	LEAL    -15(CX), R11
	MOVB    R11, 1(DI)
	MOVQ    DI, R12
	MOVL    $15, AX
	CMPQ    CX, $15
	CMOVQCS CX, AX
	SBBQ    $-1, DI
	SHLL    $4, AX
	VMOVDQU Y0, 1(DI)
	LEAQ    3(DI)(CX*1), DI
	MOVW    R10, -2(DI)
	LEAL    -15(R14), R11
	MOVB    R11, (DI)
	MOVL    $15, R11
	CMPQ    R14, $15
	CMOVQCS R14, R11
	SBBQ    $-1, DI
	ORL     R11, AX
	MOVB    AX, (R12)
	LEAQ    4(R8)(R14*1), R8

after: // a match
	MOVQ    R8, R9
	CMPQ    R8, R13
	JHI     matched
	MOVL    -2(SI)(R8*1), AX
	HASH(AX, AX)
	LEAL    -2(R8), CX
	MOVW    CX, (BX)(AX*2)
	MOVL    (SI)(R8*1), AX
	HASH(AX, CX)
	MOVWLZX (BX)(CX*2), DX
	MOVW    R8, (BX)(CX*2)
	MOVQ    s+0(FP), R14
	LEAQ    1(R8), R10
	MOVL    $1, R11
	MOVQ    lz4State_accel(R14), R12
	SHLQ    $const_lz4Skip, R12
	CMPL    (SI)(DX*1), AX
	JNE     search
	XORL    CX, CX
	JMP     count

backbytes:
	TESTQ CX, CX
	JEQ   count
	TESTQ DX, DX
	JEQ   count
	MOVB  -1(SI)(R8*1), AX
	CMPB  AX, -1(SI)(DX*1)
	JNE   count
	DECQ  CX
	DECQ  R8
	DECQ  DX
	JMP   backbytes

long:
	MOVL $32, R14
	LEAQ 4(SI)(R8*1), AX
	LEAQ 4(SI)(DX*1), R12
	LEAQ 27(SI)(R13*1), R11 // 32 bytes before the last literals

more:
	LEAQ      (AX)(R14*1), R10
	CMPQ      R10, R11
	JHI       bytes
	VMOVDQU   (AX)(R14*1), Y0
	VPCMPEQB  (R12)(R14*1), Y0, Y1
	VPMOVMSKB Y1, R10
	XORL      $-1, R10
	JNE       last
	ADDQ      $32, R14
	JMP       more

last:
	TZCNTL R10, R10
	ADDQ   R10, R14
	JMP    general

bytes:
	ADDQ $32, R11

byte:
	LEAQ (AX)(R14*1), R10
	CMPQ R10, R11
	JCC  general
	MOVB (R10), R10
	CMPB R10, (R12)(R14*1)
	JNE  general
	INCQ R14
	JMP  byte

general: // CX literals, and R14 bytes of a match behind the first four
	MOVQ CX, AX
	SHRQ $7, AX
	ADDQ CX, AX
	MOVQ R14, R11
	SHRQ $7, R11
	ADDQ R11, AX
	ADDQ DI, AX
	CMPQ AX, R15
	JHI  found
	MOVL R8, R10
	SUBL DX, R10
	MOVQ DI, R12
	INCQ DI
	MOVL CX, AX
	SHLL $4, AX
	CMPQ CX, $15
	JCS  copy
	MOVL $0xf0, AX
	MOVQ CX, R11
	EXTEND(R11, morelits, lastlits)

copy:
	LEAQ (SI)(R9*1), DX
	ADDQ DI, CX

copy32:
	VMOVDQU (DX), Y0
	VMOVDQU Y0, (DI)
	ADDQ    $32, DX
	ADDQ    $32, DI
	CMPQ    DI, CX
	JCS     copy32
	MOVW    R10, (CX)
	LEAQ    2(CX), DI
	LEAQ    4(R8)(R14*1), R8
	CMPQ    R14, $15
	JCC     extended
	ORL     R14, AX
	MOVB    AX, (R12)
	JMP     after

extended:
	ORL  $15, AX
	MOVB AX, (R12)
	EXTEND(R14, morematch, lastmatch)
	JMP  after

searching:
	MOVL $const_lz4Searching, AX
	JMP  done

found:
	MOVL $const_lz4Found, AX
	JMP  done

matched:
	MOVL $const_lz4Matched, AX

done:
	VZEROUPPER
	MOVQ s+0(FP), CX
	SUBQ dst_base+16(FP), DI
	MOVQ AX, lz4State_place(CX)
	MOVQ R8, lz4State_p(CX)
	MOVQ R9, lz4State_lit(CX)
	MOVQ DI, lz4State_out(CX)
	MOVQ DX, lz4State_ref(CX)
	MOVQ R11, lz4State_step(CX)
	MOVQ R12, lz4State_tries(CX)
	RET
