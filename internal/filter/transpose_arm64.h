// Steps that kernels share. Loads and stores that interleave by themselves (LD4, ST4) are
// not used: processors cut them into as many operations as there are here, or more.

// ZIP interleaves units of a and b: those of the lower halves into lo, those of the upper
// ones into hi. None may be the same register.
#define ZIP(unit, a, b, lo, hi) \
	VZIP1 b.unit, a.unit, lo.unit; \
	VZIP2 b.unit, a.unit, hi.unit

// UNZIP takes the even bytes of a and b together into even, the odd ones into odd.
#define UNZIP(a, b, even, odd) \
	VUZP1 b.B16, a.B16, even.B16; \
	VUZP2 b.B16, a.B16, odd.B16

// MERGE8 makes of 8 planes V0 to V7, of 16 bytes each, the elements in V16 to V23: each
// step zips neighbours and so doubles the units and halves the planes.
#define MERGE8 \
	ZIP(B16, V0, V1, V8, V9); \
	ZIP(B16, V2, V3, V10, V11); \
	ZIP(B16, V4, V5, V12, V13); \
	ZIP(B16, V6, V7, V14, V15); \
	ZIP(H8, V8, V10, V0, V1); \
	ZIP(H8, V9, V11, V2, V3); \
	ZIP(H8, V12, V14, V4, V5); \
	ZIP(H8, V13, V15, V6, V7); \
	ZIP(S4, V0, V4, V16, V17); \
	ZIP(S4, V1, V5, V18, V19); \
	ZIP(S4, V2, V6, V20, V21); \
	ZIP(S4, V3, V7, V22, V23)

// SPLIT8 undoes MERGE8, but takes the elements from V0 to V7 and puts the planes into V16 to
// V23: each step parts the bytes by one more bit of their number in the element.
#define SPLIT8 \
	UNZIP(V0, V1, V8, V9); \
	UNZIP(V2, V3, V10, V11); \
	UNZIP(V4, V5, V12, V13); \
	UNZIP(V6, V7, V14, V15); \
	UNZIP(V8, V10, V0, V1); \
	UNZIP(V12, V14, V2, V3); \
	UNZIP(V9, V11, V4, V5); \
	UNZIP(V13, V15, V6, V7); \
	UNZIP(V0, V2, V16, V20); \
	UNZIP(V1, V3, V18, V22); \
	UNZIP(V4, V6, V17, V21); \
	UNZIP(V5, V7, V19, V23)

// LOAD8 takes 16 bytes from each of 8 places, R3 bytes apart from R4 on, into V0 to V7.
#define LOAD8 \
	VLD1.P (R4)(R3), [V0.B16]; \
	VLD1.P (R4)(R3), [V1.B16]; \
	VLD1.P (R4)(R3), [V2.B16]; \
	VLD1.P (R4)(R3), [V3.B16]; \
	VLD1.P (R4)(R3), [V4.B16]; \
	VLD1.P (R4)(R3), [V5.B16]; \
	VLD1.P (R4)(R3), [V6.B16]; \
	VLD1.P (R4)(R3), [V7.B16]

// STORE8 puts 16 bytes of each of 8 registers to places R3 bytes apart from R4 on.
#define STORE8(a, b, c, d, e, f, g, h) \
	VST1.P [a.B16], (R4)(R3); \
	VST1.P [b.B16], (R4)(R3); \
	VST1.P [c.B16], (R4)(R3); \
	VST1.P [d.B16], (R4)(R3); \
	VST1.P [e.B16], (R4)(R3); \
	VST1.P [f.B16], (R4)(R3); \
	VST1.P [g.B16], (R4)(R3); \
	VST1.P [h.B16], (R4)(R3)
