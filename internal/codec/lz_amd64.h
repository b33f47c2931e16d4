// What the kernels of BloscLZ and LZ4 share. In both:
// AX length of the match, BX where it goes, DX the token after it, R10 where it comes
// from, R14 its distance; SI, DI the token at hand in src and dst; R8 end of dst, R9
// tables, R11 start of dst, R12, R13 last places in dst and src for a token that is
// handled here.

// MATCH32 copies 32 bytes, of which a near match repeats the first. It destroys R14.
#define MATCH32 \
	CMPQ           R14, $32                        \
	CMOVQCC        lzTables_far(R9), R14           \
	SHLQ           $6, R14                         \
	VBROADCASTI128 (R10), Y0                       \
	VMOVDQU        (R10), Y1                       \
	VPSHUFB        lzTables_masks(R9)(R14*1), Y0, Y0    \
	VPSHUFB        lzTables_masks+32(R9)(R14*1), Y1, Y1 \
	VPOR           Y1, Y0, Y0                      \
	VMOVDQU        Y0, (BX)

// MATCH copies a longer match, and goes on with the loop: or is done, if there is no
// room. Far copies load what was stored long before, so a pattern is doubled until it is
// long.
#define MATCH \
	LEAQ    64(BX)(AX*1), R15             \
	CMPQ    R15, R8                       \
	JHI     done                          \
	SUBQ    $64, R15                      \
	MOVQ    DX, SI                        \
	CMPQ    R14, $32                      \
	JCS     pattern                       \
	MOVQ    BX, DI                        \
grow:                                     \
	CMPQ    R14, $256                     \
	JCC     copy                          \
	LEAQ    (DI)(R14*1), CX               \
	CMPQ    CX, R15                       \
	JCC     copy                          \
	MOVQ    R10, DX                       \
double:                                   \
	VMOVDQU (DX), Y0                      \
	VMOVDQU Y0, (DI)                      \
	ADDQ    $32, DX                       \
	ADDQ    $32, DI                       \
	CMPQ    DI, CX                        \
	JCS     double                        \
	MOVQ    CX, DI                        \
	ADDQ    R14, R14                      \
	JMP     grow                          \
copy:                                     \
	VMOVDQU (R10), Y0                     \
	VMOVDQU Y0, (DI)                      \
	VMOVDQU 32(R10), Y1                   \
	VMOVDQU Y1, 32(DI)                    \
	ADDQ    $64, R10                      \
	ADDQ    $64, DI                       \
	CMPQ    DI, R15                       \
	JCS     copy                          \
	MOVQ    R15, DI                       \
	JMP     loop                          \
pattern:                                  \
	MOVBLZX lzTables_steps(R9)(R14*1), AX \
	MOVQ    BX, DI                        \
	CMPQ    R14, $8                       \
	JHI     wide                          \
	SHLQ    $6, R14                       \
	VPBROADCASTQ (R10), Y0                \
	VPSHUFB lzTables_masks(R9)(R14*1), Y0, Y0 \
	JMP     repeat                        \
wide:                                     \
	MATCH32                               \
repeat:                                   \
	VMOVDQU Y0, (DI)                      \
	ADDQ    AX, DI                        \
	CMPQ    DI, R15                       \
	JCS     repeat                        \
	MOVQ    R15, DI                       \
	JMP     loop
