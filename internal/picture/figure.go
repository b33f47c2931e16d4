package picture

import (
	"fmt"
	"image"
	"io"
	"math"

	"golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// A figure is a picture with axes: the area of the data with axes around it, and a head
// with the title, a note and the names of lines.
type figure struct {
	plot          *plot.Plot
	theme         theme
	title, note   string
	names         []string // of lines; fewer than two are not shown
	width, height int      // pixels of the area of the data
	void          string   // the text that replaces missing data
	right         vg.Length
	cells         *cells // the area is this image, without grid lines
	bar           *bar
	legend        legend
}

const (
	airAround = 6 * pixel
	gridWidth = 0.75
)

// newFigure returns a figure of two axes, whose ends are those of the plot.
func newFigure(p *plot.Plot, t theme, width, height int, title, note string, names []string) *figure {
	f := &figure{plot: p, theme: t, width: width, height: height, title: title, note: note, names: names, right: 18 * pixel}
	f.legend = f.layLegend()
	// Quiet axes: light grid lines, dark labels.
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Padding = 0
		a.Color, a.Width = t.axis, vg.Points(gridWidth)
		a.Tick.Color, a.Tick.Width = t.axis, vg.Points(gridWidth)
		a.Tick.Length = 4 * pixel
		for _, s := range []*text.Style{&a.Tick.Label, &a.Label.TextStyle} {
			label := tickStyle()
			label.Color, label.XAlign, label.YAlign, label.Rotation = t.text, s.XAlign, s.YAlign, s.Rotation
			*s = label
		}
		a.Label.Padding = 4 * pixel
	}
	// A name that is longer than its axis would make the area smaller.
	p.X.Label.Text = fit(p.X.Label.Text, p.X.Label.TextStyle, vg.Length(width)*pixel)
	p.Y.Label.Text = fit(p.Y.Label.Text, p.Y.Label.TextStyle, vg.Length(height)*pixel)
	return f
}

// png writes the figure as PNG.
func (f *figure) png(w io.Writer) error {
	width, height := f.size()
	img := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(seriesDPI))
	c := draw.New(img)
	f.draw(c)
	if f.cells != nil { // pixel by pixel, which no canvas does
		area := f.area(c)
		x, y := int(math.Round(float64(area.Min.X/pixel))), int(math.Round(float64((c.Max.Y-area.Max.Y)/pixel)))
		f.cells.copyTo(img.Image(), image.Pt(x, y))
	}
	_, err := vgimg.PngCanvas{Canvas: img}.WriteTo(w)
	return err
}

// svg writes the figure as SVG.
func (f *figure) svg(w io.Writer) error {
	s := newSheet(f.size())
	c := draw.New(s)
	f.draw(c)
	if f.cells != nil {
		c.DrawImage(f.area(c).Rectangle, f.cells.image())
	}
	return s.writeTo(w)
}

// size returns the size of the whole picture, so that the area of the data gets
// exactly the requested number of pixels. Labels at the ends of an axis may need room
// that depends on the size, so it is tried.
func (f *figure) size() (width, height vg.Length) {
	whole := func(v vg.Length) vg.Length { return vg.Length(math.Round(float64(v/pixel))) * pixel }
	width, height = vg.Length(f.width+100)*pixel, vg.Length(f.height+100)*pixel
	for range 12 {
		area := f.area(draw.New(vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(8))))
		w, h := whole(width+vg.Length(f.width)*pixel-(area.Max.X-area.Min.X)), whole(height+vg.Length(f.height)*pixel-(area.Max.Y-area.Min.Y))
		if w == width && h == height {
			break
		}
		width, height = w, h
	}
	return width, height
}

// area is where the data is drawn.
func (f *figure) area(c draw.Canvas) draw.Canvas { return f.plot.DataCanvas(f.inside(c)) }

// inside leaves room around the plot, and for the head. If labels of the lower axis begin
// left of the other axis and its labels, they get more room.
func (f *figure) inside(c draw.Canvas) draw.Canvas {
	p := f.plot
	left, beside := 10*pixel, p.DataCanvas(c).Min.X-c.Min.X
	right := f.right
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		at := vg.Length(p.X.Norm(t.Value)*float64(f.width)) * pixel
		half := p.X.Tick.Label.Width(t.Label) / 2
		left = max(left, half-at-beside+airAround)
		right = max(right, half-(vg.Length(f.width)*pixel-at)+airAround)
	}
	return draw.Crop(c, left, -right, airAround, -headHeight-8*pixel-f.legend.height())
}

func (f *figure) draw(c draw.Canvas) {
	c.SetColor(f.theme.back)
	c.Fill(c.Path())
	p, area := f.plot, f.area(c)
	if f.cells == nil {
		f.grid(c, area)
	}
	p.BackgroundColor = nil
	p.Draw(f.inside(c))
	if f.void != "" {
		t := style(11, font.WeightNormal, f.theme.quiet)
		t.XAlign, t.YAlign = draw.XCenter, draw.YCenter
		c.FillText(t, vg.Point{X: (area.Min.X + area.Max.X) / 2, Y: (area.Min.Y + area.Max.Y) / 2}, f.void)
	}
	if f.bar != nil {
		f.bar.draw(c, area, f.theme)
	}
	f.head(c, area)
}

