//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// What Go's assembler has no name for; m, n and d are numbers of registers.

// SMIN, SMAX and MUL Vd.8H, Vn.8H, Vm.8H.
#define SMIN(m, n, d) WORD $(0x4e606c00 | (m)<<16 | (n)<<5 | (d))
#define SMAX(m, n, d) WORD $(0x4e606400 | (m)<<16 | (n)<<5 | (d))
#define MULH(m, n, d) WORD $(0x4e609c00 | (m)<<16 | (n)<<5 | (d))

// SMINV and SMAXV Hd, Vn.8H, and SADDLV Dd, Vn.4S: of all lanes.
#define SMINV(n, d) WORD $(0x4e71a800 | (n)<<5 | (d))
#define SMAXV(n, d) WORD $(0x4e70a800 | (n)<<5 | (d))
#define SADDLV(n, d) WORD $(0x4eb03800 | (n)<<5 | (d))

// SMULL Vd.4S, Vn.4H, Vm.4H, and SMLAL2 Vd.4S, Vn.8H, Vm.8H, added to what is in Vd.
#define SMULL(m, n, d) WORD $(0x0e60c000 | (m)<<16 | (n)<<5 | (d))
#define SMLAL2(m, n, d) WORD $(0x4e608000 | (m)<<16 | (n)<<5 | (d))

// SADALP Vd.4S, Vn.8H and UADALP Vd.2D, Vn.4S: the sums of pairs, added to what is in Vd.
#define SADALP(n, d) WORD $(0x4e606800 | (n)<<5 | (d))
#define UADALP(n, d) WORD $(0x6ea06800 | (n)<<5 | (d))

// FADD, FMUL, FMIN and FMAX Vd.2D, Vn.2D, Vm.2D. Of two zeros the one with a sign is less.
#define FADD(m, n, d) WORD $(0x4e60d400 | (m)<<16 | (n)<<5 | (d))
#define FMUL(m, n, d) WORD $(0x6e60dc00 | (m)<<16 | (n)<<5 | (d))
#define FMIN(m, n, d) WORD $(0x4ee0f400 | (m)<<16 | (n)<<5 | (d))
#define FMAX(m, n, d) WORD $(0x4e60f400 | (m)<<16 | (n)<<5 | (d))

// FSUB and FDIV Vd.2D, Vn.2D, Vm.2D: n - m, n / m; and FSQRT Vd.2D, Vn.2D.
#define FSUB(m, n, d) WORD $(0x4ee0d400 | (m)<<16 | (n)<<5 | (d))
#define FDIV(m, n, d) WORD $(0x6e60fc00 | (m)<<16 | (n)<<5 | (d))
#define FSQRT(n, d) WORD $(0x6ee1f800 | (n)<<5 | (d))

// FMINNM and FMAXNM Vd.2D, Vn.2D, Vm.2D: the other number if one is NaN.
#define FMINNM(m, n, d) WORD $(0x4ee0c400 | (m)<<16 | (n)<<5 | (d))
#define FMAXNM(m, n, d) WORD $(0x4e60c400 | (m)<<16 | (n)<<5 | (d))

// FCVTZU Vd.2D, Vn.2D: cut to integers.
#define FCVTZU(n, d) WORD $(0x6ee1b800 | (n)<<5 | (d))

// BIC Vd.16B, Vn.16B, Vm.16B: n without m.
#define BICV(m, n, d) WORD $(0x4e601c00 | (m)<<16 | (n)<<5 | (d))

// FADDP, FMINP and FMAXP Dd, Vn.2D: of both lanes.
#define FADDP(n, d) WORD $(0x7e70d800 | (n)<<5 | (d))
#define FMINP(n, d) WORD $(0x7ef0f800 | (n)<<5 | (d))
#define FMAXP(n, d) WORD $(0x7e70f800 | (n)<<5 | (d))

