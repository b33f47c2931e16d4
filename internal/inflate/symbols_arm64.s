//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// R0 table of literals and lengths, R1 next byte of src, R2 of dst; R3 bits that are not used
// yet, R4 the number of valid ones, in its lowest six bits; R5 the entry of the symbol to
// come, of what has not been used; R6, R7 the last places in src and dst for a turn, R8 start
// of dst, R9 table of distances, R10 all ones; R11 entry, R12 length, R13 distance.

// REFILL makes at least 56 bits available.
#define REFILL \
	MOVD (R1), R14; \
	MVN  R4, R15; \
	LSL  R4, R14, R14; \
	UBFX $3, R15, $3, R15; \
	ORR  R14, R3; \
	ADD  R15, R1; \
	ORR  $56, R4

// LIMITS leaves the loop near the end of src or dst: the flags 2 mean higher.
#define LIMITS \
	CMP  R6, R1; \
	CCMP LS, R2, R7, $2; \
	BHI  more

// USE takes the bits of an entry.
#define USE(e) \
	LSR e, R3, R3; \
	SUB e, R4

// LOOK finds the entry of the next symbol.
#define LOOK \
	AND   $(1<<const_litBits-1), R3, R14; \
	MOVWU (R0)(R14<<2), R5

// LITERAL writes the literal of the entry, and finds the next one.
#define LITERAL \
	LSR    $const_entValue, R5, R15; \
	USE(R5); \
	LOOK; \
	MOVB.P R15, 1(R2)

// VALUE makes a length or distance: base, and the number in the extra bits, behind as many
// bits of the code as R14 says.
#define VALUE(e, base) \
	LSL e, R10, R15; \
	BIC R15, R3, R15; \
	LSR R14, R15, R15; \
	ADD R15, base

// SECOND takes a second look, for the code whose first bits led to e, into what follows the
// table of first looks.
#define SECOND(e, bits, table) \
	LSR   $bits, R3; \
	SUB   $bits, R4; \
	UBFX  $const_entValue, e, $15, R14; \
	AND   $(1<<(const_maxCode-bits)-1), R3, R15; \
	ADD   R15, R14; \
	ADD   $(1<<bits), R14; \
	MOVWU (table)(R14<<2), e

// The bits of entries.
#define SECONDBIT $13
#define ENDBIT 14
#define OTHERBIT $15
#define LITERALBIT $31

// patterns has for each distance which byte of the pattern each of 16 bytes is, and wholes
// how many of them are whole patterns.
DATA patterns<>+0(SB)/8, $0x0000000000000000
DATA patterns<>+8(SB)/8, $0x0000000000000000
DATA patterns<>+16(SB)/8, $0x0000000000000000
DATA patterns<>+24(SB)/8, $0x0000000000000000
DATA patterns<>+32(SB)/8, $0x0100010001000100
DATA patterns<>+40(SB)/8, $0x0100010001000100
DATA patterns<>+48(SB)/8, $0x0100020100020100
DATA patterns<>+56(SB)/8, $0x0002010002010002
DATA patterns<>+64(SB)/8, $0x0302010003020100
DATA patterns<>+72(SB)/8, $0x0302010003020100
DATA patterns<>+80(SB)/8, $0x0201000403020100
DATA patterns<>+88(SB)/8, $0x0004030201000403
DATA patterns<>+96(SB)/8, $0x0100050403020100
DATA patterns<>+104(SB)/8, $0x0302010005040302
DATA patterns<>+112(SB)/8, $0x0006050403020100
DATA patterns<>+120(SB)/8, $0x0100060504030201
DATA patterns<>+128(SB)/8, $0x0706050403020100
DATA patterns<>+136(SB)/8, $0x0706050403020100
DATA patterns<>+144(SB)/8, $0x0706050403020100
DATA patterns<>+152(SB)/8, $0x0605040302010008
DATA patterns<>+160(SB)/8, $0x0706050403020100
DATA patterns<>+168(SB)/8, $0x0504030201000908
DATA patterns<>+176(SB)/8, $0x0706050403020100
DATA patterns<>+184(SB)/8, $0x04030201000a0908
DATA patterns<>+192(SB)/8, $0x0706050403020100
DATA patterns<>+200(SB)/8, $0x030201000b0a0908
DATA patterns<>+208(SB)/8, $0x0706050403020100
DATA patterns<>+216(SB)/8, $0x0201000c0b0a0908
DATA patterns<>+224(SB)/8, $0x0706050403020100
DATA patterns<>+232(SB)/8, $0x01000d0c0b0a0908
DATA patterns<>+240(SB)/8, $0x0706050403020100
DATA patterns<>+248(SB)/8, $0x000e0d0c0b0a0908
GLOBL patterns<>(SB), RODATA|NOPTR, $256

