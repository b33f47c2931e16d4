//go:build !purego

#include "textflag.h"
#include "transpose_arm64.h"

// func merge2NEON(dst *byte, src *byte, stride int, n int)
TEXT ·merge2NEON(SB), NOSPLIT, $0-32
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD stride+16(FP), R3
	MOVD n+24(FP), R2
	ADD  R1, R3, R4
	SUBS $32, R2
	BLT  last

loop:
	VLD1.P 32(R1), [V0.B16, V1.B16]
	VLD1.P 32(R4), [V2.B16, V3.B16]
	ZIP(B16, V0, V2, V4, V5)
	ZIP(B16, V1, V3, V6, V7)
	VST1.P [V4.B16, V5.B16, V6.B16, V7.B16], 64(R0)
	SUBS   $32, R2
	BGE    loop

last: // 16 more, or none
	TBZ  $4, R2, done
	VLD1 (R1), [V0.B16]
	VLD1 (R4), [V2.B16]
	ZIP(B16, V0, V2, V4, V5)
	VST1 [V4.B16, V5.B16], (R0)

done:
	RET

// func split2NEON(dst *byte, stride int, src *byte, n int)
TEXT ·split2NEON(SB), NOSPLIT, $0-32
	MOVD dst+0(FP), R0
	MOVD stride+8(FP), R3
	MOVD src+16(FP), R1
	MOVD n+24(FP), R2
	ADD  R0, R3, R4
	SUBS $32, R2
	BLT  last

loop:
	VLD1.P 64(R1), [V0.B16, V1.B16, V2.B16, V3.B16]
	UNZIP(V0, V1, V4, V6)
	UNZIP(V2, V3, V5, V7)
	VST1.P [V4.B16, V5.B16], 32(R0)
	VST1.P [V6.B16, V7.B16], 32(R4)
	SUBS   $32, R2
	BGE    loop

last: // 16 more, or none
	TBZ  $4, R2, done
	VLD1 (R1), [V0.B16, V1.B16]
	UNZIP(V0, V1, V4, V6)
	VST1 [V4.B16], (R0)
	VST1 [V6.B16], (R4)

done:
	RET

// func merge4NEON(dst *byte, src *byte, stride int, n int)
TEXT ·merge4NEON(SB), NOSPLIT, $0-32
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD stride+16(FP), R3
	MOVD n+24(FP), R2
	ADD  R1, R3, R4
	ADD  R4, R3, R5
	ADD  R5, R3, R6

loop:
	VLD1.P 16(R1), [V0.B16]
	VLD1.P 16(R4), [V1.B16]
	VLD1.P 16(R5), [V2.B16]
	VLD1.P 16(R6), [V3.B16]
	ZIP(B16, V0, V1, V4, V5)
	ZIP(B16, V2, V3, V6, V7)
	ZIP(H8, V4, V6, V16, V17)
	ZIP(H8, V5, V7, V18, V19)
	VST1.P [V16.B16, V17.B16, V18.B16, V19.B16], 64(R0)
	SUBS   $16, R2
	BNE    loop
	RET

// func split4NEON(dst *byte, stride int, src *byte, n int)
TEXT ·split4NEON(SB), NOSPLIT, $0-32
	MOVD dst+0(FP), R0
	MOVD stride+8(FP), R3
	MOVD src+16(FP), R1
	MOVD n+24(FP), R2
	ADD  R0, R3, R4
	ADD  R4, R3, R5
	ADD  R5, R3, R6

loop:
	VLD1.P 64(R1), [V0.B16, V1.B16, V2.B16, V3.B16]
	UNZIP(V0, V1, V4, V5)
	UNZIP(V2, V3, V6, V7)
	UNZIP(V4, V6, V16, V18)
	UNZIP(V5, V7, V17, V19)
	VST1.P [V16.B16], 16(R0)
	VST1.P [V17.B16], 16(R4)
	VST1.P [V18.B16], 16(R5)
	VST1.P [V19.B16], 16(R6)
	SUBS   $16, R2
	BNE    loop
	RET

// func merge8NEON(dst *byte, src *byte, stride int, n int)
TEXT ·merge8NEON(SB), NOSPLIT, $0-32
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD stride+16(FP), R3
	MOVD n+24(FP), R2

