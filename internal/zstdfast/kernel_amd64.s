//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// The states of the three kinds of codes, relative to the run.
#define LITS(reg) (run_table+0*fseTable__size+0)(DX)(reg*8)
#define LIT_EXTRA(reg) (run_table+0*fseTable__size+1)(DX)(reg*8)
#define LIT_NEXT(reg) (run_table+0*fseTable__size+2)(DX)(reg*8)
#define LIT_BASE(reg) (run_table+0*fseTable__size+4)(DX)(reg*8)
#define OFFS(reg) (run_table+1*fseTable__size+0)(DX)(reg*8)
#define OFF_EXTRA(reg) (run_table+1*fseTable__size+1)(DX)(reg*8)
#define OFF_NEXT(reg) (run_table+1*fseTable__size+2)(DX)(reg*8)
#define OFF_BASE(reg) (run_table+1*fseTable__size+4)(DX)(reg*8)
#define MATS(reg) (run_table+2*fseTable__size+0)(DX)(reg*8)
#define MAT_EXTRA(reg) (run_table+2*fseTable__size+1)(DX)(reg*8)
#define MAT_NEXT(reg) (run_table+2*fseTable__size+2)(DX)(reg*8)
#define MAT_BASE(reg) (run_table+2*fseTable__size+4)(DX)(reg*8)

#define LITEND 0(SP)
#define OUTEND 8(SP)
#define BASE 16(SP)
#define BITS 24(SP)
#define POS 32(SP)
#define LEFT 40(SP)
#define REP1 48(SP)
#define REP2 56(SP)
#define WINDOW 64(SP)

// FAR leaves if the distance is more than the bytes before the match, or than the window.
#define FAR(d) \
	CMPQ d, CX     \
	JA   leave     \
	CMPQ d, WINDOW \
	JA   leave

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
// Requires BMI2 and SSSE3. DX run, DI output, SI literals, R8 R9 R10 states of literal
// lengths, offsets and match lengths, R11 bits that are left, R12 these bits from the
// highest down, R14 the last distance; AX distance, BX length of the match, R13 of the
// literals. Nothing of a sequence is kept before all of it has been checked.
TEXT ·runSequences(SB), NOSPLIT, $72-32
	MOVQ r+0(FP), DX
	MOVQ dst+8(FP), DI
	MOVQ lit+16(FP), SI
	MOVQ in+24(FP), AX
	MOVQ AX, BITS
	MOVQ DI, BASE
	MOVQ run_outEnd(DX), AX
	ADDQ DI, AX
	MOVQ AX, OUTEND
	MOVQ run_litEnd(DX), AX
	ADDQ SI, AX
	MOVQ AX, LITEND
	ADDQ run_o(DX), DI
	ADDQ run_l(DX), SI
	MOVQ run_state+0(DX), R8
	MOVQ run_state+8(DX), R9
	MOVQ run_state+16(DX), R10
	MOVQ run_pos(DX), R11
	MOVQ run_rep+0(DX), R14
	MOVQ run_rep+8(DX), AX
	MOVQ AX, REP1
	MOVQ run_rep+16(DX), AX
	MOVQ AX, REP2
	MOVQ run_window(DX), AX
	MOVQ AX, WINDOW
	MOVQ run_n(DX), AX
	DECQ AX
	MOVQ AX, LEFT

loop:
	MOVQ R11, POS

	// the 57 bits or more from pos down
	LEAQ   7(R11), CX
	MOVQ   R11, AX
	SHRQ   $3, CX
	NEGQ   AX
	ADDQ   BITS, CX
	ANDL   $7, AX
	MOVQ   -8(CX), R12
	SHLXQ  AX, R12, R12

	// how many the sequence takes: lowest byte for the next states, second for values
	MOVQ    LITS(R8), BP
	ADDQ    OFFS(R9), BP
	ADDQ    MATS(R10), BP
	MOVL    BP, AX
	SHRL    $8, AX
	ADDL    BP, AX
	MOVBLZX AX, AX
	CMPL    AX, $57
	JA      leave
	SUBQ    AX, R11
	JS      leave

	MOVBLZX OFF_EXTRA(R9), CX
	ROLQ    CX, R12
	BZHIQ   CX, R12, AX
	ADDL    OFF_BASE(R9), AX
	MOVBLZX MAT_EXTRA(R10), CX
	ROLQ    CX, R12
	BZHIQ   CX, R12, BX
	ADDL    MAT_BASE(R10), BX
	MOVBLZX LIT_EXTRA(R8), CX
	ROLQ    CX, R12
	BZHIQ   CX, R12, R13
	ADDL    LIT_BASE(R8), R13

	LEAQ (SI)(R13*1), CX
	CMPQ CX, LITEND
	JA   leave
	LEAQ (DI)(R13*1), CX
	LEAQ (CX)(BX*1), R15
	CMPQ R15, OUTEND
	JA   leave
	// R15 is which of the last distances is meant: 0 to 2, or 3, the last one less one;
	// above, a new one. All of them are made without a jump, which nothing could foretell.
	CMPQ    R13, $1
	MOVQ    AX, R15
	ADCQ    $-1, R15
	LEAQ    -1(R14), CX
	CMPQ    R15, $2
	CMOVQEQ REP2, CX
	CMOVQLT REP1, CX
	TESTQ   R15, R15
	CMOVQEQ R14, CX
	SUBQ    $3, AX
	CMOVQLE CX, AX
	LEAQ    (DI)(R13*1), CX
	SUBQ    BASE, CX
	TESTQ   AX, AX
	JZ      leave
	FAR(AX)
	MOVQ    REP2, CX
	CMPQ    R15, $2
	CMOVQGE REP1, CX
	MOVQ    CX, REP2
	MOVQ    REP1, CX
	TESTQ   R15, R15
	CMOVQNE R14, CX
	MOVQ    CX, REP1
	MOVQ    AX, R14

