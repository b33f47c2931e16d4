package zoomcache

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/farread/farread/formats"
)

// A fixture is one entry of testdata/manifest.json.
type fixture struct {
	File   string   `json:"file"`
	Bytes  int64    `json:"bytes"`
	Sha    string   `json:"sha256"`
	Origin []string `json:"utc"`
	Error  string   `json:"error"`
	Tracks []struct {
		Number      int32  `json:"track"`
		Codec       string `json:"codec"`
		Ident       string `json:"ident_hex"`
		Channels    int    `json:"channels"`
		Rate        string `json:"rate"`
		Mode        string `json:"mode"`
		Delta, Zlib bool
		Name        string `json:"name"`
		Packets     int    `json:"packets"`
		Empty       int    `json:"empty_packets"`
		Samples     int    `json:"samples"`
		SamplesSha  string `json:"samples_sha256"`
		StampsSha   string `json:"timestamps_sha256"`
		Summaries   map[string]struct {
			Count       int
			First, Last fixtureSummary
		}
	}
}

type fixtureSummary struct {
	Entry    string              `json:"entry_so"`
	Exit     string              `json:"exit_so"`
	Channels []map[string]string `json:"channels"`
}

func manifest(tb testing.TB) (files, malformed []fixture) {
	tb.Helper()
	p, err := os.ReadFile("testdata/manifest.json")
	if err != nil {
		tb.Fatal(err)
	}
	var m struct{ Files, Malformed []fixture }
	if err := json.Unmarshal(p, &m); err != nil {
		tb.Fatal(err)
	}
	if len(m.Files) != 73 || len(m.Malformed) != 43 {
		tb.Fatalf("%d files and %d malformed, want 73 and 43", len(m.Files), len(m.Malformed))
	}
	return m.Files, m.Malformed
}

const bigFixture = "p-million-i16.zoom" // not in testdata

