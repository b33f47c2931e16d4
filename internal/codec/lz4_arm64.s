//go:build !purego

#include "textflag.h"
#include "go_asm.h"
#include "lz_arm64.h"

// func lz4Tokens(t *lzTables, dst, src []byte) (o, p int)
TEXT ·lz4Tokens(SB), NOSPLIT, $0-72
	BEGIN
	MOVD R4, R0
	SUB  $64, R2, R5
	SUB  $64, R6
	B    next

	PCALIGN $32
token:
	MOVBU (R1), R8
	ADD   $1, R1, R14
	CMP   $0xf0, R8
	BHS   literals
	VLD1  (R14), [V0.B16]
	ADD   R8>>4, R0, R9
	ADD   R8>>4, R14, R10
	VST1  [V0.B16], (R0)

match:
	// At R10 is the distance, and behind it a byte that is part of the length if that is
	// 15 in the token.
	MOVHU (R10), R12
	MOVBU 2(R10), R14
	AND   $15, R8
	ADD   $2, R10
	CMP   $15, R8
	CINC  EQ, R10, R10
	CSEL  EQ, R14, ZR, R14
	ADD   $4, R8
	ADD   R14, R8
	SUB   R12, R9, R11
	CMP   R4, R11
	CCMP  HS, R12, $1, $0
	BLO   done
	CMP   $32, R8
	BHI   long
	MATCH32(R9)
	ADD   R8, R9, R0
	MOVD  R10, R1

next:
	NEXT

done:
	MOVD src_base+32(FP), R2
	SUB  R4, R0
	SUB  R2, R1
	MOVD R0, o+56(FP)
	MOVD R1, p+64(FP)
	RET

literals:
	MOVD R14, R10
	MOVD $15, R13

morelits:
	MOVBU.P 1(R10), R14
	ADD     R14, R13
	CMP     R6, R10
	BHI     done
	CMP     $255, R14
	BEQ     morelits
	ADD     R13, R10, R15
	CMP     R6, R15
	BHI     done
	ADD     R13, R0, R9
	CMP     R5, R9
	BHI     done
	MOVD    R0, R11

literals64:
	VLD1.P 64(R10), [V0.B16, V1.B16, V2.B16, V3.B16]
	VST1.P [V0.B16, V1.B16, V2.B16, V3.B16], 64(R11)
	CMP    R9, R11
	BLO    literals64
	MOVD   R15, R10
	B      match

long:
	CMP $274, R8
	BNE room

more:
	MOVBU.P 1(R10), R14
	ADD     R14, R8
	CMP     R6, R10
	BHI     done
	CMP     $255, R14
	BEQ     more

room:
	MATCH
