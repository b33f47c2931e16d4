package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farread/farread/formats/zoomcache"
)

// recorded packs a series of 100,000 integers at 100 Hz, 0 to 99 again and again, and writes one
// of two channels, without an index.
func recorded(t *testing.T) (plain, pairs string) {
	t.Helper()
	dir := t.TempDir()
	var one []byte
	var two []uint8
	for i := range 100_000 {
		one = binary.LittleEndian.AppendUint16(one, uint16(i%100))
		if i < 60 {
			two = append(two, byte(i), byte(200-i))
		}
	}
	plain, pairs = filepath.Join(dir, "plain.zoom"), filepath.Join(dir, "pairs.zoom")
	raw := filepath.Join(dir, "plain.raw")
	write(t, raw, one)
	write(t, raw+".json", []byte(`{"dtype":"<i2","shape":[100000],"rate":100}`))
	run(t, "pack", raw, plain)
	var out bytes.Buffer
	w, err := zoomcache.NewWriter(&out, zoomcache.WriteOptions{Tracks: []zoomcache.Track{
		{Number: 1, Name: "both", Codec: zoomcache.Codec{Kind: zoomcache.U8, Channels: 2}, Rate: zoomcache.Rate{Num: 100, Den: 1}}}})
	if err == nil {
		err = errors.Join(zoomcache.WriteSamples(w.Track(1), two), w.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	write(t, pairs, out.Bytes())
	return plain, pairs
}

// TestAnalyzeSeriesForms: answers about series of all forms.
func TestAnalyzeSeriesForms(t *testing.T) {
	t.Parallel()
	plain, pairs := recorded(t)
	for _, c := range []struct {
		want string
		args []string
	}{
		{`{"count":100000,"min":0,"max":99,"mean":49.5,"sum":4950000}` + "\n", []string{plain, "--stats", "count,min,max,mean,sum", "--json"}},
		{`{"time":["0","600"],"count":[59999,40001],"mean":[49.49917498624977,49.50123746906328]}` + "\n", []string{plain, "--stats", "count,mean", "--every", "10m", "--json"}},
		{"time,max,argmax[0]\n2.5,99,300\n3.5,98,399\n", []string{plain, "--stats", "max,argmax", "--from", "2.5", "--to", "4", "--every", "1", "-o", "-", "--format", "csv"}},
		{"time  count\n990    1000\n", []string{plain, "--stats", "count", "--from", "990", "--to", "999.999", "--every", "10", "-o", "-", "--format", "text"}},
		{`{"channel":["0","1"],"min":[0,141],"mean":[29.5,170.5]}` + "\n", []string{pairs, "--stats", "min,mean", "--json"}},
		{"time,channel,sum\n0,0,1176\n0,1,8624\n0.5,0,594\n0.5,1,1606\n", []string{pairs, "--stats", "sum", "--every", "500ms", "-o", "-", "--format", "csv"}},
		{`{"count":2000,"mean":98.5}` + "\n", []string{plain, "--stats", "count,mean", "--where", "v > 97", "--json"}},
		{`{"time":[],"count":[]}` + "\n", []string{plain, "--stats", "count", "--every", "1", "--from", "0.001", "--to", "0.002", "--json"}},
	} {
		if got := run(t, append([]string{"analyze"}, c.args...)...); got != c.want {
			t.Errorf("%q: %q, want %q", c.args, got, c.want)
		}
	}
	var plan analysisPlan
	if err := json.Unmarshal([]byte(run(t, "analyze", plain, "--stats", "max", "--explain", "--json")), &plan); err != nil || plan.Series.Read != 0 || plan.Series.Samples != 100_000 || plan.Requests != 0 {
		t.Errorf("%+v, %v", plan, err)
	}
	if got := run(t, "analyze", plain, "--stats", "std", "--explain"); !strings.HasPrefix(got, "100,000 of 100,000 samples, in 1 part: ") {
		t.Errorf("%q", got)
	}
}

// TestAnalyzeSeriesRefused: wrong questions are named in one line.
func TestAnalyzeSeriesRefused(t *testing.T) {
	t.Parallel()
	plain, pairs := recorded(t)
	array, _ := analyzed(t)
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{exitUsage, "want numbers of items", []string{array, "--stats", "sum", "--every", "1h"}},
		{exitUsage, "--track is for series", []string{array, "--stats", "sum", "--track", "1"}},
		{exitUsage, "--over is for arrays", []string{plain, "--stats", "sum", "--over", "0"}},
		{exitUsage, `a slice "1:2" is for arrays`, []string{plain, "1:2", "--stats", "sum"}},
		{exitUsage, "--where", []string{plain, "--stats", "sum", "--where", "v >"}},
		{exitNotFound, "--where", []string{plain, "--stats", "sum", "--where", ".x > 3"}},
		{exitUsage, "--every: ", []string{plain, "--stats", "sum", "--every", "4,4"}},
		{exitUsage, "a length of time", []string{plain, "--stats", "sum", "--every", "-5s"}},
		{exitUsage, "is past the end", []string{plain, "--stats", "sum", "--from", "2000"}},
		{exitUsage, "is not before", []string{plain, "--stats", "sum", "--from", "20", "--to", "10"}},
		{exitUsage, "--from and --to: ", []string{plain, "--stats", "sum", "--from", "2024-01-01"}},
		{exitNotFound, "no such entry", []string{pairs, "--stats", "sum", "--track", "left"}},
		{exitCorrupt, "windows", []string{plain, "--stats", "sum", "--every", "1ns"}},
	} {
		refused(t, c.code, c.want, append([]string{"analyze"}, c.args...)...)
	}
}