// FCMGT and FCMGE Vd.2D, Vn.2D, Vm.2D: n > m, n >= m; FCMEQ Vd.2D, Vn.2D, #0.0.
#define FCMGT(m, n, d) WORD $(0x6ee0e400 | (m)<<16 | (n)<<5 | (d))
#define FCMGE(m, n, d) WORD $(0x6e60e400 | (m)<<16 | (n)<<5 | (d))
#define FCMEQ0(n, d) WORD $(0x4ee0d800 | (n)<<5 | (d))

// BEGIN16 takes the parameters, and the bounds of the first 16 numbers into V16 to V19; V20
// to V23 are for sums.
#define BEGIN16 \
	MOVD v+0(FP), R0; \
	MOVD n+8(FP), R2; \
	VLD1 (R0), [V16.H8, V17.H8]; \
	VMOV V16.B16, V18.B16; \
	VMOV V17.B16, V19.B16; \
	VEOR V20.B16, V20.B16, V20.B16; \
	VEOR V21.B16, V21.B16, V21.B16; \
	VEOR V22.B16, V22.B16, V22.B16; \
	VEOR V23.B16, V23.B16, V23.B16

// NEXT16 takes 16 numbers into V0 and V1, and all but their squares into account.
#define NEXT16 \
	VLD1.P 32(R0), [V0.H8, V1.H8]; \
	SMIN(0, 16, 16); \
	SMIN(1, 17, 17); \
	SMAX(0, 18, 18); \
	SMAX(1, 19, 19); \
	SADALP(0, 20); \
	SADALP(1, 21)

// END16 stores the bounds, and the sum.
#define END16 \
	SMIN(17, 16, 16); \
	SMAX(19, 18, 18); \
	SMINV(16, 16); \
	SMAXV(18, 18); \
	SADDLV(20, 20); \
	SADDLV(21, 21); \
	VADD V21.D2, V20.D2, V20.D2; \
	VMOV V16.H[0], R3; \
	VMOV V18.H[0], R4; \
	VMOV V20.D[0], R5; \
	MOVH R3, lo+16(FP); \
	MOVH R4, hi+18(FP); \
	MOVD R5, sum+24(FP)

// SWAP turns the bytes of each number around.
#define SWAP(rev) \
	MOVD   dst+0(FP), R0; \
	MOVD   src+8(FP), R1; \
	MOVD   n+16(FP), R2; \
loop: \
	VLD1.P 64(R1), [V0.B16, V1.B16, V2.B16, V3.B16]; \
	rev    V0.B16, V0.B16; \
	rev    V1.B16, V1.B16; \
	rev    V2.B16, V2.B16; \
	rev    V3.B16, V3.B16; \
	VST1.P [V0.B16, V1.B16, V2.B16, V3.B16], 64(R0); \
	SUBS   $64, R2; \
	BNE    loop; \
	RET

// func smallsNEON(v *int16, n int) (lo, hi int16, sum, squares int64)
TEXT ·smallsNEON(SB), NOSPLIT, $0-40
	BEGIN16

loop:
	NEXT16
	SMULL(0, 0, 2)
	SMULL(1, 1, 3)
	SMLAL2(0, 0, 2) // up to 2^31, without a sign
	SMLAL2(1, 1, 3)
	UADALP(2, 22)
	UADALP(3, 23)
	SUBS $16, R2
	BNE  loop

	END16
	VADD V23.D2, V22.D2, V22.D2
	VMOV V22.D[0], R3
	VMOV V22.D[1], R4
	ADD  R4, R3
	MOVD R3, squares+32(FP)
	RET

// func wrappedNEON(v *int16, n int) (lo, hi int16, sum, squares int64)
TEXT ·wrappedNEON(SB), NOSPLIT, $0-40
	BEGIN16

loop:
	NEXT16
	MULH(0, 0, 2)
	MULH(1, 1, 3)
	SADALP(2, 22)
	SADALP(3, 23)
	SUBS $16, R2
	BNE  loop

	END16
	SADDLV(22, 22)
	SADDLV(23, 23)
	VADD V23.D2, V22.D2, V22.D2
	VMOV V22.D[0], R3
	MOVD R3, squares+32(FP)
	RET

