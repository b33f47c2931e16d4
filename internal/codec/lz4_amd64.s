//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"
#include "lz_amd64.h"

// func lz4AVX2(t *lzTables, dst, src []byte) (o, p int)
TEXT ·lz4AVX2(SB), NOSPLIT, $0-72
	MOVQ t+0(FP), R9
	MOVQ dst_base+8(FP), R11
	MOVQ dst_len+16(FP), R8
	MOVQ src_base+32(FP), SI
	MOVQ src_len+40(FP), R13
	MOVQ R11, DI
	ADDQ R11, R8
	LEAQ -64(R8), R12
	LEAQ -65(SI)(R13*1), R13

	PCALIGN $32
loop:
	CMPQ    DI, R12
	JHI     done
	CMPQ    SI, R13
	JHI     done
	MOVBLZX (SI), AX
	MOVQ    SI, R15
	MOVL    AX, CX
	ANDL    $15, AX
	MOVQ    R12, BX
	SHRL    $4, CX
	CMOVQNE DI, BX // no literals go elsewhere, lest the match waits for them
	CMPL    CX, $15
	JEQ     literals
	VMOVDQU 1(SI), X0
	VMOVDQU X0, (BX)
	ADDQ    CX, SI
	LEAQ    (DI)(CX*1), BX

match:
	// The distance is 1(SI); the byte behind it belongs to the length if AX is 15.
	MOVWLZX 1(SI), R14
	MOVBLZX 3(SI), DX
	CMPL    AX, $15
	SBBQ    $-4, SI
	CMPL    AX, $15
	SBBL    CX, CX
	ANDNL   DX, CX, DX
	LEAL    4(AX)(DX*1), AX
	MOVQ    BX, R10
	SUBQ    R14, R10
	CMPQ    R10, R11
	JCS     undone
	TESTL   R14, R14
	JEQ     undone
	CMPL    AX, $32
	JHI     long
	MATCH32
	LEAQ    (BX)(AX*1), DI
	JMP     loop

literals:
	MOVBLZX 1(SI), BX
	INCQ    SI
	ADDQ    BX, CX
	CMPQ    SI, R13
	JHI     undone
	CMPL    BX, $255
	JEQ     literals
	LEAQ    1(SI), DX
	ADDQ    CX, SI
	CMPQ    SI, R13
	JHI     undone
	LEAQ    (DI)(CX*1), BX
	CMPQ    BX, R12
	JHI     undone
	MOVQ    DI, R14

literals64:
	VMOVDQU (DX), Y0
	VMOVDQU Y0, (R14)
	VMOVDQU 32(DX), Y1
	VMOVDQU Y1, 32(R14)
	ADDQ    $64, DX
	ADDQ    $64, R14
	CMPQ    R14, BX
	JCS     literals64
	JMP     match

long:
	CMPL AX, $274
	JNE  room

more:
	MOVBLZX (SI), CX
	INCQ    SI
	ADDQ    CX, AX
	CMPQ    SI, R13
	JHI     undone
	CMPL    CX, $255
	JEQ     more

room:
	MOVQ SI, DX
	MOVQ R15, SI
	MATCH

undone:
	MOVQ R15, SI

done:
	VZEROUPPER
	SUBQ R11, DI
	SUBQ src_base+32(FP), SI
	MOVQ DI, o+56(FP)
	MOVQ SI, p+64(FP)
	RET
