//go:build !purego

#include "textflag.h"
#include "go_asm.h"
#include "lz_arm64.h"

// R13 is the control byte.

// func bloscLZTokens(t *lzTables, dst, src []byte, o, p int) (o2, p2 int)
TEXT ·bloscLZTokens(SB), NOSPLIT, $0-88
	BEGIN
	MOVD o+56(FP), R0
	MOVD p+64(FP), R8
	ADD  R4, R0
	ADD  R8, R1
	SUB  $32, R2, R5
	SUB  $40, R6
	B    next

	PCALIGN $32
token:
	// Length and distance, without a branch. R14 is what the table says of the token.
	MOVWU (R1), R8
	AND   $255, R8, R13
	MOVD  (R20)(R13<<3), R14
	UBFX  $8, R14, $8, R15
	LSR   R15, R8, R15
	AND   $255, R15
	UBFX  $16, R14, $16, R12
	ADD   R15, R12
	UBFX  $8, R8, $8, R15
	AND   R14>>32, R15
	ADD   R14>>40, R15, R8
	AND   $255, R14, R10
	CMP   $(const_blzEscape+1), R12
	BEQ   far

source:
	SUB  R12, R0, R11
	CMP  R4, R11
	BLO  done
	ADD  R1, R10
	ADD  $1, R1, R15
	CMP  $32, R13
	CSEL LO, R15, R11, R11
	CMP  $32, R8
	BHI  long
	MATCH32(R0)
	ADD  R8, R0
	MOVD R10, R1

next:
	NEXT

done:
	MOVD src_base+32(FP), R2
	SUB  R4, R0
	SUB  R2, R1
	MOVD R0, o2+72(FP)
	MOVD R1, p2+80(FP)
	RET

far:
	MOVHU (R1)(R10), R15
	REV16 R15, R15
	ADD   R15, R12
	ADD   $2, R10
	B     source

long:
	MOVD R0, R9
	CMP  $264, R8
	BNE  room
	ADD  $2, R1, R10

more:
	CMP     R6, R10
	BHI     done
	MOVBU.P 1(R10), R11
	ADD     R11, R8
	CMP     $255, R11
	BEQ     more
	ADD     R13<<3, R20, R15
	MOVHU   bloscLZToken_dist(R15), R12
	MOVBU.P 1(R10), R11
	ADD     R11, R12
	CMP     $(const_blzEscape+1), R12
	BNE     near
	MOVHU.P 2(R10), R11
	REV16   R11, R11
	ADD     R11, R12

near:
	SUB R12, R9, R11
	CMP R4, R11
	BLO done

room:
	MATCH