// WINDOW takes a number of each of two windows: register n, which is v. The numbers l and h
// are those of lo and hi, which become v if it is less, and if it is not less.
#define WINDOW(n, v, l, lo, h, hi, sum, squares) \
	FMUL(n, n, 24); \
	FCMGT(n, l, 25); \
	FCMGT(n, h, 26); \
	FADD(n, sum, sum); \
	FADD(24, squares, squares); \
	VBIT V25.B16, v.B16, lo.B16; \
	VBIF V26.B16, v.B16, hi.B16

// func windowsNEON(w *Windows, v *float64, stride, n int)
TEXT ·windowsNEON(SB), NOSPLIT, $0-32
	MOVD w+0(FP), R0
	MOVD v+8(FP), R1
	MOVD stride+16(FP), R3
	MOVD n+24(FP), R2
	ADD  R3<<3, R1, R4
	ADD  R3<<3, R4, R5
	ADD  R3<<3, R5, R6
	MOVD R0, R7
	VLD1.P 64(R7), [V16.D2, V17.D2, V18.D2, V19.D2] // lo, lo, hi, hi
	VLD1   (R7), [V20.D2, V21.D2, V22.D2, V23.D2]   // sums, and squares

loop:
	VLD1.P 32(R1), [V0.D2, V1.D2]
	VLD1.P 32(R4), [V2.D2, V3.D2]
	VLD1.P 32(R5), [V4.D2, V5.D2]
	VLD1.P 32(R6), [V6.D2, V7.D2]
	VZIP1  V2.D2, V0.D2, V8.D2
	VZIP1  V6.D2, V4.D2, V9.D2
	VZIP2  V2.D2, V0.D2, V10.D2
	VZIP2  V6.D2, V4.D2, V11.D2
	VZIP1  V3.D2, V1.D2, V12.D2
	VZIP1  V7.D2, V5.D2, V13.D2
	VZIP2  V3.D2, V1.D2, V14.D2
	VZIP2  V7.D2, V5.D2, V15.D2
	WINDOW(8, V8, 16, V16, 18, V18, 20, 22)
	WINDOW(9, V9, 17, V17, 19, V19, 21, 23)
	WINDOW(10, V10, 16, V16, 18, V18, 20, 22)
	WINDOW(11, V11, 17, V17, 19, V19, 21, 23)
	WINDOW(12, V12, 16, V16, 18, V18, 20, 22)
	WINDOW(13, V13, 17, V17, 19, V19, 21, 23)
	WINDOW(14, V14, 16, V16, 18, V18, 20, 22)
	WINDOW(15, V15, 17, V17, 19, V19, 21, 23)
	SUBS   $4, R2
	BNE    loop

	VST1.P [V16.D2, V17.D2, V18.D2, V19.D2], 64(R0)
	VST1   [V20.D2, V21.D2, V22.D2, V23.D2], (R0)
	RET

// BIN takes two numbers of a bin, which are in register n.
#define BIN(n, lo, hi, sum, squares) \
	FMUL(n, n, 24); \
	FMIN(n, lo, lo); \
	FMAX(n, hi, hi); \
	FADD(n, sum, sum); \
	FADD(24, squares, squares)

// STOREBIN stores a bin. Its bounds have the right signs, which is all that is asked of the
// bits that numbers have, and of those that all have.
#define STOREBIN(lo, hi, sum, squares) \
	FMINP(lo, 4); \
	FMAXP(hi, 5); \
	FADDP(sum, 6); \
	FADDP(squares, 7); \
	FMOVD F4, Bin_Lo(R0); \
	FMOVD F5, Bin_Hi(R0); \
	FMOVD F4, Bin_some(R0); \
	FMOVD F5, Bin_each(R0); \
	FMOVD F6, Bin_Sum(R0); \
	FMOVD F7, Bin_Squares(R0); \
	ADD   $Bin__size, R0

