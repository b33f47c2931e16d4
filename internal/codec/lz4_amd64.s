//go:build amd64 && !purego

#include "textflag.h"
#include "go_asm.h"
#include "lz_amd64.h"

// func lz4Tokens(t *lzTables, dst, src []byte) (o, p int)
TEXT ·lz4Tokens(SB), NOSPLIT, $0-72
	MOVQ t+0(FP), R9
	MOVQ dst_base+8(FP), R11
	MOVQ dst_len+16(FP), R8
	MOVQ src_base+32(FP), SI
	MOVQ src_len+40(FP), R13
	MOVQ R11, DI
	ADDQ R11, R8
	LEAQ -64(R8), R12
	LEAQ -64(SI)(R13*1), R13

	PCALIGN $32
loop:
	MOVL $0x8000, R15 // bit 15, which half a token of 15 selects

next:
	CMPQ    DI, R12
	JHI     done
	CMPQ    SI, R13
	JHI     done
	MOVBLZX (SI), AX
	LEAQ    3(SI), DX
	MOVL    AX, CX
	MOVQ    R12, BX
	SHRL    $4, CX
	CMOVQNE DI, BX // no literals go elsewhere, lest the match waits for them
	CMPL    CX, $15
	JEQ     literals
	VMOVDQU 1(SI), X0
	VMOVDQU X0, (BX)
	LEAQ    (DI)(CX*1), BX

match:
	// At DX+CX is the byte behind the distance, which is part of the length if that is
	// 15 in the token. What leads to the next token is kept short.
	MOVWLZX -2(DX)(CX*1), R14
	MOVBLZX (DX)(CX*1), R10
	BTW     AX, R15
	ADCQ    CX, DX
	BTW     AX, R15
	SBBL    CX, CX
	ANDL    R10, CX
	ANDL    $15, AX
	LEAL    4(AX)(CX*1), AX
	MOVQ    BX, R10
	SUBQ    R14, R10
	CMPQ    R10, R11
	JCS     done
	TESTL   R14, R14
	JEQ     done
	CMPL    AX, $32
	JHI     long
	MATCH32
	LEAQ    (BX)(AX*1), DI
	MOVQ    DX, SI
	JMP     next

literals:
	SUBQ $2, DX

morelits:
	MOVBLZX (DX), BX
	INCQ    DX
	ADDQ    BX, CX
	CMPQ    DX, R13
	JHI     done
	CMPL    BX, $255
	JEQ     morelits
	LEAQ    (DX)(CX*1), R14
	CMPQ    R14, R13
	JHI     done
	LEAQ    (DI)(CX*1), BX
	CMPQ    BX, R12
	JHI     done
	MOVQ    DI, R10

literals64:
	VMOVDQU (DX), Y0
	VMOVDQU Y0, (R10)
	VMOVDQU 32(DX), Y1
	VMOVDQU Y1, 32(R10)
	ADDQ    $64, DX
	ADDQ    $64, R10
	CMPQ    R10, BX
	JCS     literals64
	LEAQ    2(R14), DX
	XORL    CX, CX
	JMP     match

long:
	CMPL AX, $274
	JNE  room

more:
	MOVBLZX (DX), CX
	INCQ    DX
	ADDQ    CX, AX
	CMPQ    DX, R13
	JHI     done
	CMPL    CX, $255
	JEQ     more

room:
	MATCH

done:
	VZEROUPPER
	SUBQ R11, DI
	SUBQ src_base+32(FP), SI
	MOVQ DI, o+56(FP)
	MOVQ SI, p+64(FP)
	RET
