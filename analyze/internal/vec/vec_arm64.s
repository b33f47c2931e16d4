//go:build !purego

#include "textflag.h"

// What Go's assembler has no name for; m, n and d are numbers of registers.

// FCVTL Vd.2D, Vn.2S and FCVTL2 Vd.2D, Vn.4S.
#define FCVTL(n, d) WORD $(0x0e617800 | (n)<<5 | (d))
#define FCVTL2(n, d) WORD $(0x4e617800 | (n)<<5 | (d))

// FADD, FSUB, FMUL, FMIN and FMAX Vd.2D, Vn.2D, Vm.2D. The extremes are NaN if one is.
#define FADD(m, n, d) WORD $(0x4e60d400 | (m)<<16 | (n)<<5 | (d))
#define FSUB(m, n, d) WORD $(0x4ee0d400 | (m)<<16 | (n)<<5 | (d))
#define FMUL(m, n, d) WORD $(0x6e60dc00 | (m)<<16 | (n)<<5 | (d))
#define FMIN(m, n, d) WORD $(0x4ee0f400 | (m)<<16 | (n)<<5 | (d))
#define FMAX(m, n, d) WORD $(0x4e60f400 | (m)<<16 | (n)<<5 | (d))

// FADDP, FMINP and FMAXP Dd, Vn.2D: of both lanes.
#define FADDP(n, d) WORD $(0x7e70d800 | (n)<<5 | (d))
#define FMINP(n, d) WORD $(0x7ef0f800 | (n)<<5 | (d))
#define FMAXP(n, d) WORD $(0x7e70f800 | (n)<<5 | (d))

// FNEG Vd.2D, Vn.2D, and FMLA Vd.2D, Vn.2D, Vm.2D, which rounds once.
#define FNEG(n, d) WORD $(0x6ee0f800 | (n)<<5 | (d))
#define FMLA(m, n, d) WORD $(0x4e60cc00 | (m)<<16 | (n)<<5 | (d))

// FCMGT Vd.2D, Vn.2D, Vm.2D: n > m, and FCMEQ Vd.2D, Vn.2D, #0.0: all bits of a lane, or none.
#define FCMGT(m, n, d) WORD $(0x6ee0e400 | (m)<<16 | (n)<<5 | (d))
#define FCMEQ0(n, d) WORD $(0x4ee0d800 | (n)<<5 | (d))

// ORR Vd.16B, Vn.16B, Vm.16B, and BIC: n without m.
#define ORRV(m, n, d) WORD $(0x4ea01c00 | (m)<<16 | (n)<<5 | (d))
#define BICV(m, n, d) WORD $(0x4e601c00 | (m)<<16 | (n)<<5 | (d))

// SOME makes 1 of a vector that has a bit set, else 0.
#define SOME(v, result) \
	VMOV v.D[0], R5; \
	VMOV v.D[1], R6; \
	ORR  R5, R6; \
	CMP  $0, R6; \
	CSET NE, result

// func widenSteps(dst *float64, src *byte, n int)
TEXT ·widenSteps(SB), NOSPLIT, $0-24
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD n+16(FP), R2

loop:
	VLD1.P 64(R1), [V0.B16, V1.B16, V2.B16, V3.B16]
	FCVTL(0, 16)
	FCVTL2(0, 17)
	FCVTL(1, 18)
	FCVTL2(1, 19)
	FCVTL(2, 20)
	FCVTL2(2, 21)
	FCVTL(3, 22)
	FCVTL2(3, 23)
	VST1.P [V16.D2, V17.D2, V18.D2, V19.D2], 64(R0)
	VST1.P [V20.D2, V21.D2, V22.D2, V23.D2], 64(R0)
	SUBS   $16, R2
	BNE    loop
	RET

// func boundsSteps(p *float64, n int) (lo, hi float64, nan bool)
TEXT ·boundsSteps(SB), NOSPLIT, $0-33
	MOVD p+0(FP), R0
	MOVD n+8(FP), R2
	VLD1 (R0), [V16.D2, V17.D2, V18.D2, V19.D2] // the least
	VLD1 (R0), [V20.D2, V21.D2, V22.D2, V23.D2] // the greatest

loop:
	VLD1.P 64(R0), [V0.D2, V1.D2, V2.D2, V3.D2]
	VLD1.P 64(R0), [V4.D2, V5.D2, V6.D2, V7.D2]
	FMIN(0, 16, 16)
	FMAX(0, 20, 20)
	FMIN(1, 17, 17)
	FMAX(1, 21, 21)
	FMIN(2, 18, 18)
	FMAX(2, 22, 22)
	FMIN(3, 19, 19)
	FMAX(3, 23, 23)
	FMIN(4, 16, 16)
	FMAX(4, 20, 20)
	FMIN(5, 17, 17)
	FMAX(5, 21, 21)
	FMIN(6, 18, 18)
	FMAX(6, 22, 22)
	FMIN(7, 19, 19)
	FMAX(7, 23, 23)
	SUBS   $16, R2
	BNE    loop

	FMIN(17, 16, 16)
	FMAX(21, 20, 20)
	FMIN(19, 18, 18)
	FMAX(23, 22, 22)
	FMIN(18, 16, 16)
	FMAX(22, 20, 20)
	FMINP(16, 16)
	FMAXP(20, 20)
	FMOVD F16, lo+16(FP)
	FMOVD F20, hi+24(FP)
	FCMPD F16, F16
	CSET  VS, R5
	MOVB  R5, nan+32(FP)
	RET

