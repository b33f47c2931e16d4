package main

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestScreen: a terminal gets lines of 75 columns, and of many items the first and the
// last. A pipe gets a line for each row, and all items.
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
		name, slice, want string
	}{
		{made("<i4", 365), "340:", "340  341  342  343  344  345  346  347  348  349  350  351  352  353  354\n355  356  357  358  359  360  361  362  363  364\n"},
		{made("<i4", 9), "...", "0  1  2  3  4  5  6  7  8\n"},
		{made("<i4", 3000), "...", "0  1  2  ...  2997  2998  2999\n"},
		{made("<i4", 1000), "8:", strings.Join(strings.Split(wrapped(8, 1000, 15), "|"), "\n")},
		{made("<i4", 2, 40), "...", " 0   1   2   3   4   5   6   7   8   9  10  11  12  13  14  15  16  17  18\n" +
			"  19  20  21  22  23  24  25  26  27  28  29  30  31  32  33  34  35  36\n  37  38  39\n" +
			"40  41  42  43  44  45  46  47  48  49  50  51  52  53  54  55  56  57  58\n" +
			"  59  60  61  62  63  64  65  66  67  68  69  70  71  72  73  74  75  76\n  77  78  79\n"},
		{made("<i4", 20, 60), "...", "   0     1     2  ...    57    58    59\n  60    61    62  ...   117   118   119\n 120   121   122  ...   177   178   179\n ...\n" +
			"1020  1021  1022  ...  1077  1078  1079\n1080  1081  1082  ...  1137  1138  1139\n1140  1141  1142  ...  1197  1198  1199\n"},
		{made("<i4", 8, 20, 8), "..., :2", ""},
		{made("<i4", 8, 2, 80), "...", "[0, :, :]\n 0   1   2  ...   77   78   79\n80  81  82  ...  157  158  159\n\n[1, :, :]\n160  161  162  ...  237  238  239\n240  241  242  ...  317  318  319\n\n" +
			"[2, :, :]\n320  321  322  ...  397  398  399\n400  401  402  ...  477  478  479\n\n...\n\n[5, :, :]\n800  801  802  ...  877  878  879\n880  881  882  ...  957  958  959\n\n" +
			"[6, :, :]\n 960   961   962  ...  1037  1038  1039\n1040  1041  1042  ...  1117  1118  1119\n\n[7, :, :]\n1120  1121  1122  ...  1197  1198  1199\n1200  1201  1202  ...  1277  1278  1279\n"},
		{made(members, 2000), "...", "   a  b\n   0  1\n   1  1\n   2  1\n ...\n1997  1\n1998  1\n1999  1\n"},
	} {
		got := runner{screen: true}.run(t, "slice", c.name, c.slice)
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
		if r := (runner{screen: true}).run(t, "slice", c.name, c.slice, "-o", out, "--format", "text"); r.code != exitOK || string(testFile(t, out)) != whole {
			t.Errorf("%s: a file is not what a pipe gets", c.name)
		}
		if strings.Contains(whole, "...") || strings.Count(whole, "\n") < 1 || len(strings.Fields(whole)) < len(strings.Fields(got.stdout))-2 {
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

// wrapped are numbers of three columns in lines of n.
func wrapped(from, to, n int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		switch {
		case i == from:
		case (i-from)%n == 0:
			b.WriteByte('|')
		default:
			b.WriteString("  ")
		}
		fmt.Fprintf(&b, "%3d", i)
	}
	return b.String() + "|"
}
