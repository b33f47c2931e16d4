//go:build peers

package peers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/farread/farread/internal/human"
)

// An input is a file that someone else wrote, and what became of it.
type input struct {
	File  string
	From  string // file of a package
	Flags []string
	// Refused says that it is to be refused: it is no series.
	Refused bool

	out     string // what came out
	refused string // why nothing did
}

// packed packs a file, and says what came out or why nothing did.
func (in *input) packed(t *testing.T, bin string, args ...string) bool {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), bin, append([]string{"pack", "--json"}, args...)...)
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
		_, why, ok := strings.Cut(lines[len(lines)-1], in.File+": ")
		if !ok || strings.Contains(why, "panic") || strings.Contains(why, "corrupt") && !broken(in.File) && !in.Refused {
			t.Errorf("%s: %s", in.File, &stderr)
		}
		in.refused = strings.NewReplacer(": unsupported feature", "", in.File+": ", "", in.File+" at ", "at ", "|", `\|`).Replace(why)
		return false
	}
	var rep struct {
		Tracks, Samples int64
		IDs, Frames     int64
		Layout          string
		Outputs         []string
		Bytes           int64
	}
	if err := json.Unmarshal(text, &rep); err != nil {
		t.Fatalf("%s: %v in %s", in.File, err, text)
	}
	switch {
	case rep.Frames > 0:
		in.out = fmt.Sprintf("%s of %s, %s", human.Plural(rep.Frames, "image"), human.Plural(rep.IDs, "id"), rep.Layout)
	case rep.Tracks > 0:
		in.out = fmt.Sprintf("%s of %s", human.Plural(rep.Samples, "sample"), human.Plural(rep.Tracks, "track"))
	default:
		in.out = fmt.Sprintf("%s, %s", human.Plural(int64(len(rep.Outputs)), "array"), human.Plural(rep.Bytes, "byte"))
		if n := strings.Count(stderr.String(), " is left out: "); n > 0 {
			in.out += fmt.Sprintf("; %d left out", n)
		}
	}
	return true
}

// broken reports whether a file is damaged on purpose: scipy refuses these, too.
func broken(name string) bool {
	return strings.Contains(name, "early-eof-no-data") || strings.Contains(name, "incomplete-chunk") || strings.Contains(name, "inconsistent")
}

// TestRealInputs: what other people wrote goes in and comes out as the readers of these
// formats have it, or is refused by name. The table of it is in docs/inputs.md; with
// FARREAD_INPUTS=write the test writes it there.
func TestRealInputs(t *testing.T) {
	bin := program(t)
	var all []input
	for _, c := range []struct {
		script, kept string
		least        int
	}{{"realcsv.py", "real", 45}, {"realparquet.py", "realparquet", 20}} {
		t.Run(c.script, func(t *testing.T) { all = append(all, realTables(t, bin, c.script, c.kept, c.least)...) })
	}
	t.Run("realarrays.py", func(t *testing.T) { all = append(all, realArrays(t, bin)...) })
	t.Run("realpictures.py", func(t *testing.T) { all = append(all, realPictures(t, bin)...) })
	if t.Failed() || len(all) < 170 {
		t.Fatalf("%d inputs", len(all))
	}
	inPage(t, all)
}

