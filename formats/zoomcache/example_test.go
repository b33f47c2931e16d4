package zoomcache_test

import (
	"bytes"
	"fmt"
	"time"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/zoomcache"
)

// A file of one track, packets of two samples, and what lies in it.
func ExampleNewWriter() {
	var file bytes.Buffer
	w, err := zoomcache.NewWriter(&file, zoomcache.WriteOptions{
		Origin:    zoomcache.OriginOf(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)),
		Tracks:    []zoomcache.Track{{Number: 1, Name: "height", Codec: zoomcache.Codec{Kind: zoomcache.F64}, Rate: zoomcache.Rate{Num: 2, Den: 1}}},
		Watermark: 2,
	})
	if err == nil {
		err = zoomcache.WriteSamples(w.Track(1), []float64{1, 2, 4, 8})
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	h, at, err := zoomcache.ParseHeader(file.Bytes(), formats.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	track := &h.Tracks[0]
	for rest := file.Bytes()[at:]; len(rest) > 0; {
		b, err := zoomcache.ParseBlock(rest, at, formats.Limits{})
		if err != nil {
			fmt.Println(err)
			return
		}
		var s zoomcache.Summary
		content := rest[zoomcache.BlockHeaderLen:b.Size()]
		if b.Summary && track.DecodeSummary(&s, b, content) == nil {
			c := s.Channels[0]
			fmt.Printf("summary %d..%d level %d: %v to %v, mean %g\n", b.Entry, b.Exit, b.Level, c.Min, c.Max, c.Mean)
		} else {
			fmt.Printf("packet %d..%d: %d values\n", b.Entry, b.Exit, b.Count)
		}
		rest, at = rest[b.Size():], at+b.Size()
	}
	// Output:
	// packet 1..2: 2 values
	// summary 1..2 level 1: 1 to 2, mean 2
	// packet 3..4: 2 values
	// summary 3..4 level 1: 4 to 8, mean 8
	// summary 1..4 level 2: 1 to 8, mean 5
	// packet 4..4: 0 values
	// packet 4..4: 0 values
	// summary 1..4 level 3: 1 to 8, mean 5
}