next:
	MOVQ    BP, CX
	ROLQ    CX, R12
	MOVBLZX OFFS(R9), R15
	BZHIQ   R15, R12, CX
	SHRXQ   R15, R12, R12
	MOVWLZX OFF_NEXT(R9), R9
	ADDQ    CX, R9
	MOVBLZX MATS(R10), R15
	BZHIQ   R15, R12, CX
	SHRXQ   R15, R12, R12
	MOVWLZX MAT_NEXT(R10), R10
	ADDQ    CX, R10
	MOVBLZX LITS(R8), R15
	BZHIQ   R15, R12, CX
	MOVWLZX LIT_NEXT(R8), R8
	ADDQ    CX, R8

	MOVOU (SI), X0
	MOVOU X0, (DI)
	CMPQ  R13, $16
	JA    literals

match:
	ADDQ  R13, SI
	ADDQ  R13, DI
	MOVQ  DI, R15
	SUBQ  AX, R15
	CMPQ  AX, $16
	JB    pattern
	MOVOU (R15), X0
	MOVOU X0, (DI)
	MOVOU 16(R15), X1
	MOVOU X1, 16(DI)
	CMPQ  BX, $32
	JA    long
	ADDQ  BX, DI
	SUBQ  $1, LEFT
	JNZ   loop
	MOVQ  R11, POS
	JMP   leave

literals:
	MOVL $16, CX

literal:
	MOVOU (SI)(CX*1), X0
	MOVOU X0, (DI)(CX*1)
	ADDQ  $16, CX
	CMPQ  CX, R13
	JB    literal
	JMP   match

long:
	MOVL $32, CX

piece:
	MOVOU (R15)(CX*1), X0
	MOVOU X0, (DI)(CX*1)
	MOVOU 16(R15)(CX*1), X1
	MOVOU X1, 16(DI)(CX*1)
	ADDQ  $32, CX
	CMPQ  CX, BX
	JB    piece
	JMP   end

// A match that overlaps itself within 16 bytes: whole patterns are stored.
pattern:
	MOVOU   (R15), X0
	LEAQ    wholes<>(SB), CX
	MOVBLZX (CX)(AX*1), R15
	LEAQ    patterns<>(SB), CX
	SHLQ    $4, AX
	MOVOU   (CX)(AX*1), X1
	PSHUFB  X1, X0
	XORL    CX, CX

whole:
	MOVOU X0, (DI)(CX*1)
	ADDQ  R15, CX
	CMPQ  CX, BX
	JB    whole

end:
	ADDQ BX, DI
	SUBQ $1, LEFT
	JNZ  loop
	MOVQ R11, POS
	JMP  leave

leave:
	MOVQ POS, AX
	MOVQ AX, run_pos(DX)
	MOVQ R8, run_state+0(DX)
	MOVQ R9, run_state+8(DX)
	MOVQ R10, run_state+16(DX)
	MOVQ R14, run_rep+0(DX)
	MOVQ REP1, AX
	MOVQ AX, run_rep+8(DX)
	MOVQ REP2, AX
	MOVQ AX, run_rep+16(DX)
	SUBQ BASE, DI
	MOVQ DI, run_o(DX)
	SUBQ lit+16(FP), SI
	MOVQ SI, run_l(DX)
	MOVQ LEFT, AX
	INCQ AX
	MOVQ AX, run_n(DX)
	RET
