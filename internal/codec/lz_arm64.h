// What the kernels of BloscLZ and LZ4 share. In both:
// R0, R1 the token at hand in dst and src; R2 end of dst, R3 masks, R4 start of dst, R5, R6
// last places in dst and src for a token that is handled here, R7 the distance of the last
// mask; R8 length of the match, R9 where it goes, R10 the token after it, R11 where it comes
// from, R12 its distance.

// BEGIN takes the parameters that both have; R20 are the tables.
#define BEGIN \
	MOVD t+0(FP), R20; \
	MOVD dst_base+8(FP), R4; \
	MOVD dst_len+16(FP), R2; \
	MOVD src_base+32(FP), R1; \
	MOVD src_len+40(FP), R6; \
	ADD  R4, R2; \
	ADD  R1, R6; \
	ADD  $lzTables_masks, R20, R3; \
	MOVD lzTables_far(R20), R7

// NEXT goes to token, if there is room for one: the flags 2 mean higher.
#define NEXT \
	CMP  R5, R0; \
	CCMP LS, R1, R6, $2; \
	BLS  token

// MATCH32 copies 32 bytes to where to is, of which a near match repeats the first. It
// destroys R12.
#define MATCH32(to) \
	CMP  R7, R12; \
	CSEL LO, R12, R7, R12; \
	ADD  R12<<5, R3, R12; \
	VLD1 (R11), [V0.B16, V1.B16]; \
	VLD1 (R12), [V2.B16, V3.B16]; \
	VTBL V2.B16, [V0.B16, V1.B16], V4.B16; \
	VTBL V3.B16, [V0.B16, V1.B16], V5.B16; \
	VST1 [V4.B16, V5.B16], (to)

// MATCH copies a longer match, and goes on: or is done, if there is no room. Far copies load
// what was stored long before, so a pattern is doubled until it is long.
#define MATCH \
	ADD    R8, R9, R15; \
	ADD    $64, R15, R14; \
	CMP    R2, R14; \
	BHI    done; \
	MOVD   R10, R1; \
	MOVD   R9, R0; \
	CMP    R7, R12; \
	BLO    pattern; \
grow: \
	CMP    $256, R12; \
	BHS    copy; \
	ADD    R12, R0, R13; \
	CMP    R15, R13; \
	BHS    copy; \
	MOVD   R11, R14; \
double: \
	VLD1.P 32(R14), [V0.B16, V1.B16]; \
	VST1.P [V0.B16, V1.B16], 32(R0); \
	CMP    R13, R0; \
	BLO    double; \
	MOVD   R13, R0; \
	ADD    R12, R12; \
	B      grow; \
copy: \
	VLD1.P 32(R11), [V0.B16, V1.B16]; \
	VST1.P [V0.B16, V1.B16], 32(R0); \
	VLD1.P 32(R11), [V0.B16, V1.B16]; \
	VST1.P [V0.B16, V1.B16], 32(R0); \
	CMP    R15, R0; \
	BLO    copy; \
	MOVD   R15, R0; \
	B      next; \
pattern: \
	ADD    $lzTables_steps, R20, R14; \
	MOVBU  (R14)(R12), R8; \
	MATCH32(R9); \
repeat: \
	ADD    R8, R0; \
	VST1   [V4.B16, V5.B16], (R0); \
	CMP    R15, R0; \
	BLO    repeat; \
	MOVD   R15, R0; \
	B      next
