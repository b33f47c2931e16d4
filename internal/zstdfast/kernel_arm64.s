//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// What does not change in a block.
#define LITEND R20
#define OUTEND R21
#define BASE R22
#define BITS R23
#define OFFS R25
#define MATS R26

// The sequences that are left, but for one.
#define LEFT R24

// VALUE makes the value of the code of a state: its base, and the highest bits of R7, which
// it takes. FOLLOW does the same for the state after it, but leaves the bits.
#define VALUE(state, value) \
	MVN state>>8, R17; \
	LSR $1, R7, value; \
	LSR R17, value, value; \
	LSR $8, state, R17; \
	LSL R17, R7, R7; \
	ADD state>>32, value, value

#define FOLLOW(state, index) \
	MVN  state, R17; \
	LSR  $1, R7, R19; \
	LSR  R17, R19, R19; \
	UBFX $16, state, $16, index; \
	ADD  R19, index

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

// func runSequences(r *run, dst, lit, in *byte)
//
// R0 run, R1 output, R2 literals, R3 R4 R5 states of literal lengths, offsets and match
// lengths, R6 bits that are left, R7 these bits from the highest down, R8 R9 R10 the last
// distances; R11 distance, R12 length of the match, R13 of the literals, R14 R15 R16 what the
// states mean. Nothing of a sequence but R6 is changed before all of it has been checked.
TEXT ·runSequences(SB), NOSPLIT, $0-32
	MOVD r+0(FP), R0
	MOVD dst+8(FP), BASE
	MOVD lit+16(FP), R2
	MOVD in+24(FP), BITS
	MOVD run_outEnd(R0), OUTEND
	MOVD run_litEnd(R0), LITEND
	MOVD run_o(R0), R1
	MOVD run_l(R0), R3
	ADD  BASE, OUTEND
	ADD  R2, LITEND
	ADD  BASE, R1
	ADD  R3, R2
	MOVD run_state+0(R0), R3
	MOVD run_state+8(R0), R4
	MOVD run_state+16(R0), R5
	MOVD run_pos(R0), R6
	MOVD run_rep+0(R0), R8
	MOVD run_rep+8(R0), R9
	MOVD run_rep+16(R0), R10
	MOVD run_n(R0), LEFT
	SUB  $1, LEFT
	MOVD $fseTable__size, R17
	ADD  R17, R0, OFFS
	ADD  R17, OFFS, MATS

	PCALIGN $32
loop:
	// the 57 bits or more from R6 down
	ADD  $7, R6, R17
	ADD  R17>>3, BITS, R17
	MOVD -8(R17), R7
	NEG  R6, R19
	AND  $7, R19
	LSL  R19, R7, R7

	// how many the sequence takes: lowest byte for the next states, second for values
	MOVD (R0)(R3<<3), R14
	MOVD (OFFS)(R4<<3), R15
	MOVD (MATS)(R5<<3), R16
	ADD  R14, R15, R17
	ADD  R16, R17
	ADD  R17>>8, R17
	AND  $255, R17
	CMP  $57, R17
	BHI  leave
	SUBS R17, R6
	BMI  back
	VALUE(R15, R11)
	VALUE(R16, R12)
	VALUE(R14, R13)

	ADD R13, R2, R17
	CMP LITEND, R17
	BHI back
	ADD R13, R1, R17
	ADD R12, R17
	CMP OUTEND, R17
	BHI back

	// R19 is which of the last distances is meant: 1 to 3, or 4, the last one less one;
	// above, a new one. All of them are made without a jump, which nothing could foretell.
	CMP  $0, R13
	CINC EQ, R11, R19
	SUB  $1, R8, R17
	CMP  $3, R19
	CSEL EQ, R10, R17, R17
	CSEL LT, R9, R17, R17
	CMP  $1, R19
	CSEL EQ, R8, R17, R17
	SUBS $3, R11
	CSEL LE, R17, R11, R11
	CBZ  R11, back
	ADD  R13, R1, R17
	SUB  BASE, R17
	CMP  R17, R11
	BHI  back
	MOVD run_window(R0), R17
	CMP  R17, R11
	BHI  back
	CMP  $3, R19
	CSEL GE, R9, R10, R10
	CMP  $1, R19
	CSEL NE, R8, R9, R9
	MOVD R11, R8

	FOLLOW(R14, R3)
	LSL R14, R7, R7
	FOLLOW(R16, R5)
	LSL R16, R7, R7
	FOLLOW(R15, R4)

	VLD1 (R2), [V0.B16]
	VST1 [V0.B16], (R1)
	CMP  $16, R13
	BHI  literals

match: // from R17; R12 becomes its end
	ADD   R13, R2
	ADD   R13, R1
	ADD   R1, R12
	SUB   R11, R1, R17
	CMP   $16, R11
	BLO   pattern
	FMOVQ (R17), F0
	FMOVQ F0, (R1)
	FMOVQ 16(R17), F1
	FMOVQ F1, 16(R1)
	ADD   $32, R1
	CMP   R12, R1
	BLO   long

end:
	MOVD R12, R1
	SUBS $1, LEFT
	BNE  loop
	B    leave

literals:
	ADD $16, R2, R14
	ADD $16, R1, R15
	ADD R13, R1, R16

literal:
	VLD1.P 16(R14), [V0.B16]
	VST1.P [V0.B16], 16(R15)
	CMP    R16, R15
	BLO    literal
	B      match

long:
	ADD $32, R17

piece:
	FMOVQ (R17), F0
	FMOVQ F0, (R1)
	FMOVQ 16(R17), F1
	FMOVQ F1, 16(R1)
	ADD   $32, R17
	ADD   $32, R1
	CMP   R12, R1
	BLO   piece
	B     end

// A match that overlaps itself within 16 bytes: whole patterns are stored.
pattern:
	VLD1  (R17), [V0.B16]
	MOVD  $wholes<>(SB), R14
	MOVBU (R14)(R11), R15
	MOVD  $patterns<>(SB), R14
	ADD   R11<<4, R14
	VLD1  (R14), [V1.B16]
	VTBL  V1.B16, [V0.B16], V0.B16

whole:
	VST1 [V0.B16], (R1)
	ADD  R15, R1
	CMP  R12, R1
	BLO  whole
	B    end

back: // R6 becomes what it was
	ADD R14, R15, R17
	ADD R16, R17
	ADD R17>>8, R17
	AND $255, R17
	ADD R17, R6

leave:
	MOVD R6, run_pos(R0)
	MOVD R3, run_state+0(R0)
	MOVD R4, run_state+8(R0)
	MOVD R5, run_state+16(R0)
	MOVD R8, run_rep+0(R0)
	MOVD R9, run_rep+8(R0)
	MOVD R10, run_rep+16(R0)
	SUB  BASE, R1
	MOVD R1, run_o(R0)
	MOVD lit+16(FP), R3
	SUB  R3, R2
	MOVD R2, run_l(R0)
	ADD  $1, LEFT
	MOVD LEFT, run_n(R0)
	RET