func original(tb testing.TB, name string) []byte {
	tb.Helper()
	p, err := os.ReadFile(filepath.Join("testdata/original", name))
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func TestManifest(t *testing.T) {
	list, err := os.ReadFile("testdata/MANIFEST")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{"MANIFEST": true}
	for line := range strings.Lines(string(list)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.SplitN(strings.TrimSpace(line), "  ", 4)
		p, err := os.ReadFile(filepath.Join("testdata", f[2]))
		if err != nil {
			t.Error(err)
			continue
		}
		if sum := sha256.Sum256(p); hex.EncodeToString(sum[:]) != f[0] || strconv.Itoa(len(p)) != f[1] {
			t.Errorf("%s is not the file that the manifest lists", f[2])
		}
		seen[f[2]] = true
	}
	for _, dir := range []string{"original", "inputs", "malformed"} {
		names, err := filepath.Glob(filepath.Join("testdata", dir, "*"))
		if err != nil || len(names) == 0 {
			t.Fatal(dir, err)
		}
		for _, name := range names {
			if r, err := filepath.Rel("testdata", name); err != nil || !seen[r] {
				t.Errorf("the manifest does not list %s", name)
			}
		}
	}
}

// decodeAll goes through a whole file in memory, strictly.
func decodeAll(p []byte, each func(h *Header, t *Track, pk *Packet, s *Summary) error) error {
	return decodeAllWith(p, func(*Header) {}, each)
}

func decodeAllWith(p []byte, change func(h *Header), each func(h *Header, t *Track, pk *Packet, s *Summary) error) error {
	lim := formats.Limits{MaxDecoded: 64 << 20}
	h, at, err := ParseHeader(p, lim)
	if err != nil {
		return err
	}
	change(h)
	var pk Packet
	var s Summary
	for at < int64(len(p)) {
		b, err := ParseBlock(p[at:], at, lim)
		if err != nil {
			return err
		}
		if b.Len > int64(len(p))-at-BlockHeaderLen {
			return cut(b.part(), int64(len(p)))
		}
		content := p[at+BlockHeaderLen:][:b.Len]
		at += b.Size()
		tr, ok := h.Track(b.Track)
		switch {
		case !ok:
		case b.Summary:
			if err := tr.DecodeSummary(&s, b, content); err != nil {
				return err
			}
			if err := each(h, tr, nil, &s); err != nil {
				return err
			}
		default:
			if err := tr.DecodePacket(&pk, b, content, lim); err != nil {
				return err
			}
			if err := each(h, tr, &pk, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// Every original file is decoded and written again by the functions that append
// headers, packets and summaries: the same bytes, but for zlib streams, which
// are compared after inflating.
func TestOriginalsAgain(t *testing.T) {
	files, _ := manifest(t)
	for _, f := range files {
		if f.File == bigFixture {
			continue
		}
		t.Run(f.File, func(t *testing.T) {
			p := original(t, f.File)
			h, _, err := ParseHeader(p, formats.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			checkHeader(t, &f, h)
			out, err := AppendHeader(nil, h)
			if err != nil {
				t.Fatal(err)
			}
			err = decodeAll(p, func(_ *Header, tr *Track, pk *Packet, s *Summary) error {
				if s != nil {
					out, err = tr.AppendSummary(out, s)
					return err
				}
				if tr.Delta && tr.Codec.Kind.Float() || tr.Codec.Kind == Int && strings.Contains(f.File, "integer") {
					// What rounding took away or the low 64 bits do not hold is
					// not written again: the packet stays as it is.
					out = append(out, p[pk.Off:pk.Off+pk.Size()]...)
					return nil
				}
				out, err = tr.AppendPacket(out, pk)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(f.File, "integer") {
				return // Int keeps 64 bits; TestIntegersOfAnySize
			}
			if !bytes.Equal(inflated(t, out), inflated(t, p)) {
				t.Error("not the same bytes")
			}
		})
	}
}

func checkHeader(t *testing.T, f *fixture, h *Header) {
	t.Helper()
	if len(h.Tracks) != len(f.Tracks) {
		t.Fatalf("%d tracks, want %d", len(h.Tracks), len(f.Tracks))
	}
	if want := []string{strconv.FormatInt(h.Origin.Day, 10), strconv.FormatInt(h.Origin.Num, 10), strconv.FormatInt(h.Origin.Den, 10)}; f.Origin != nil && fmt.Sprint(want) != fmt.Sprint(f.Origin) || f.Origin == nil && h.Origin != (Origin{}) {
		t.Errorf("origin %v, want %v", h.Origin, f.Origin)
	}
	for i, w := range f.Tracks {
		g := h.Tracks[i]
		ident := hex.EncodeToString([]byte(g.Codec.Ident()))
		if g.Number != w.Number || g.Codec.String() != w.Codec || ident != w.Ident || g.Codec.Channels != w.Channels || g.Name != w.Name ||
			g.Variable != (w.Mode == "vbr") || g.Delta != w.Delta || g.Zlib != w.Zlib || fmt.Sprintf("%d/%d", g.Rate.Num, g.Rate.Den) != w.Rate {
			t.Errorf("track %+v, want %+v", g, w)
		}
	}
}

// inflated gives a file with every compressed payload of a declared track
// stored plainly, the lengths changed to fit.
func inflated(tb testing.TB, p []byte) []byte {
	tb.Helper()
	h, at, err := ParseHeader(p, formats.Limits{})
	if err != nil {
		tb.Fatal(err)
	}
	out := bytes.Clone(p[:at])
	var pk Packet
	for at < int64(len(p)) {
		b, err := ParseBlock(p[at:], at, formats.Limits{})
		if err != nil {
			tb.Fatal(err)
		}
		content := p[at+BlockHeaderLen:][:b.Len]
		if tr, ok := h.Track(b.Track); ok && tr.Zlib && !b.Summary {
			if content, err = pk.inflate(content, 1<<30); err != nil {
				tb.Fatal(err)
			}
		}
		start := len(out)
		out = append(b.append(out), content...)
		putLen(out, start)
		at += b.Size()
	}
	return out
}

func TestIntegersOfAnySize(t *testing.T) {
	p := original(t, "p-extreme-integer.zoom")
	h, at, err := ParseHeader(p, formats.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	h.Tracks[0].Codec.Kind = Integer
	out := bytes.Clone(p[:at])
	var pk Packet
	var s Summary
	long := 0
	for at < int64(len(p)) {
		b, err := ParseBlock(p[at:], at, formats.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		content := p[at+BlockHeaderLen:][:b.Len]
		if b.Summary {
			if err = h.Tracks[0].DecodeSummary(&s, b, content); err == nil {
				out, err = h.Tracks[0].AppendSummary(out, &s)
			}
		} else if err = h.Tracks[0].DecodePacket(&pk, b, content, formats.Limits{}); err == nil {
			out, err = h.Tracks[0].AppendPacket(out, &pk)
			for i := range pk.Values.N {
				if _, ok := pk.Values.Number(i).Int(); !ok {
					long++
				}
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		at += b.Size()
	}
	if !bytes.Equal(out, p) || long == 0 {
		t.Errorf("not the same bytes, or no integer beyond 64 bits (%d)", long)
	}
}

func TestMalformed(t *testing.T) {
	_, bad := manifest(t)
	for _, f := range bad {
		t.Run(strings.TrimSuffix(filepath.Base(f.File), Suffix), func(t *testing.T) {
			p, err := os.ReadFile(filepath.Join("testdata", f.File))
			if err != nil {
				t.Fatal(err)
			}
			err = decodeAll(p, func(*Header, *Track, *Packet, *Summary) error { return nil })
			checkMalformed(t, f.Error, err, int64(len(p)))
		})
	}
}