loop:
	MOVD   R1, R4
	ADD    $16, R1
	LOAD8
	MERGE8
	VST1.P [V16.B16, V17.B16, V18.B16, V19.B16], 64(R0)
	VST1.P [V20.B16, V21.B16, V22.B16, V23.B16], 64(R0)
	SUBS   $16, R2
	BNE    loop
	RET

// func split8NEON(dst *byte, stride int, src *byte, n int)
TEXT ·split8NEON(SB), NOSPLIT, $0-32
	MOVD dst+0(FP), R0
	MOVD stride+8(FP), R3
	MOVD src+16(FP), R1
	MOVD n+24(FP), R2

loop:
	VLD1.P 64(R1), [V0.B16, V1.B16, V2.B16, V3.B16]
	VLD1.P 64(R1), [V4.B16, V5.B16, V6.B16, V7.B16]
	SPLIT8
	MOVD   R0, R4
	ADD    $16, R0
	STORE8(V16, V17, V18, V19, V20, V21, V22, V23)
	SUBS   $16, R2
	BNE    loop
	RET

// Two elements, R5 bytes apart from R0 on.
#define STORE2(v) \
	VST1.P [v.D1], (R0)(R5); \
	VST1.P v.D[1], (R0)(R5)

// func mergeStrided8NEON(dst *byte, width int, src *byte, stride int, n int)
TEXT ·mergeStrided8NEON(SB), NOSPLIT, $0-40
	MOVD dst+0(FP), R0
	MOVD width+8(FP), R5
	MOVD src+16(FP), R1
	MOVD stride+24(FP), R3
	MOVD n+32(FP), R2

loop:
	MOVD R1, R4
	ADD  $16, R1
	LOAD8
	MERGE8
	STORE2(V16)
	STORE2(V17)
	STORE2(V18)
	STORE2(V19)
	STORE2(V20)
	STORE2(V21)
	STORE2(V22)
	STORE2(V23)
	SUBS $16, R2
	BNE  loop
	RET

#define LOAD2(v) \
	VLD1.P (R1)(R5), [v.D1]; \
	VLD1.P (R1)(R5), v.D[1]

// func splitStrided8NEON(dst *byte, stride int, src *byte, width int, n int)
TEXT ·splitStrided8NEON(SB), NOSPLIT, $0-40
	MOVD dst+0(FP), R0
	MOVD stride+8(FP), R3
	MOVD src+16(FP), R1
	MOVD width+24(FP), R5
	MOVD n+32(FP), R2

loop:
	LOAD2(V0)
	LOAD2(V1)
	LOAD2(V2)
	LOAD2(V3)
	LOAD2(V4)
	LOAD2(V5)
	LOAD2(V6)
	LOAD2(V7)
	SPLIT8
	MOVD R0, R4
	ADD  $16, R0
	STORE8(V16, V17, V18, V19, V20, V21, V22, V23)
	SUBS $16, R2
	BNE  loop
	RET

#define STORE(v) VST1.P [v.B16], (R0)(R5)

// func mergeStrided16NEON(dst *byte, width int, src *byte, stride int, n int)
TEXT ·mergeStrided16NEON(SB), NOSPLIT, $0-40
	MOVD dst+0(FP), R0
	MOVD width+8(FP), R5
	MOVD src+16(FP), R1
	MOVD stride+24(FP), R3
	MOVD n+32(FP), R2

