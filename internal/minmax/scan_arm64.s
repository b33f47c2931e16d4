//go:build !purego

#include "textflag.h"

// What Go's assembler has no name for; m, n and d are numbers of registers.

// SSHR Vd.4S, Vn.4S, #31 and SSHR Vd.2D, Vn.2D, #63: the sign in each bit.
#define SIGN4(n, d) WORD $(0x4f210400 | (n)<<5 | (d))
#define SIGN8(n, d) WORD $(0x4f410400 | (n)<<5 | (d))

// SMIN and SMAX Vd.4S, Vn.4S, Vm.4S.
#define SMIN(m, n, d) WORD $(0x4ea06c00 | (m)<<16 | (n)<<5 | (d))
#define SMAX(m, n, d) WORD $(0x4ea06400 | (m)<<16 | (n)<<5 | (d))

// CMGT Vd.2D, Vn.2D, Vm.2D: n > m.
#define CMGT(m, n, d) WORD $(0x4ee03400 | (m)<<16 | (n)<<5 | (d))

// What both kernels keep: what the keys of numbers without a sign are flipped by, and those
// of numbers with one; the number that is looked for, and the bits of it that count.
#define FLIP V28
#define BOTH V29
#define FILL V30
#define MASK V31

// KEY4 makes keys of the numbers of register n, which is x; KEY8 does so for 8 bytes.
#define KEY4(n, x, d, key) \
	SIGN4(n, d); \
	VBSL FLIP.B16, BOTH.B16, key.B16; \
	VEOR x.B16, key.B16, key.B16

#define KEY8(n, x, d, key) \
	SIGN8(n, d); \
	VBSL FLIP.B16, BOTH.B16, key.B16; \
	VEOR x.B16, key.B16, key.B16

// SCAN4 takes the numbers of register n, which is x, with lo, hi and equal.
#define SCAN4(n, x, lo, hi, equal) \
	KEY4(n, x, 4, V4); \
	VAND  MASK.B16, x.B16, V5.B16; \
	VCMEQ FILL.S4, V5.S4, V5.S4; \
	SMIN(4, lo, lo); \
	SMAX(4, hi, hi); \
	VSUB  V5.S4, equal.S4, equal.S4

// func scan4NEON(p *uint32, n int, neg, flip, fill, mask uint32, lo, hi *[8]int32) uint64
TEXT ·scan4NEON(SB), NOSPLIT, $0-56
	MOVD  p+0(FP), R0
	MOVD  n+8(FP), R2
	MOVWU neg+16(FP), R3
	MOVWU flip+20(FP), R4
	MOVWU fill+24(FP), R5
	MOVWU mask+28(FP), R6
	EOR   R4, R3
	VDUP  R4, FLIP.S4
	VDUP  R3, BOTH.S4
	VDUP  R5, FILL.S4
	VDUP  R6, MASK.S4
	VEOR  V20.B16, V20.B16, V20.B16
	VEOR  V21.B16, V21.B16, V21.B16
	VLD1  (R0), [V0.S4, V1.S4]
	KEY4(0, V0, 16, V16)
	KEY4(1, V1, 17, V17)
	VMOV  V16.B16, V18.B16
	VMOV  V17.B16, V19.B16

loop:
	VLD1.P 64(R0), [V0.S4, V1.S4, V2.S4, V3.S4]
	SCAN4(0, V0, 16, 18, V20)
	SCAN4(1, V1, 17, 19, V21)
	SCAN4(2, V2, 16, 18, V20)
	SCAN4(3, V3, 17, 19, V21)
	SUBS   $16, R2
	BNE    loop

	MOVD  lo+32(FP), R0
	MOVD  hi+40(FP), R1
	VST1  [V16.S4, V17.S4], (R0)
	VST1  [V18.S4, V19.S4], (R1)
	VADD  V21.S4, V20.S4, V20.S4
	VADDV V20.S4, V20
	VMOV  V20.S[0], R3
	MOVD  R3, ret+48(FP)
	RET

// SCAN8 is SCAN4 for 8 bytes, of which there is no least and no greatest; lo and hi are
// numbers of registers, too.
#define SCAN8(n, x, l, lo, h, hi, equal) \
	KEY8(n, x, 4, V4); \
	VAND  MASK.B16, x.B16, V5.B16; \
	VCMEQ FILL.D2, V5.D2, V5.D2; \
	CMGT(4, l, 6); \
	CMGT(h, 4, 7); \
	VSUB  V5.D2, equal.D2, equal.D2; \
	VBIT  V6.B16, V4.B16, lo.B16; \
	VBIT  V7.B16, V4.B16, hi.B16

// func scan8NEON(p *uint64, n int, neg, flip, fill, mask uint64, lo, hi *[4]int64) uint64
TEXT ·scan8NEON(SB), NOSPLIT, $0-72
	MOVD p+0(FP), R0
	MOVD n+8(FP), R2
	MOVD neg+16(FP), R3
	MOVD flip+24(FP), R4
	MOVD fill+32(FP), R5
	MOVD mask+40(FP), R6
	EOR  R4, R3
	VDUP R4, FLIP.D2
	VDUP R3, BOTH.D2
	VDUP R5, FILL.D2
	VDUP R6, MASK.D2
	VEOR V20.B16, V20.B16, V20.B16
	VEOR V21.B16, V21.B16, V21.B16
	VLD1 (R0), [V0.D2, V1.D2]
	KEY8(0, V0, 16, V16)
	KEY8(1, V1, 17, V17)
	VMOV V16.B16, V18.B16
	VMOV V17.B16, V19.B16

loop:
	VLD1.P 64(R0), [V0.D2, V1.D2, V2.D2, V3.D2]
	SCAN8(0, V0, 16, V16, 18, V18, V20)
	SCAN8(1, V1, 17, V17, 19, V19, V21)
	SCAN8(2, V2, 16, V16, 18, V18, V20)
	SCAN8(3, V3, 17, V17, 19, V19, V21)
	SUBS   $8, R2
	BNE    loop

	MOVD lo+48(FP), R0
	MOVD hi+56(FP), R1
	VST1 [V16.D2, V17.D2], (R0)
	VST1 [V18.D2, V19.D2], (R1)
	VADD V21.D2, V20.D2, V20.D2
	VMOV V20.D[0], R3
	VMOV V20.D[1], R4
	ADD  R4, R3
	MOVD R3, ret+64(FP)
	RET
