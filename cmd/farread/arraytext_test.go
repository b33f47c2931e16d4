package main

import (
	"encoding/binary"
	"encoding/json"
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

// TestScreenOfMany: of an array of any size a terminal gets its corners, as NumPy prints them, and no more is read; a
// pipe gets an error.
func TestScreenOfMany(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	made := func(name, typ string, shape, chunk string, n int) string {
		var p []byte
		for i := range n {
			p = binary.LittleEndian.AppendUint32(p, uint32(i))
		}
		name = filepath.Join(dir, name)
		write(t, name+".raw", p)
		run(t, "pack", name+".raw", name+".b2nd", "--dtype", typ, "--shape", shape, "--chunk-shape", chunk, "--codec", "zstd-1")
		return name + ".b2nd"
	}
	line := made("line", "<i4", "2000000", "100000", 2_000_000)
	cube := made("cube", "<i4", "20,100,30", "5,50,30", 60_000)
	pairs := made("pairs", "[('a', '<u2'), ('b', '<u2')]", "20000", "5000", 20_000)
	row := func(at, n int) string {
		return fmt.Sprintf("[%5d %5d %5d ... %5d %5d %5d]", at, at+1, at+2, at+n-3, at+n-2, at+n-1)
	}
	planeOf := func(at int) string {
		return "[" + strings.Join([]string{row(at, 30), row(at+30, 30), row(at+60, 30), "...", row(at+97*30, 30), row(at+98*30, 30), row(at+99*30, 30)}, "\n  ") + "]"
	}
	whole := "[" + strings.Join([]string{planeOf(0), planeOf(3000), planeOf(6000), "...", planeOf(51000), planeOf(54000), planeOf(57000)}, "\n\n ") + "]\n"
	for _, c := range []struct{ name, slice, want string }{
		{line, "...", "[      0       1       2 ... 1999997 1999998 1999999]\n"},
		{line, "::-2", "[1999999 1999997 1999995 ...       5       3       1]\n"},
		{line, "10:1000010", "[     10      11      12 ... 1000007 1000008 1000009]\n"},
		{cube, "...", whole},
		{cube, "3, :, ::-1", ""},
		{cube, "..., 29:0:-7", ""},
		{pairs, "...", "    a  b\n    0  0\n    1  0\n    2  0\n  ...\n19997  0\n19998  0\n19999  0\n"},
	} {
		got := runner{screen: true}.run(t, "slice", c.name, c.slice, "--stats")
		if c.want != "" && got.stdout != c.want || got.code != exitOK {
			t.Errorf("%s [%s]: exit %d\n%s%s, want\n%s", c.name, c.slice, got.code, got.stdout, got.stderr, c.want)
		}
		if c.name == line {
			var s struct{ Bytes int64 }
			if err := json.Unmarshal([]byte(got.stderr), &s); err != nil || s.Bytes > 300_000 {
				t.Errorf("[%s]: read %d bytes of 8 MB", c.slice, s.Bytes)
			}
		}
		if r := (runner{}).run(t, "slice", c.name, c.slice); c.want != "" && (r.code != exitUsage || !strings.Contains(r.stderr, "items are too many to show: name a file with -o")) {
			t.Errorf("[%s] in a pipe: exit %d %s", c.slice, r.code, r.stderr)
		}
	}
	if got := (runner{screen: true}).run(t, "get", line, "-o", "-"); got.stdout != "[      0       1       2 ... 1999997 1999998 1999999]\n" {
		t.Error(got)
	}
}
