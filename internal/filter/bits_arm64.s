//go:build !purego

#include "textflag.h"
#include "transpose_arm64.h"

// What SWAP2 and SWAP1 keep: the lower bits of each 4, and of each 2.
#define LOW2 V30
#define LOW1 V31

// SWAP4 swaps the upper four bits of the bytes of a with the lower four of b.
#define SWAP4(a, b) \
	VMOV a.B16, V28.B16; \
	VSLI $4, b.B16, a.B16; \
	VSRI $4, V28.B16, b.B16

// SWAP2 does the same within each four bits, SWAP1 within each two.
#define SWAP2(a, b) \
	VUSHR $2, a.B16, V28.B16; \
	VSHL  $2, b.B16, V29.B16; \
	VBIF  LOW2.B16, V29.B16, a.B16; \
	VBIT  LOW2.B16, V28.B16, b.B16

#define SWAP1(a, b) \
	VUSHR $1, a.B16, V28.B16; \
	VADD  b.B16, b.B16, V29.B16; \
	VBIF  LOW1.B16, V29.B16, a.B16; \
	VBIT  LOW1.B16, V28.B16, b.B16

// TRANSPOSE transposes 16 bit matrices side by side: byte i of each register is a row of
// matrix i.
#define TRANSPOSE(a, b, c, d, e, f, g, h) \
	SWAP4(a, e); \
	SWAP4(b, f); \
	SWAP4(c, g); \
	SWAP4(d, h); \
	SWAP2(a, c); \
	SWAP2(b, d); \
	SWAP2(e, g); \
	SWAP2(f, h); \
	SWAP1(a, b); \
	SWAP1(c, d); \
	SWAP1(e, f); \
	SWAP1(g, h)

// func bitsToBytesNEON(dst *byte, src *byte, stride int, n int)
TEXT ·bitsToBytesNEON(SB), NOSPLIT, $0-32
	MOVD  dst+0(FP), R0
	MOVD  src+8(FP), R1
	MOVD  stride+16(FP), R3
	MOVD  n+24(FP), R2
	VMOVI $0x33, LOW2.B16
	VMOVI $0x55, LOW1.B16

loop:
	MOVD   R1, R4
	ADD    $16, R1
	LOAD8
	TRANSPOSE(V0, V1, V2, V3, V4, V5, V6, V7)
	MERGE8
	VST1.P [V16.B16, V17.B16, V18.B16, V19.B16], 64(R0)
	VST1.P [V20.B16, V21.B16, V22.B16, V23.B16], 64(R0)
	SUBS   $16, R2
	BNE    loop
	RET

// func bytesToBitsNEON(dst *byte, stride int, src *byte, n int)
TEXT ·bytesToBitsNEON(SB), NOSPLIT, $0-32
	MOVD  dst+0(FP), R0
	MOVD  stride+8(FP), R3
	MOVD  src+16(FP), R1
	MOVD  n+24(FP), R2
	VMOVI $0x33, LOW2.B16
	VMOVI $0x55, LOW1.B16

loop:
	VLD1.P 64(R1), [V0.B16, V1.B16, V2.B16, V3.B16]
	VLD1.P 64(R1), [V4.B16, V5.B16, V6.B16, V7.B16]
	SPLIT8
	TRANSPOSE(V16, V17, V18, V19, V20, V21, V22, V23)
	MOVD   R0, R4
	ADD    $16, R0
	STORE8(V16, V17, V18, V19, V20, V21, V22, V23)
	SUBS   $16, R2
	BNE    loop
	RET