// func binsNEON(dst *Bin, v *float64, size, pairs int)
TEXT ·binsNEON(SB), NOSPLIT, $0-32
	MOVD dst+0(FP), R0
	MOVD v+8(FP), R1
	MOVD size+16(FP), R3
	MOVD pairs+24(FP), R2

pair: // of bins at R1 and R4
	ADD  R3<<3, R1, R4
	VLD1 (R1), [V16.D2]
	VLD1 (R4), [V17.D2]
	VMOV V16.B16, V18.B16
	VMOV V17.B16, V19.B16
	VEOR V20.B16, V20.B16, V20.B16
	VEOR V21.B16, V21.B16, V21.B16
	VEOR V22.B16, V22.B16, V22.B16
	VEOR V23.B16, V23.B16, V23.B16
	LSR  $2, R3, R5
	CBZ  R5, two

four:
	VLD1.P 32(R1), [V0.D2, V1.D2]
	VLD1.P 32(R4), [V2.D2, V3.D2]
	BIN(0, 16, 18, 20, 22)
	BIN(2, 17, 19, 21, 23)
	BIN(1, 16, 18, 20, 22)
	BIN(3, 17, 19, 21, 23)
	SUBS   $1, R5
	BNE    four

two:
	TBZ    $1, R3, one
	VLD1.P 16(R1), [V0.D2]
	VLD1.P 16(R4), [V2.D2]
	BIN(0, 16, 18, 20, 22)
	BIN(2, 17, 19, 21, 23)

one: // goes into the sums alone, and into the bounds twice
	TBZ     $0, R3, store
	FMOVD.P 8(R1), F0
	FMOVD.P 8(R4), F2
	VDUP    V0.D[0], V1.D2
	VDUP    V2.D[0], V3.D2
	FMUL(0, 0, 24)
	FMUL(2, 2, 25)
	FMIN(1, 16, 16)
	FMIN(3, 17, 17)
	FMAX(1, 18, 18)
	FMAX(3, 19, 19)
	FADD(0, 20, 20)
	FADD(2, 21, 21)
	FADD(24, 22, 22)
	FADD(25, 23, 23)

store:
	STOREBIN(16, 18, 20, 22)
	STOREBIN(17, 19, 21, 23)
	MOVD R4, R1
	SUBS $1, R2
	BNE  pair
	RET

// What partsNEON keeps: numbers of a bin, and others by their names.
#define EACH 24
#define ONE 25
#define MOST 26
#define QUANTUM 27
#define HALF 28
#define NONE V29
#define ZERO 30

// SMALL makes a part of register n, which is v: 65535 where V11 has no bits, 0 where V12 has.
#define SMALL(n, v) \
	FMAXNM(ZERO, n, n); \
	FMINNM(ONE, n, n); \
	FMUL(QUANTUM, n, n); \
	FADD(HALF, n, n); \
	VBIF V11.B16, NONE.B16, v.B16; \
	BICV(12, n, n); \
	FCVTZU(n, n)

// PART makes parts of the sums and the squares of two bins, with their bounds. V8 is the
// band, V9 one by it.
#define PART(lo, vlo, hi, vhi, sum, vsum, sq, vsq) \
	FMUL(EACH, sum, sum); \
	FMUL(EACH, sq, sq); \
	FSUB(lo, hi, 8); \
	FDIV(8, ONE, 9); \
	FSUB(8, lo, 10); \
	FCMGE(10, sum, 11); \
	FADD(8, hi, 10); \
	FCMGE(sum, 10, 10); \
	VAND  V10.B16, V11.B16, V11.B16; \
	FCMGE(8, MOST, 10); \
	VAND  V10.B16, V11.B16, V11.B16; \
	FCMGE(sq, MOST, 10); \
	VAND  V10.B16, V11.B16, V11.B16; \
	FCMEQ0(8, 10); \
	VAND  V11.B16, V10.B16, V10.B16; \
	VCMEQ vlo.D2, vhi.D2, V12.D2; \
	VORR  V10.B16, V12.B16, V12.B16; \
	FMUL(sum, sum, 10); \
	FSUB(10, sq, 10); \
	FMAXNM(ZERO, 10, 10); \
	FSQRT(10, 10); \
	FADD(10, 10, 10); \
	FMUL(9, 10, sq); \
	FSUB(lo, sum, sum); \
	FMUL(9, sum, sum); \
	SMALL(sum, vsum); \
	SMALL(sq, vsq)

