//go:build amd64 && !purego

#include "textflag.h"

// AX length of the token's bytes, BX where they come from, CX control byte, DX bytes of
// the token in src, SI &src, DI &dst, R8 end of dst, R9 tables, R10 32, R11 start of dst,
// R12, R13 last places in dst and src for a token that is handled here, R14 distance.

// func bloscLZAVX2(t *bloscLZTables, dst, src []byte, o, p int) (o2, p2 int)
TEXT ·bloscLZAVX2(SB), NOSPLIT, $0-88
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
	MOVL $32, R10

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
	MOVBLZX 1(DX), BX
	MOVWLZX 2(DX), R14
	SHRXQ   BX, AX, BX
	MOVBLZX BX, BX
	ADDQ    BX, R14
	SHRL    $8, AX
	MOVBLZX 4(DX), R15
	ANDL    R15, AX
	MOVBLZX 5(DX), R15
	ADDL    R15, AX
	MOVBLZX (DX), DX
	CMPL    R14, $0x2000
	JEQ     far

source:
	MOVQ    DI, BX
	SUBQ    R14, BX
	CMPQ    BX, R11
	JCS     done
	LEAQ    1(SI), R15
	CMPL    CX, $32
	CMOVQCS R15, BX
	CMPL    AX, $32
	JHI     long

	// 32 bytes, of which a near match repeats the first.
	CMPQ           R14, R10
	CMOVQHI        R10, R14
	SHLQ           $6, R14
	VBROADCASTI128 (BX), Y0
	VMOVDQU        (BX), Y1
	VPSHUFB        2048(R9)(R14*1), Y0, Y0
	VPSHUFB        2080(R9)(R14*1), Y1, Y1
	VPOR           Y1, Y0, Y0
	VMOVDQU        Y0, (DI)
	ADDQ           AX, DI
	ADDQ           DX, SI
	JMP            loop

far:
	MOVWLZX (SI)(DX*1), BX
	ROLW    $8, BX
	ADDQ    BX, R14
	ADDL    $2, DX
	JMP     source

verylong:
	LEAQ 2(SI), DX

more:
	CMPQ    DX, R13
	JHI     done
	MOVBLZX (DX), BX
	INCQ    DX
	ADDQ    BX, AX
	CMPL    BX, $255
	JEQ     more
	LEAQ    (R9)(CX*8), R15
	MOVWLZX 2(R15), R14
	MOVBLZX (DX), BX
	INCQ    DX
	ADDQ    BX, R14
	CMPL    R14, $0x2000
	JNE     near
	MOVWLZX (DX), BX
	ROLW    $8, BX
	ADDQ    BX, R14
	ADDQ    $2, DX

near:
	SUBQ SI, DX
	MOVQ DI, BX
	SUBQ R14, BX
	CMPQ BX, R11
	JCS  done
	JMP  room

long:
	CMPL AX, $264
	JEQ  verylong

room:
	LEAQ 64(DI)(AX*1), R15
	CMPQ R15, R8
	JHI  done
	CMPQ R14, R10
	JCS  pattern
	CMPQ R14, AX
	JCS  overlap

copy:
	SUBQ $64, R15

copy64:
	VMOVDQU (BX), Y0
	VMOVDQU Y0, (DI)
	VMOVDQU 32(BX), Y1
	VMOVDQU Y1, 32(DI)
	ADDQ    $64, BX
	ADDQ    $64, DI
	CMPQ    DI, R15
	JCS     copy64
	MOVQ    R15, DI
	ADDQ    DX, SI
	JMP     loop

overlap:
	CMPQ AX, $512
	JCS  copy
	JMP  done

pattern:
	SUBQ           $64, R15
	MOVBLZX        4160(R9)(R14*1), AX
	SHLQ           $6, R14
	VBROADCASTI128 (BX), Y0
	VMOVDQU        (BX), Y1
	VPSHUFB        2048(R9)(R14*1), Y0, Y0
	VPSHUFB        2080(R9)(R14*1), Y1, Y1
	VPOR           Y1, Y0, Y0

pattern32:
	VMOVDQU Y0, (DI)
	ADDQ    AX, DI
	CMPQ    DI, R15
	JCS     pattern32
	MOVQ    R15, DI
	ADDQ    DX, SI
	JMP     loop

done:
	VZEROUPPER
	SUBQ R11, DI
	SUBQ src_base+32(FP), SI
	MOVQ DI, o2+72(FP)
	MOVQ SI, p2+80(FP)
	RET
