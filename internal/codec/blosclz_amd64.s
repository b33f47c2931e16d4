//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"
#include "lz_amd64.h"

// CX is the control byte.

// func bloscLZTokens(t *lzTables, dst, src []byte, o, p int) (o2, p2 int)
TEXT ·bloscLZTokens(SB), NOSPLIT, $0-88
	MOVQ t+0(FP), R9
	MOVQ dst_base+8(FP), R11
	MOVQ dst_len+16(FP), R8
	MOVQ src_base+32(FP), SI
	MOVQ src_len+40(FP), R13
	MOVQ o+56(FP), DI
	ADDQ R11, DI
	ADDQ R11, R8
	LEAQ -32(R8), R12
	LEAQ -40(SI)(R13*1), R13
	ADDQ p+64(FP), SI

	PCALIGN $32
loop:
	CMPQ DI, R12
	JHI  done
	CMPQ SI, R13
	JHI  done

	// Length and distance, without a branch.
	MOVL    (SI), AX
	MOVBLZX AX, CX
	LEAQ    (R9)(CX*8), DX
	MOVBLZX bloscLZToken_shift(DX), BX
	MOVWLZX bloscLZToken_dist(DX), R14
	SHRXQ   BX, AX, BX
	MOVBLZX BX, BX
	ADDQ    BX, R14
	SHRL    $8, AX
	MOVBLZX bloscLZToken_more(DX), R15
	ANDL    R15, AX
	MOVBLZX bloscLZToken_n(DX), R15
	ADDL    R15, AX
	MOVBLZX bloscLZToken_size(DX), DX
	CMPL    R14, $const_blzEscape+1
	JEQ     far

source:
	ADDQ    SI, DX
	MOVQ    DI, BX
	MOVQ    DI, R10
	SUBQ    R14, R10
	CMPQ    R10, R11
	JCS     done
	LEAQ    1(SI), R15
	CMPL    CX, $32
	CMOVQCS R15, R10
	CMPL    AX, $32
	JHI     long
	MATCH32
	ADDQ    AX, DI
	MOVQ    DX, SI
	JMP     loop

far:
	MOVWLZX (SI)(DX*1), BX
	ROLW    $8, BX
	ADDQ    BX, R14
	ADDL    $2, DX
	JMP     source

long:
	CMPL AX, $264
	JNE  room
	LEAQ 2(SI), DX

more:
	CMPQ    DX, R13
	JHI     done
	MOVBLZX (DX), R10
	INCQ    DX
	ADDQ    R10, AX
	CMPL    R10, $255
	JEQ     more
	LEAQ    (R9)(CX*8), R15
	MOVWLZX bloscLZToken_dist(R15), R14
	MOVBLZX (DX), R10
	INCQ    DX
	ADDQ    R10, R14
	CMPL    R14, $const_blzEscape+1
	JNE     near
	MOVWLZX (DX), R10
	ROLW    $8, R10
	ADDQ    R10, R14
	ADDQ    $2, DX

near:
	MOVQ BX, R10
	SUBQ R14, R10
	CMPQ R10, R11
	JCS  done

room:
	MATCH

done:
	VZEROUPPER
	SUBQ R11, DI
	SUBQ src_base+32(FP), SI
	MOVQ DI, o2+72(FP)
	MOVQ SI, p2+80(FP)
	RET