// func partsNEON(means, devs *byte, lo, hi, sum, sq *float64, each float64, n int)
TEXT ·partsNEON(SB), NOSPLIT, $0-64
	MOVD  means+0(FP), R0
	MOVD  devs+8(FP), R1
	MOVD  lo+16(FP), R3
	MOVD  hi+24(FP), R4
	MOVD  sum+32(FP), R5
	MOVD  sq+40(FP), R6
	FMOVD each+48(FP), F24
	MOVD  n+56(FP), R2
	VDUP  V24.D[0], V24.D2
	MOVD  $0x3ff0000000000000, R7 // 1
	VDUP  R7, V25.D2
	MOVD  $0x7fefffffffffffff, R7 // the largest number
	VDUP  R7, V26.D2
	MOVD  $0x40efffc000000000, R7 // 65534
	VDUP  R7, V27.D2
	MOVD  $0x3fe0000000000000, R7 // 0.5
	VDUP  R7, V28.D2
	MOVD  $0x40efffe000000000, R7 // 65535
	VDUP  R7, NONE.D2
	VEOR  V30.B16, V30.B16, V30.B16

loop:
	VLD1.P  32(R3), [V0.D2, V1.D2]
	VLD1.P  32(R4), [V2.D2, V3.D2]
	VLD1.P  32(R5), [V4.D2, V5.D2]
	VLD1.P  32(R6), [V6.D2, V7.D2]
	PART(0, V0, 2, V2, 4, V4, 6, V6)
	PART(1, V1, 3, V3, 5, V5, 7, V7)
	VUZP1   V5.S4, V4.S4, V4.S4
	VUZP1   V7.S4, V6.S4, V6.S4
	VUZP1   V4.H8, V4.H8, V4.H8
	VUZP1   V6.H8, V6.H8, V6.H8
	FMOVD.P F4, 8(R0)
	FMOVD.P F6, 8(R1)
	SUBS    $4, R2
	BNE     loop
	RET

// func pairsNEON(first, second *int16, src *byte, n int)
TEXT ·pairsNEON(SB), NOSPLIT, $0-32
	MOVD first+0(FP), R0
	MOVD second+8(FP), R1
	MOVD src+16(FP), R3
	MOVD n+24(FP), R2

loop:
	VLD1.P 64(R3), [V0.H8, V1.H8, V2.H8, V3.H8]
	VUZP1  V1.H8, V0.H8, V4.H8
	VUZP1  V3.H8, V2.H8, V5.H8
	VUZP2  V1.H8, V0.H8, V6.H8
	VUZP2  V3.H8, V2.H8, V7.H8
	VST1.P [V4.H8, V5.H8], 32(R0)
	VST1.P [V6.H8, V7.H8], 32(R1)
	SUBS   $16, R2
	BNE    loop
	RET

// func swap2NEON(dst, src *byte, n int)
TEXT ·swap2NEON(SB), NOSPLIT, $0-24
	SWAP(VREV16)

// func swap4NEON(dst, src *byte, n int)
TEXT ·swap4NEON(SB), NOSPLIT, $0-24
	SWAP(VREV32)

// func swap8NEON(dst, src *byte, n int)
TEXT ·swap8NEON(SB), NOSPLIT, $0-24
	SWAP(VREV64)