loop:
	MOVD   R1, R4
	ADD    $16, R1
	LOAD8
	VLD1.P (R4)(R3), [V8.B16]
	VLD1.P (R4)(R3), [V9.B16]
	VLD1.P (R4)(R3), [V10.B16]
	VLD1.P (R4)(R3), [V11.B16]
	VLD1.P (R4)(R3), [V12.B16]
	VLD1.P (R4)(R3), [V13.B16]
	VLD1.P (R4)(R3), [V14.B16]
	VLD1.P (R4)(R3), [V15.B16]

	// Bytes of planes 0 and 1, 2 and 3 ...
	ZIP(B16, V0, V1, V16, V17)
	ZIP(B16, V2, V3, V18, V19)
	ZIP(B16, V4, V5, V20, V21)
	ZIP(B16, V6, V7, V22, V23)
	ZIP(B16, V8, V9, V24, V25)
	ZIP(B16, V10, V11, V26, V27)
	ZIP(B16, V12, V13, V28, V29)
	ZIP(B16, V14, V15, V30, V31)

	// Fours of the elements 0 to 7, then of 8 to 15.
	ZIP(H8, V16, V18, V0, V1)
	ZIP(H8, V20, V22, V2, V3)
	ZIP(H8, V24, V26, V4, V5)
	ZIP(H8, V28, V30, V6, V7)
	ZIP(H8, V17, V19, V8, V9)
	ZIP(H8, V21, V23, V10, V11)
	ZIP(H8, V25, V27, V12, V13)
	ZIP(H8, V29, V31, V14, V15)

	// Eights of the elements 0 to 3, 4 to 7 ...
	ZIP(S4, V0, V2, V16, V17)
	ZIP(S4, V4, V6, V18, V19)
	ZIP(S4, V1, V3, V20, V21)
	ZIP(S4, V5, V7, V22, V23)
	ZIP(S4, V8, V10, V24, V25)
	ZIP(S4, V12, V14, V26, V27)
	ZIP(S4, V9, V11, V28, V29)
	ZIP(S4, V13, V15, V30, V31)

	ZIP(D2, V16, V18, V0, V1)
	ZIP(D2, V17, V19, V2, V3)
	ZIP(D2, V20, V22, V4, V5)
	ZIP(D2, V21, V23, V6, V7)
	ZIP(D2, V24, V26, V8, V9)
	ZIP(D2, V25, V27, V10, V11)
	ZIP(D2, V28, V30, V12, V13)
	ZIP(D2, V29, V31, V14, V15)

	STORE(V0)
	STORE(V1)
	STORE(V2)
	STORE(V3)
	STORE(V4)
	STORE(V5)
	STORE(V6)
	STORE(V7)
	STORE(V8)
	STORE(V9)
	STORE(V10)
	STORE(V11)
	STORE(V12)
	STORE(V13)
	STORE(V14)
	STORE(V15)
	SUBS $16, R2
	BNE  loop
	RET

// func sumsNEON(p *byte, n int)
TEXT ·sumsNEON(SB), NOSPLIT, $0-16
	MOVD p+0(FP), R0
	MOVD n+8(FP), R2
	VEOR V30.B16, V30.B16, V30.B16 // zeros
	VEOR V31.B16, V31.B16, V31.B16 // the sum so far, in each byte

loop:
	VLD1   (R0), [V0.B16]
	VEXT   $15, V0.B16, V30.B16, V1.B16
	VADD   V1.B16, V0.B16, V0.B16
	VEXT   $14, V0.B16, V30.B16, V1.B16
	VADD   V1.B16, V0.B16, V0.B16
	VEXT   $12, V0.B16, V30.B16, V1.B16
	VADD   V1.B16, V0.B16, V0.B16
	VEXT   $8, V0.B16, V30.B16, V1.B16
	VADD   V1.B16, V0.B16, V0.B16
	VDUP   V0.B[15], V2.B16
	VADD   V31.B16, V0.B16, V0.B16
	VADD   V2.B16, V31.B16, V31.B16
	VST1.P [V0.B16], 16(R0)
	SUBS   $16, R2
	BNE    loop
	RET

// func differencesNEON(dst *byte, src *byte, n int)
TEXT ·differencesNEON(SB), NOSPLIT, $0-24
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD n+16(FP), R2
	SUB  $1, R1, R4
	SUBS $64, R2
	BLT  last

loop:
	VLD1.P 64(R1), [V0.B16, V1.B16, V2.B16, V3.B16]
	VLD1.P 64(R4), [V4.B16, V5.B16, V6.B16, V7.B16]
	VSUB   V4.B16, V0.B16, V0.B16
	VSUB   V5.B16, V1.B16, V1.B16
	VSUB   V6.B16, V2.B16, V2.B16
	VSUB   V7.B16, V3.B16, V3.B16
	VST1.P [V0.B16, V1.B16, V2.B16, V3.B16], 64(R0)
	SUBS   $64, R2
	BGE    loop

last: // up to three vectors
	ADDS $64, R2
	BEQ  done

one:
	VLD1.P 16(R1), [V0.B16]
	VLD1.P 16(R4), [V4.B16]
	VSUB   V4.B16, V0.B16, V0.B16
	VST1.P [V0.B16], 16(R0)
	SUBS   $16, R2
	BNE    one

done:
	RET