// realArrays packs WAVs, arrays, Zarr and pictures, and has a script compare what comes out again.
func realArrays(t *testing.T, bin string) []input {
	t.Helper()
	dir := t.TempDir()
	script, err := filepath.Abs("realarrays.py")
	if err != nil {
		t.Fatal(err)
	}
	var files []input
	runIn(t.Context(), t, nil, &files, script, "list", dir)
	in := 0
	for i := range files {
		f := &files[i]
		src := filepath.Join(dir, f.File)
		info := map[string]any{"file": f.File}
		switch ext := filepath.Ext(f.File); {
		case strings.Contains(f.File, ".group."):
			if !f.packed(t, bin, src, src+".d/", "--format", "b2nd") {
				continue
			}
			command(t, bin, "unpack", src+".d/", src+".back.zarr")
		case ext == ".wav":
			if !f.packed(t, bin, src, src+".zoom") {
				continue
			}
			info["rate"] = wavBack(t, bin, src)
		case ext == ".jpg" || ext == ".png":
			if !f.packed(t, bin, src, src+".gulp", "--layout", "flat") {
				continue
			}
			command(t, bin, "get", src+".gulp", "--id", strings.TrimSuffix(f.File, ext), "--frames", "0", "-o", src+".back"+ext)
		case ext == ".npz":
			if !f.packed(t, bin, src, src+".d/", "--format", "b2nd") {
				continue
			}
			info["members"] = membersBack(t, bin, src)
		case ext == ".npy":
			if !f.packed(t, bin, src, src+".b2nd") {
				continue
			}
			command(t, bin, "get", src+".b2nd", "-o", src+".1.npy")
		default:
			if !f.packed(t, bin, src, src+".b2nd") {
				continue
			}
			command(t, bin, "unpack", src+".b2nd", src+".back.zarr")
		}
		in++
		text, err := json.Marshal(info)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(src+".info.json", text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var wrong []string
	runIn(t.Context(), t, nil, &wrong, script, "check", dir)
	for _, text := range wrong {
		t.Error(text)
	}
	if len(files) < 50 || in < 40 {
		t.Errorf("%d of %d went in", in, len(files))
	}
	return files
}

// wavBack writes the channels of a series as arrays, and returns its rate.
func wavBack(t *testing.T, bin, src string) [2]int64 {
	t.Helper()
	var about struct {
		Tracks []struct{ Rate [2]int64 }
	}
	if err := json.Unmarshal(command(t, bin, "info", "--json", src+".zoom"), &about); err != nil || len(about.Tracks) == 0 {
		t.Fatalf("%s: %v", src, err)
	}
	for i := range about.Tracks {
		n := strconv.Itoa(i + 1)
		command(t, bin, "get", src+".zoom", "--track", n, "-o", src+"."+n+".npy")
	}
	return about.Tracks[0].Rate
}

// membersBack writes the members of a .npz as arrays, and returns their names.
func membersBack(t *testing.T, bin, src string) []string {
	t.Helper()
	list, err := filepath.Glob(src + ".d/*.b2nd")
	if err != nil || len(list) == 0 {
		t.Fatalf("%s: nothing, %v", src, err)
	}
	for i, name := range list {
		command(t, bin, "get", name, "-o", fmt.Sprintf("%s.%d.npy", src, i+1))
		list[i] = strings.TrimSuffix(filepath.Base(name), ".b2nd")
	}
	return list
}

// inPage holds the table in the page against what was seen.
func inPage(t *testing.T, all []input) {
	t.Helper()
	page := filepath.Join("..", "..", "docs", "inputs.md")
	text := string(loaded(t, page))
	const begin, end = "<!-- real inputs -->\n", "<!-- end of real inputs -->\n"
	before, rest, ok := strings.Cut(text, begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table", page)
	}
	var b strings.Builder
	refused := 0
	for _, in := range all {
		if in.refused != "" {
			refused++
		}
	}
	fmt.Fprintf(&b, "%d inputs, %d of them refused:\n\n| input | what came out |\n| --- | --- |\n", len(all), refused)
	for _, in := range all {
		name, flags := "`"+in.From+"`", ""
		if src, how, ok := strings.Cut(in.From, ", "); ok {
			name = "`" + src + "`, " + how
		}
		if len(in.Flags) > 0 {
			flags = ", with `" + strings.Join(in.Flags, " ") + "`"
		}
		out := in.out
		if in.refused != "" {
			out = "refused: " + in.refused
		}
		fmt.Fprintf(&b, "| %s%s | %s |\n", name, flags, out)
	}
	want := before + begin + b.String() + end + after
	if os.Getenv("FARREAD_INPUTS") == "write" {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != text {
		t.Errorf("%s does not show what was seen: run this test with FARREAD_INPUTS=write\n%s", page, &b)
	}
}