DATA wholes<>+0(SB)/8, $0x0e0c0f100f101010
DATA wholes<>+8(SB)/8, $0x0f0e0d0c0b0a0910
GLOBL wholes<>(SB), RODATA|NOPTR, $16

// func symbolsNEON(t *tables, dst *byte, o, oLast int, src *byte, pos, posLast int, bb uint64, nb uint) (o2, pos2 int, bb2 uint64, nb2 uint, status int)
TEXT ·symbolsNEON(SB), NOSPLIT, $0-112
	MOVD t+0(FP), R0
	MOVD dst+8(FP), R8
	MOVD o+16(FP), R2
	MOVD oLast+24(FP), R7
	MOVD src+32(FP), R6
	MOVD pos+40(FP), R1
	MOVD posLast+48(FP), R14
	MOVD bb+56(FP), R3
	MOVD nb+64(FP), R4
	ADD  R8, R2
	ADD  R8, R7
	ADD  R6, R1
	ADD  R14, R6
	MOVD $tables_dist, R9
	ADD  R0, R9
	MOVD $-1, R10

start:
	LIMITS
	REFILL
	LOOK
	B symbols

	PCALIGN $32
loop: // four literals, or up to three and a match
	LIMITS
	REFILL

symbols:
	TBZ LITERALBIT, R5, match
	LITERAL
	TBZ LITERALBIT, R5, match
	LITERAL
	TBZ LITERALBIT, R5, match
	LITERAL
	TBZ LITERALBIT, R5, match
	LITERAL
	B   loop

match:
	TBNZ OTHERBIT, R5, other

length:
	UBFX  $const_entValue, R5, $9, R12
	UBFX  $const_entLength, R5, $4, R14
	VALUE(R5, R12)
	USE(R5)
	REFILL
	AND   $(1<<const_distBits-1), R3, R14
	MOVWU (R9)(R14<<2), R11
	TBNZ  OTHERBIT, R11, otherDist

distance:
	LSR  $const_entValue, R11, R13
	UBFX $const_entCode, R11, $4, R14
	VALUE(R11, R13)
	USE(R11)
	LOOK

	// The match: from R14, to R12.
	SUB  R8, R2, R14
	CMP  R14, R13
	BHI  bad
	SUB  R13, R2, R14
	ADD  R2, R12
	CMP  $32, R13
	BLO  near

copy:
	VLD1.P 32(R14), [V0.B16, V1.B16]
	VST1.P [V0.B16, V1.B16], 32(R2)
	CMP    R12, R2
	BLO    copy
	MOVD   R12, R2
	B      loop

near:
	CMP $16, R13
	BLO pattern

half:
	VLD1.P 16(R14), [V0.B16]
	VST1.P [V0.B16], 16(R2)
	CMP    R12, R2
	BLO    half
	MOVD   R12, R2
	B      loop

pattern: // whole ones are stored
	VLD1  (R14), [V0.B16]
	MOVD  $wholes<>(SB), R14
	MOVBU (R14)(R13), R15
	MOVD  $patterns<>(SB), R14
	ADD   R13<<4, R14
	VLD1  (R14), [V1.B16]
	VTBL  V1.B16, [V0.B16], V0.B16

whole:
	VST1 [V0.B16], (R2)
	ADD  R15, R2
	CMP  R12, R2
	BLO  whole
	MOVD R12, R2
	B    loop

other:
	TBZ    SECONDBIT, R5, end
	SECOND(R5, const_litBits, R0)
	TBNZ   OTHERBIT, R5, end
	TBZ    LITERALBIT, R5, length
	LSR    $const_entValue, R5, R15
	USE(R5)
	MOVB.P R15, 1(R2)
	B      start

otherDist:
	TBZ  SECONDBIT, R11, bad
	SECOND(R11, const_distBits, R9)
	TBZ  OTHERBIT, R11, distance

bad:
	MOVD $-1, R5
	B    leave

more:
	MOVD $0, R5
	B    leave

end: // or no code
	USE(R5)
	UBFX $ENDBIT, R5, $1, R5
	LSL  $1, R5
	SUB  $1, R5 // 1 for the end, -1 for no code

leave:
	MOVD src+32(FP), R6
	SUB  R8, R2
	SUB  R6, R1
	AND  $63, R4
	MOVD R2, o2+72(FP)
	MOVD R1, pos2+80(FP)
	MOVD R3, bb2+88(FP)
	MOVD R4, nb2+96(FP)
	MOVD R5, status+104(FP)
	RET
