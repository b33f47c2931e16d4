package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestInsert: the table replaces what stands between the markers, and a page
// without them is left alone.
func TestInsert(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.md")
	for _, c := range []struct{ page, want string }{
		{"a\n" + beginMark + "old\n" + endMark + "b\n", "a\n" + beginMark + "new\n" + endMark + "b\n"},
		{beginMark + endMark, beginMark + "new\n" + endMark},
		{"no marks\n", ""},
		{endMark + beginMark, ""},
	} {
		if err := os.WriteFile(file, []byte(c.page), 0o600); err != nil {
			t.Fatal(err)
		}
		err := insert(file, "", "new\n")
		got, rerr := os.ReadFile(file)
		if rerr != nil {
			t.Fatal(rerr)
		}
		want := c.want
		if want == "" {
			want = c.page
		}
		if d := cmp.Diff(want, string(got)); d != "" || (err == nil) != (c.want != "") {
			t.Errorf("%q: %v\n%s", c.page, err, d)
		}
	}
}

// TestTables: each table beside the first has a head, a place in the page, and cells for
// each column.
func TestTables(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "performance.md"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, j := range jobs() {
		if j.table == "" {
			continue
		}
		names[j.table] = true
		begin, end := marks(j.table)
		if heads()[j.table] == "" || strings.Count(string(page), begin) != 1 || strings.Count(string(page), end) != 1 {
			t.Errorf("%s: no head, or no place in the page", j.table)
		}
	}
	if len(names) != len(heads()) {
		t.Errorf("%d tables, %d heads", len(names), len(heads()))
	}
	for _, c := range []struct {
		row        row
		verdict    string
		low, usual string
	}{
		{memoryRow("`x`", "", 1<<30+64<<20, lowMemory+64<<20, ""), "met", "192.0 MiB", "1088.0 MiB"},
		{memoryRow("`x`", "", 1<<30+65<<20, 1, ""), "**missed**", "0.0 MiB", "1089.0 MiB"},
		{memoryRow("`x`", "", 1, lowMemory+65<<20, ""), "**missed**", "193.0 MiB", "0.0 MiB"},
		{memoryRow("`x`", "", 1<<20, 0, ""), "met", "refused", "1.0 MiB"},
	} {
		if got, want := c.row.String(), "| `x` |  | "+c.usual+" | "+c.low+" | "+c.verdict+" |  |"; got != want {
			t.Errorf("%s, not %s", got, want)
		}
		if text := tableOf(heads()["memory"], []row{c.row}); strings.Count(text, "|") != 3*strings.Count(heads()["memory"], "|") {
			t.Errorf("columns:\n%s", text)
		}
	}
}

// TestGrowth: what the processes of the rows of growth do, on a small array.
func TestGrowth(t *testing.T) {
	dir := t.TempDir()
	const planes = 5
	if err := writeGrown(t.Context(), dir, planes*growthPlane); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := printScan(t.Context(), &out, filepath.Join(dir, "a.b2nd")); err != nil {
		t.Fatal(err)
	}
	var got scanned
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	data, want := seriesOf("sparse").bytes(planes*growthPlane), uint64(0)
	for i := 0; i < len(data); i += 4093 {
		want += uint64(data[i])
	}
	if got.Bytes != planes*growthPlane || got.Sum != want || want == 0 || got.Slice <= 0 || got.Scan <= 0 {
		t.Errorf("%+v, want sum %d", got, want)
	}
	if err := printScan(t.Context(), &out, filepath.Join(dir, "none.b2nd")); err == nil {
		t.Error("no file, no error")
	}
}

func TestVerdict(t *testing.T) {
	slow := against("x", "B", 1e9, 2*time.Second, time.Second, 1)
	if got := slow.String(); !strings.Contains(got, "| 500.00 MB/s | 1.00 GB/s | 0.50x | **missed** |") {
		t.Error(got)
	}
	if r := against("x", "B", 1, time.Second, 2*time.Second, 2); !r.met || r.ratio != 2 {
		t.Errorf("%+v", r)
	}
	if r := against("x", "B", 1, time.Second, time.Second, 0); r.verdict() != "" {
		t.Errorf("%+v", r)
	}
	if m := median([]time.Duration{9, 1, 4, 2}); m != 3 {
		t.Error(m)
	}
}

// TestProxy: every byte passes, and every request is counted, with and without
// a rate.
func TestProxy(t *testing.T) {
	body := bytes.Repeat([]byte("farread "), 40_000)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) }))
	defer srv.Close()
	for _, p := range []profile{near(), {name: "slow", first: time.Millisecond, rate: 50e6, slow: 0.5, extra: time.Millisecond}} {
		x, err := newProxy(context.WithoutCancel(t.Context()), strings.TrimPrefix(srv.URL, "http://"), p)
		if err != nil {
			t.Fatal(err)
		}
		client := &http.Client{Transport: &http.Transport{}}
		for range 3 {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, x.url(), nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || !bytes.Equal(got, body) {
				t.Fatalf("%s: %d bytes, %v", p.name, len(got), err)
			}
		}
		client.CloseIdleConnections()
		x.close()
		if n := x.requests.Load(); n != 3 {
			t.Errorf("%s: %d requests", p.name, n)
		}
	}
}
