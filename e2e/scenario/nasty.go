package scenario

import (
	"archive/tar"
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/functions"
	"github.com/farread/farread/objstore"
)

// NastyKeys are thirty keys that encodings, paths and shells are known to break on.
// All of them are watched by fn-pack.
func NastyKeys() []string {
	const p = "pack/nasty/"
	return []string{
		p + "a b.tar", p + " lead and trail .tar ", p + "a+b.tar", p + "a%20b.tar", p + "a%2Bb%2Fc.tar", p + "100%.tar", p + "%zz.tar",
		"pack//double.tar", p + "a//b.tar", p + "a/./b.tar", p + "a/../b.tar", "/lead.tar",
		p + "ü/日本語.tar", p + "e\u0301 and \u00e9.tar", p + "\u00a0\u200b.tar", p + "😀🏔.tar",
		p + "a&b=c?d#e.tar", p + `quote'".tar`, p + `back\slash.tar`, p + "tab\t.tar", p + "new\nline.tar", p + "bell\u0001.tar",
		p + "a;b,c:d@e.tar", p + "~!*().tar", p + "[x]{y}|z^.tar", p + "$HOME`id`<x>.tar", p + "UPPER.TAR", p + "x-0123456789abcdef",
		long(p, "k"), long(p, "ü"),
	}
}

// long is a key of S3's 1 024 bytes, in segments that file systems hold.
func long(prefix, letter string) string {
	const most, segment = 1024, 180
	var b strings.Builder
	b.WriteString(prefix)
	for in := 0; b.Len()+len(letter) <= most; in += len(letter) {
		if in >= segment {
			b.WriteByte('/')
			in = 0
		}
		if b.Len()+len(letter) <= most {
			b.WriteString(letter)
		}
	}
	b.WriteString(strings.Repeat("x", most-b.Len()))
	return b.String()
}

// still is a tar of one JPEG.
func still(t *testing.T) []byte {
	t.Helper()
	var photo, archive bytes.Buffer
	if err := jpeg.Encode(&photo, image.NewGray(image.Rect(0, 0, 16, 16)), nil); err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(&archive)
	if err := w.WriteHeader(&tar.Header{Name: "c/0.jpg", Mode: 0o644, Size: int64(photo.Len())}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(photo.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return archive.Bytes()
}

// nasty: an upload under any key becomes its own dataset; what is no upload, and what
// cannot be packed, holds up nothing. Keys that the store cannot hold are skipped by
// name.
func nasty(t *testing.T, r *session) {
	t.Helper()
	up := map[string]objstore.Info{}
	for _, key := range NastyKeys() {
		if r.Refuses != nil {
			if why := r.Refuses(key); why != "" {
				t.Run(fmt.Sprintf("%.40q", key), func(t *testing.T) { t.Skip("this store holds no such key: " + why) })
				continue
			}
		}
		up[key] = r.put(t, key, still(t))
	}
	empty := r.put(t, "pack/nasty/empty.tar", nil)
	r.put(t, "pack/nasty/folder/", nil)
	var want []string
	for key, info := range up {
		for _, suffix := range []string{".gulp", ".gmeta"} {
			want = append(want, r.made(t, r.datasets, info, suffix).Key)
		}
		if uri := "s3://" + r.Datasets + "/" + functions.OutputKey("", key, ".gulp"); !strings.Contains(string(r.cli(t, "info", uri, "--json")), `"frames":1`) {
			t.Errorf("info of %q tells another number of frames", uri)
		}
	}
	report := functions.ErrorKey(empty.Key)
	until(t, func() (bool, string, error) {
		_, err := r.datasets.Head(t.Context(), report)
		return err == nil, report, nil
	})
	want = append(want, report)
	var got []string
	for info, err := range r.datasets.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, info.Key)
	}
	slices.Sort(want)
	slices.Sort(got) // the local cloud's order of odd keys is that of folders
	if !slices.Equal(got, want) {
		t.Errorf("%d objects, want %d (-want +got):\n%s", len(got), len(want), cmp.Diff(want, got))
	}
	if dead, err := r.Dead(t.Context()); dead != 0 || err != nil {
		t.Errorf("%d uploads were given up, %v", dead, err)
	}
}
