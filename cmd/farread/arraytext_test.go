package main

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestScreen: a terminal gets what NumPy prints, in lines of its width or of 75 columns, and
// of many items the first and the last. A pipe gets a line for each row, and all items.
func TestScreen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	made := func(typ string, shape ...int64) string {
		n := int64(1)
		for _, k := range shape {
			n *= k
		}
		var p []byte
		for i := range n {
			p = binary.LittleEndian.AppendUint32(p, uint32(i))
			if typ != "<i4" {
				p = append(p, 1)
			}
		}
		name := filepath.Join(dir, strings.NewReplacer("[", "", "]", "", " ", "x").Replace(fmt.Sprint(len(typ), shape)))
		npyFile(t, name+".npy", typ, shape, false, p)
		run(t, "pack", name+".npy", name+".b2nd")
		return name + ".b2nd"
	}
	const members = "[('a', '<i4'), ('b', '|u1')]"
	for _, c := range []struct {
		name, slice string
		width       int
		want        string
	}{
		{made("<i4", 365), "340:", 0, "[340 341 342 343 344 345 346 347 348 349 350 351 352 353 354 355 356 357\n 358 359 360 361 362 363 364]\n"},
		{made("<i4", 366), "340:365", 40, "[340 341 342 343 344 345 346 347 348\n 349 350 351 352 353 354 355 356 357\n 358 359 360 361 362 363 364]\n"},
		{made("<i4", 9), "...", 0, "[0 1 2 3 4 5 6 7 8]\n"},
		{made("<i4", 3000), "...", 0, "[   0    1    2 ... 2997 2998 2999]\n"},
		{made("<i4", 20, 60), "...", 0, "[[   0    1    2 ...   57   58   59]\n [  60   61   62 ...  117  118  119]\n [ 120  121  122 ...  177  178  179]\n ...\n" +
			" [1020 1021 1022 ... 1077 1078 1079]\n [1080 1081 1082 ... 1137 1138 1139]\n [1140 1141 1142 ... 1197 1198 1199]]\n"},
		{made("<i4", 2, 2, 3), "...", 0, "[[[ 0  1  2]\n  [ 3  4  5]]\n\n [[ 6  7  8]\n  [ 9 10 11]]]\n"},
		{made("<i4", 2, 2, 2, 3), "1, 1, 1, 1", 0, "22\n"},
		{made("<i4", 8, 20, 8), "..., :2", 0, ""},
		{made(members, 2000), "...", 0, "   a  b\n   0  1\n   1  1\n   2  1\n ...\n1997  1\n1998  1\n1999  1\n"},
	} {
		got := runner{screen: true, width: c.width}.run(t, "slice", c.name, c.slice)
		if c.want != "" && got.stdout != c.want || got.code != exitOK {
			t.Errorf("%s %s:\n%s, want\n%s", c.name, c.slice, got.stdout, c.want)
		}
		for l := range strings.SplitSeq(got.stdout, "\n") {
			if utf8.RuneCountInString(l) > 75 {
				t.Errorf("%s: a line of %d columns", c.name, len(l))
			}
		}
		out := filepath.Join(dir, "out.txt")
		run(t, "slice", c.name, c.slice, "-o", out, "--format", "text")
		whole := run(t, "slice", c.name, c.slice)
		if get := (runner{screen: true, width: c.width}).run(t, "get", c.name, "-o", "-"); c.slice == "..." && get.stdout != got.stdout {
			t.Errorf("%s: get shows\n%s, slice\n%s", c.name, get.stdout, got.stdout)
		}
		if r := (runner{screen: true}).run(t, "slice", c.name, c.slice, "-o", out, "--format", "text"); r.code != exitOK || string(testFile(t, out)) != whole {
			t.Errorf("%s: a file is not what a pipe gets", c.name)
		}
		if strings.Contains(whole, "...") || strings.Count(whole, "\n") < 1 || len(strings.Fields(whole)) < len(strings.Fields(strings.NewReplacer("[", " ", "]", " ", "...", "").Replace(got.stdout))) {
			t.Errorf("%s: a pipe gets\n%s", c.name, whole)
		}
		for _, form := range []string{"csv", "json"} {
			r := runner{screen: true}.run(t, "slice", c.name, c.slice, "-o", "-", "--format", form)
			if r.stdout != run(t, "slice", c.name, c.slice, "-o", "-", "--format", form) {
				t.Errorf("%s: %s on a terminal is another", c.name, form)
			}
		}
	}
}
