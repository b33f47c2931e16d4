package main

import (
	"bytes"
	"fmt"

	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/internal/picture"
)

// plot draws points: the band of each channel, and the line of its means.
func (x *wideView) plot(v *zoomindex.View) ([]byte, error) {
	s := picture.OfView(x.t.f.Header(), x.k, v.Points, x.first, x.last, x.width)
	if s.Title = printable(shorten(s.Title, 60)); s.Title == "" {
		s.Title = fmt.Sprintf("track %d", x.k.Number)
	}
	var b bytes.Buffer
	draw := s.PNG
	if x.format == viewSVG {
		draw = s.SVG
	}
	err := draw(&b)
	return b.Bytes(), err
}