func (f *figure) grid(c, area draw.Canvas) {
	p, line := f.plot, draw.LineStyle{Color: f.theme.grid, Width: vg.Points(gridWidth)}
	for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		if y := area.Y(p.Y.Norm(t.Value)); t.Label != "" {
			c.StrokeLine2(line, area.Min.X, y, area.Max.X, y)
		}
	}
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		if x := area.X(p.X.Norm(t.Value)); t.Label != "" {
			c.StrokeLine2(line, x, area.Min.Y, x, area.Max.Y)
		}
	}
}

// A legend is where the names of lines stand: beside the title, or in rows below it.
type legend struct {
	title    string // as far as there is room
	noted    bool   // there is room for the note
	beside   bool
	rows     [][]int
	names    []string
	leftOver int // names without room
}

const (
	legendRows = 12
	rowRoom    = 16 * pixel
	swatch     = 18 * pixel // of a line in the legend
	afterName  = 12 * pixel
)

func (l *legend) height() vg.Length {
	if l.beside {
		return 0
	}
	return vg.Length(len(l.rows)) * rowRoom
}

func (f *figure) bold() text.Style {
	bold := style(11, font.WeightBold, f.theme.title)
	if len(f.names) > 1 {
		bold.Handler = tightly(bold)
	}
	return bold
}

func (f *figure) small() text.Style { return style(9, font.WeightNormal, f.theme.quiet) }

func (f *figure) nameStyle() text.Style {
	s := style(9, font.WeightNormal, f.theme.text)
	s.Handler = tightly(s)
	return s
}

// layLegend finds room for the head.
func (f *figure) layLegend() (l legend) {
	room := vg.Length(f.width) * pixel
	l.title = fit(f.title, f.bold(), room)
	used := vg.Length(0)
	if l.title != "" {
		used = f.bold().Width(l.title) + 14*pixel
	}
	note := f.small().Width(f.note)
	l.noted = f.note != "" && used+note <= room // left out if there is no room
	if len(f.names) < 2 {
		return l
	}
	sty := f.nameStyle()
	all := vg.Length(0)
	for i, name := range f.names {
		if name == "" {
			name = fmt.Sprintf("channel %d", i)
		}
		name = fit(name, sty, room-swatch-4*pixel)
		l.names = append(l.names, name)
		w := swatch + sty.Width(name) + afterName
		n := len(l.rows)
		switch {
		case l.leftOver > 0:
			l.leftOver++
			continue
		case n == 0 || l.used(sty, n-1)+w-afterName > room:
			if n == legendRows {
				l.leftOver++
				continue
			}
			l.rows = append(l.rows, nil)
			n++
		}
		l.rows[n-1] = append(l.rows[n-1], i)
		all += w
	}
	if l.noted {
		used += note + 10*pixel
	}
	l.beside = len(l.rows) == 1 && used+all-afterName <= room
	return l
}

// used is the room that a row of the legend takes, with what keeps the next one apart.
func (l *legend) used(sty text.Style, row int) (w vg.Length) {
	for _, i := range l.rows[row] {
		w += swatch + sty.Width(l.names[i]) + afterName
	}
	return w
}

// head writes title, names of lines and note.
func (f *figure) head(c, area draw.Canvas) {
	l := &f.legend
	at := vg.Point{X: area.Min.X, Y: c.Max.Y - headHeight}
	c.FillText(f.bold(), at, l.title)
	if l.noted {
		note := f.small()
		note.XAlign = draw.XRight
		c.FillText(note, vg.Point{X: area.Max.X, Y: at.Y}, f.note)
	}
	if l.beside && l.title != "" {
		at.X += f.bold().Width(l.title) + 14*pixel
	}
	sty := f.nameStyle()
	for k, row := range l.rows {
		if !l.beside {
			at = vg.Point{X: area.Min.X, Y: at.Y - rowRoom}
		}
		for _, i := range row {
			y := at.Y + 4.5*pixel
			line := draw.LineStyle{Color: f.theme.line(i), Width: 4 * pixel, Dashes: f.theme.dashes(i)}
			c.StrokeLine2(line, at.X, y, at.X+swatch-4*pixel, y)
			c.FillText(sty, vg.Point{X: at.X + swatch, Y: at.Y}, l.names[i])
			at.X += swatch + sty.Width(l.names[i]) + afterName
		}
		if more := fmt.Sprintf("… and %d more", l.leftOver); k == len(l.rows)-1 && l.leftOver > 0 && at.X+sty.Width(more) <= area.Max.X {
			c.FillText(sty, at, more)
		}
	}
}
