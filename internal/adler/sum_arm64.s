//go:build !purego

#include "textflag.h"

// What Go's assembler has no name for; m, n and d are numbers of registers.

// UADDLP Vd.8H, Vn.16B: the sums of pairs.
#define UADDLP(n, d) WORD $(0x6e202800 | (n)<<5 | (d))

// UADALP Vd.8H, Vn.16B and UADALP Vd.4S, Vn.8H: the same, added to what is in Vd.
#define UADALP_B(n, d) WORD $(0x6e206800 | (n)<<5 | (d))
#define UADALP_H(n, d) WORD $(0x6e606800 | (n)<<5 | (d))

// UMLAL Vd.4S, Vn.4H, Vm.4H and UMLAL2 Vd.4S, Vn.8H, Vm.8H: products, added to what is in Vd.
#define UMLAL(m, n, d) WORD $(0x2e608000 | (m)<<16 | (n)<<5 | (d))
#define UMLAL2(m, n, d) WORD $(0x6e608000 | (m)<<16 | (n)<<5 | (d))

// 32, 31 ... 1.
DATA weights<>+0(SB)/8, $0x001d001e001f0020
DATA weights<>+8(SB)/8, $0x0019001a001b001c
DATA weights<>+16(SB)/8, $0x0015001600170018
DATA weights<>+24(SB)/8, $0x0011001200130014
DATA weights<>+32(SB)/8, $0x000d000e000f0010
DATA weights<>+40(SB)/8, $0x0009000a000b000c
DATA weights<>+48(SB)/8, $0x0005000600070008
DATA weights<>+56(SB)/8, $0x0001000200030004
GLOBL weights<>(SB), RODATA|NOPTR, $64

// func addNEON(p *byte, n int, a, b uint32) (x, y uint32)
TEXT ·addNEON(SB), NOSPLIT, $0-32
	MOVD p+0(FP), R0
	MOVD n+8(FP), R2

	// V16 is the first sum. V17 adds up the value that it has in front of each 32 bytes,
	// since each byte adds that value to the second sum. V2 to V5 add up the bytes of equal
	// place among the 32, of which the first counts 32 times, the last once: 173 times 255
	// fit into 16 bits.
	FMOVS a+16(FP), F16
	VEOR  V17.B16, V17.B16, V17.B16
	VEOR  V2.B16, V2.B16, V2.B16
	VEOR  V3.B16, V3.B16, V3.B16
	VEOR  V4.B16, V4.B16, V4.B16
	VEOR  V5.B16, V5.B16, V5.B16

loop:
	VLD1.P  32(R0), [V0.B16, V1.B16]
	VADD    V16.S4, V17.S4, V17.S4
	UADDLP(0, 6)
	UADALP_B(1, 6)
	VUADDW  V0.B8, V2.H8, V2.H8
	VUADDW2 V0.B16, V3.H8, V3.H8
	VUADDW  V1.B8, V4.H8, V4.H8
	VUADDW2 V1.B16, V5.H8, V5.H8
	UADALP_H(6, 16)
	SUBS    $32, R2
	BNE     loop

	// V18 is the second sum.
	FMOVS b+20(FP), F18
	VSHL  $5, V17.S4, V17.S4
	VADD  V17.S4, V18.S4, V18.S4
	MOVD  $weights<>(SB), R3
	VLD1  (R3), [V20.H8, V21.H8, V22.H8, V23.H8]
	UMLAL(20, 2, 18)
	UMLAL2(20, 2, 18)
	UMLAL(21, 3, 18)
	UMLAL2(21, 3, 18)
	UMLAL(22, 4, 18)
	UMLAL2(22, 4, 18)
	UMLAL(23, 5, 18)
	UMLAL2(23, 5, 18)
	VADDV V16.S4, V16
	VADDV V18.S4, V18
	FMOVS F16, x+24(FP)
	FMOVS F18, y+28(FP)
	RET