// TAKE takes off x what adding and taking away by leaves, and adds that to sum.
#define TAKE(by, x, q, sum) \
	FADD(by, x, q); \
	FSUB(by, q, q); \
	FADD(q, sum, sum); \
	FSUB(q, x, x)

// CUT of 8 numbers in V0 to V3.
#define CUT8 \
	VLD1.P 64(R0), [V0.D2, V1.D2, V2.D2, V3.D2]; \
	TAKE(30, 0, 4, 16); \
	TAKE(30, 1, 5, 17); \
	TAKE(30, 2, 6, 16); \
	TAKE(30, 3, 7, 17); \
	TAKE(31, 0, 4, 18); \
	TAKE(31, 1, 5, 19); \
	TAKE(31, 2, 6, 18); \
	TAKE(31, 3, 7, 19); \
	VST1.P [V0.D2, V1.D2, V2.D2, V3.D2], 64(R1); \
	ORRV(0, 20, 20); \
	ORRV(1, 21, 21); \
	ORRV(2, 20, 20); \
	ORRV(3, 21, 21)

// func cutSteps(p, rest *float64, n int, one, two float64) (a, b float64, left bool)
TEXT ·cutSteps(SB), NOSPLIT, $0-57
	MOVD  p+0(FP), R0
	MOVD  rest+8(FP), R1
	MOVD  n+16(FP), R2
	FMOVD one+24(FP), F30
	FMOVD two+32(FP), F31
	VDUP  V30.D[0], V30.D2
	VDUP  V31.D[0], V31.D2
	VEOR  V16.B16, V16.B16, V16.B16 // sums of one, of odd vectors in V17
	VEOR  V17.B16, V17.B16, V17.B16
	VEOR  V18.B16, V18.B16, V18.B16 // sums of two
	VEOR  V19.B16, V19.B16, V19.B16
	VEOR  V20.B16, V20.B16, V20.B16 // what is left
	VEOR  V21.B16, V21.B16, V21.B16

loop:
	CUT8
	CUT8
	SUBS $16, R2
	BNE  loop

	FADD(17, 16, 16)
	FADD(19, 18, 18)
	FADDP(16, 16)
	FADDP(18, 18)
	ORRV(21, 20, 20)
	VADD  V20.D2, V20.D2, V20.D2 // without the signs
	FMOVD F16, a+40(FP)
	FMOVD F18, b+48(FP)
	SOME(V20, R5)
	MOVB  R5, left+56(FP)
	RET

// SQUARE1 puts the square of x into h, what it lacks into l.
#define SQUARE1(x, h, l) \
	FMUL(x, x, h); \
	FNEG(h, l); \
	FMLA(x, x, l); \
	FCMGT(h, 30, 24); \
	FCMEQ0(x, 25); \
	BICV(25, 24, 24); \
	ORRV(24, 29, 29); \
	ORRV(l, 28, 28)

#define SQUARE8 \
	VLD1.P 64(R0), [V0.D2, V1.D2, V2.D2, V3.D2]; \
	SQUARE1(0, 4, 16); \
	SQUARE1(1, 5, 17); \
	SQUARE1(2, 6, 18); \
	SQUARE1(3, 7, 19); \
	VST1.P [V4.D2, V5.D2, V6.D2, V7.D2], 64(R1); \
	VST1.P [V16.D2, V17.D2, V18.D2, V19.D2], 64(R3)

// func squareSteps(p, high, low *float64, n int) (left, tiny bool)
TEXT ·squareSteps(SB), NOSPLIT, $0-34
	MOVD p+0(FP), R0
	MOVD high+8(FP), R1
	MOVD low+16(FP), R3
	MOVD n+24(FP), R2
	MOVD $0x07b0000000000000, R4    // Least
	VDUP R4, V30.D2
	VEOR V28.B16, V28.B16, V28.B16 // what is left
	VEOR V29.B16, V29.B16, V29.B16 // lanes that are tiny

loop:
	SQUARE8
	SQUARE8
	SUBS $16, R2
	BNE  loop

	VADD V28.D2, V28.D2, V28.D2 // without the signs
	SOME(V28, R7)
	MOVB R7, left+32(FP)
	SOME(V29, R7)
	MOVB R7, tiny+33(FP)
	RET
