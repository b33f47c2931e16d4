package functions

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestOutputKey(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ü", 512)
	for _, c := range [][3]string{
		{"", "clips.tar", "clips.tar.gulp"},
		{"packed/", "clips/a.zip", "packed/clips/a.zip.gulp"},
		{"", "walk/_SUCCESS", "walk/frames.gulp"},
		{"", "walk/manifest.json", "walk/manifest.gulp"},
		{"", "_SUCCESS", "frames.gulp"},
		{"", "walk/frames", "walk/frames-adb5f9f6c4b8b3d2.gulp"},
		{"p/", long, "p/" + strings.Repeat("ü", 499) + "-3c23fe2bd8c9b4d6.gulp"},
	} {
		got := OutputKey(c[0], c[1], ".gulp")
		if strings.Contains(c[2], "-") { // only the shape is compared: the digits are SHA-256's
			if len(got) != len(c[2]) || !hashed.MatchString(strings.TrimSuffix(got, ".gulp")) || got[:len(got)-21] != c[2][:len(c[2])-21] {
				t.Errorf("%.40q: %q, want like %q", c[1], got, c[2])
			}
		} else if got != c[2] {
			t.Errorf("%q: %q, want %q", c[1], got, c[2])
		}
	}
}

// TestOutputKeysFit: if the key of an output fits, it keeps the whole key of its
// upload. Both keys of a pair are cut if one of them has to be.
func TestOutputKeysFit(t *testing.T) {
	t.Parallel()
	for suffix, room := range map[string]int{".gulp": 6, ".gmeta": 6, ".b2nd": 5, ".blp": 4, ".zoom": 5} {
		for _, prefix := range []string{"", "made/"} {
			fits := strings.Repeat("k", maxKey-room-len(prefix))
			if got := OutputKey(prefix, fits, suffix); got != prefix+fits+suffix {
				t.Errorf("%s: %d bytes of key and %d of prefix: …%q", suffix, len(fits), len(prefix), got[len(got)-30:])
			}
			got := OutputKey(prefix, fits+"k", suffix)
			if len(got) != maxKey-room+len(suffix) || !hashed.MatchString(strings.TrimSuffix(got, suffix)) {
				t.Errorf("%s: one byte more: %d bytes, …%q", suffix, len(got), got[len(got)-30:])
			}
		}
	}
}

// TestOutputKeysDiffer: different keys have different outputs, with legal keys.
func TestOutputKeysDiffer(t *testing.T) {
	t.Parallel()
	part := rapid.SampledFrom([]string{"a", "frames", "manifest", "_SUCCESS", "manifest.json", "/", "-", "0123456789abcdef", "ü", ".gulp", ".tar", strings.Repeat("long", 240)})
	key := rapid.Custom(func(t *rapid.T) string {
		s := strings.Join(rapid.SliceOfN(part, 1, 6).Draw(t, "parts"), "")
		if len(s) > maxKey {
			s = strings.ToValidUTF8(s[:maxKey], "")
		}
		return s
	})
	rapid.Check(t, func(t *rapid.T) {
		prefix := rapid.SampledFrom([]string{"", "p/", "a/frames"}).Draw(t, "prefix")
		a, b := key.Draw(t, "a"), key.Draw(t, "b")
		x, y := OutputKey(prefix, a, ".gulp"), OutputKey(prefix, b, ".gulp")
		if (a == b) != (x == y) {
			t.Fatalf("%q and %q: %q and %q", a, b, x, y)
		}
		// A key made to look like the cut form of another one.
		if c := strings.TrimSuffix(strings.TrimPrefix(x, prefix), ".gulp"); c != a && len(c) <= maxKey && OutputKey(prefix, c, ".gulp") == x {
			t.Fatalf("%q and %q share %q", a, c, x)
		}
		for _, k := range []string{x, OutputKey(prefix, a, ".gmeta"), ErrorKey(a)} {
			if len(k) > maxKey || !utf8.ValidString(k) {
				t.Fatalf("%d bytes: %q", len(k), k)
			}
		}
		if s, m := strings.TrimSuffix(x, ".gulp"), strings.TrimSuffix(OutputKey(prefix, a, ".gmeta"), ".gmeta"); s != m {
			t.Fatalf("halves %q and %q", s, m)
		}
	})
}

func TestMetaRoundTrip(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"a/b.tar", " a b+c%/ü", strings.Repeat("日", 341), strings.Repeat(" ", 1024)} {
		u := Upload{Bucket: strings.Repeat("b", 63), Key: key, ETag: `"9b2cf535f27731c974343645a3985328-12"`, VersionID: strings.Repeat("v", 32), Sequencer: "0055AED6DCD90281E5"}
		m := u.meta("gulp-1 " + strings.Repeat("0", 32))
		m[MetaDataETag], m[MetaDataVersion] = u.ETag, u.VersionID
		size := 0
		for k, v := range m {
			size += len(k) + len(v)
			for _, c := range []byte(v) {
				if c <= ' ' && v[0] == c || c >= 0x7F {
					t.Errorf("%s: %q is no header", k, v)
				}
			}
		}
		if got, ok := SourceOf(m); !ok || got != u || size > 2048 {
			t.Errorf("%+v, %v, %d bytes", got, ok, size)
		}
	}
}

func TestSequencers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want age
	}{
		{"01", "01", same}, {"01", "02", older}, {"0A", "0a", same}, {"01", "0100", same}, {"01", "0101", older},
		{"1", "01FF", newer}, {"0055AED6DCD90281E5", "0055AED6DCD90281E6", older},
	} {
		if got := compareSequencers(c.a, c.b); got != c.want {
			t.Errorf("%s and %s: %d", c.a, c.b, got)
		}
		if got := compareSequencers(c.b, c.a); got != -c.want {
			t.Errorf("%s and %s: %d", c.b, c.a, got)
		}
	}
}
