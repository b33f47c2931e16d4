package main

import (
	"encoding/json"
	"testing"
)

// TestFillText: a fill value is shown as people write it, and a missing value of floats, which xarray keeps in base64, as a
// number; what cannot be read is shown as it is.
func TestFillText(t *testing.T) {
	t.Parallel()
	for _, x := range [][3]string{
		{"<M8[s]", "-9223372036854775808", "NaT"}, {"<M8[s]", "0", "1970-01-01T00:00:00"}, {"<m8[D]", "3", "3"}, {"|S3", `"cQ=="`, `"q"`}, {"|S3", `""`, `""`},
		{">U2", `"\u00e9"`, `"é"`}, {"<U2", `""`, `""`}, {"<f4", `"NaN"`, "NaN"}, {"<f8", "0.0", "0.0"}, {"<u8", "18446744073709551615", "18446744073709551615"},
		{"|b1", "true", "true"}, {"|S3", `"????"`, "????"}, {"no type", "1", "1"}, {"<i4", "{}", "{}"},
	} {
		if got := fillText(x[0], json.RawMessage(x[1])); got != x[2] {
			t.Errorf("%s of %s: %s, want %s", x[1], x[0], got, x[2])
		}
	}
	for _, x := range [][3]string{
		{"<f4", `"AAAAAAAA+H8="`, `"NaN (AAAAAAAA+H8=)"`}, {"<f8", `"AAAAAICHw8A="`, `"-9999 (AAAAAICHw8A=)"`}, {"<i4", `"AAAAAAAA+H8="`, `"AAAAAAAA+H8="`},
		{"<f8", `"AAAA"`, `"AAAA"`}, {"<f8", `-1`, `-1`}, {"<f8", ``, ``},
	} {
		attrs := map[string]json.RawMessage{"units": json.RawMessage(`"m"`)}
		if x[1] != "" {
			attrs["_FillValue"] = json.RawMessage(x[1])
		}
		if got := string(plainMissing(x[0], attrs)["_FillValue"]); got != x[2] || string(attrs["_FillValue"]) != x[1] {
			t.Errorf("%s of %s: %s, want %s", x[1], x[0], got, x[2])
		}
	}
}
