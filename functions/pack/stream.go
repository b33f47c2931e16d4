package pack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"

	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/functions/internal/kit"
)

// A series is the state of an id.
type series struct {
	id     string
	names  []string // names of its frames without the folder, in the order of the source
	kinds  []byte   // numbers of their imageKinds; nil: all are JPEGs
	file   string   // the file, if a file is an id
	sorted bool
	chunk  int // of a plan
}

type stream struct {
	w       Frames
	o       Options
	l       Limits
	about   About
	layout  Layout
	guess   *guess // nil: the layout is known
	held    []held // files that wait until it is
	holds   int64  // their bytes
	labels  *labels
	samples samples
	told    map[string]string // ids of files that names do not tell, since other files are elsewhere
	order   []*series         // series in the order of the source
	ids     map[string]*series
	buf     []byte
	entries int64
	res     Result
	read    int64
}

// A held file waits for the layout to be found.
type held struct {
	e     File
	p     []byte
	media byte
	image bool // checked
}

func newStream(src Source, w Frames, o Options) *stream {
	s := &stream{w: w, o: o, l: o.Limits.WithDefaults(), about: src.About(), layout: o.Layout, ids: map[string]*series{}}
	s.labels = newLabels(s.about.Name, s.l)
	for _, m := range s.about.Labels {
		s.labels.object(m)
	}
	if s.layout == ByNames {
		s.guess = newGuess()
	}
	return s
}

// tags asks for the tags of the upload, if it may have tags.
func (s *stream) tags(ctx context.Context) error {
	if s.about.Tags == nil {
		return nil
	}
	m, err := s.about.Tags(ctx)
	s.labels.object(m)
	return err
}

// look finds the layout of a source that knows the names of its files.
func (s *stream) look(ctx context.Context, src Source) error {
	l, ok := src.(Lister)
	if s.guess == nil || !ok {
		return nil
	}
	names, err := l.Names(ctx)
	if err != nil {
		return err
	}
	for _, n := range names[:min(len(names), lookFiles)] {
		s.guess.add(n)
	}
	return s.settle()
}

// settle takes the layout that the names tell, and packs the files that waited for it.
func (s *stream) settle() error {
	if s.guess == nil {
		return nil
	}
	s.layout, s.guess = s.guess.found(), nil
	for i := range s.held {
		h := &s.held[i]
		err := s.named(func(e File, _ io.Reader) error { return s.take(e, h.p, h.media, h.image) })(h.e, nil)
		if err != nil {
			return err
		}
		h.p = nil
	}
	s.held = nil
	return nil
}

func (s *stream) file(e File, r io.Reader) error {
	if s.entries++; s.entries > s.l.Entries {
		return kit.TooLarge("more than %d files", s.l.Entries)
	}
	s.read += e.Size
	switch {
	case isJunk(e.Name):
		s.res.Skipped++
		return nil
	case isLabels(e.Name):
		if e.Size > s.l.Text {
			return kit.TooLarge("%d bytes of labels", e.Size)
		}
		return s.labels.file(e.Name, r)
	}
	p, err := s.payload(e, r)
	if err != nil {
		return err
	}
	if s.guess == nil {
		media, image, err := s.kind(e, p)
		if err != nil {
			return err
		}
		return s.take(e, p, media, image)
	}
	return s.hold(e, p)
}

// fits refuses an image that is too large.
func (s *stream) fits(e File) error {
	if e.Size > s.l.Frame {
		return kit.TooLarge("image of %d bytes, over %d", e.Size, s.l.Frame)
	}
	return nil
}

// payload reads a file into the buffer of all.
func (s *stream) payload(e File, r io.Reader) ([]byte, error) {
	if err := s.fits(e); err != nil {
		return nil, err
	}
	if int64(cap(s.buf)) < e.Size {
		s.buf = nil // let the old one go before the new one comes
		s.buf = make([]byte, min(s.l.Frame, max(e.Size+e.Size/4, 64<<10)))
	}
	p := s.buf[:e.Size]
	if _, err := io.ReadFull(r, p); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, kit.Corrupt("truncated")
		}
		return nil, err
	}
	return p, nil
}

// kind checks an image. Texts of samples are none.
func (s *stream) kind(e File, p []byte) (kind byte, image bool, err error) {
	_, ext := sampleOf(e.Name)
	if texted(e.Name) && (s.guess != nil || s.layout == WebDataset) {
		return 0, false, nil
	}
	kind, err = checkImage(p)
	if err == nil || isImage(p) {
		return kind, true, err
	}
	switch {
	case s.layout == WebDataset:
		err = badMember(ext)
	case s.guess == nil && texted(e.Name):
		err = kit.Unsupported("no image, and the layout is %s; %s takes .%s as a part of a sample (--layout)", string(s.layout), string(WebDataset), ext)
	case ext == "csv":
		err = kit.Unsupported("no image; labels are in labels.csv or labels.json")
	}
	return 0, false, err
}

func texted(name string) bool {
	_, ext := sampleOf(name)
	_, ok := sampleTexts()[ext]
	return ok
}

// hold keeps a file until the names have told the layout.
func (s *stream) hold(e File, p []byte) error {
	kind, image, err := s.kind(e, p)
	if err != nil {
		return err
	}
	s.guess.add(e.Name)
	full := s.holds+e.Size > holdBytes || len(s.held) >= holdFiles
	if full || s.guess.sure != ByNames {
		if err := s.settle(); err != nil {
			return err
		}
		if kind, image, err = s.kind(e, p); err != nil {
			return err
		}
		return s.take(e, p, kind, image)
	}
	s.holds += e.Size
	s.held = append(s.held, held{e, bytes.Clone(p), kind, image})
	return nil
}

// take packs a file that was checked.
func (s *stream) take(e File, p []byte, kind byte, image bool) error {
	if !image {
		if s.layout != WebDataset {
			_, _, err := s.kind(e, p)
			return err
		}
		return s.samples.add(e.Name, p, s.l)
	}
	t, err := s.enter(e.Name)
	if err != nil {
		return err
	}
	t.kind(kind)
	if kind != 0 {
		s.res.Others++
	}
	if err := s.w.WriteFrame(t.id, p); err != nil {
		return err
	}
	s.res.Frames++
	s.res.Bytes += e.Size
	s.o.Progress.Tell(s.read, s.about.Size)
	return nil
}

// kind notes the kind of a frame whose name is noted.
func (t *series) kind(k byte) {
	if k != 0 && t.kinds == nil {
		t.kinds = make([]byte, len(t.names)-1, len(t.names))
	}
	if t.kinds != nil {
		t.kinds = append(t.kinds, k)
	}
}

// enter notes a frame's name, and returns its id.
func (s *stream) enter(name string) (*series, error) {
	id, told := s.told[name]
	if !told {
		id = s.layout.id(name, s.about.Name)
	}
	t := s.ids[id]
	if t != nil && s.layout.perFile() {
		id = name // two files that differ by the suffix: the second one keeps it
		if t.file == name || s.ids[id] != nil {
			return nil, kit.Corrupt("twice in the upload")
		}
		t = nil
	}
	if t == nil {
		if _, err := gulp.SafePath(id); err != nil {
			return nil, err
		}
		t = &series{id: id, sorted: true}
		if s.layout.perFile() {
			t.file = name
		}
		s.ids[id] = t
		s.order = append(s.order, t)
		s.res.IDs++
	}
	base := path.Base(name)
	if n := len(t.names); n > 0 && t.sorted {
		switch c := natural(t.names[n-1], base); {
		case c == 0:
			return nil, kit.Corrupt("twice in the upload")
		case c > 0:
			t.sorted = false
		}
	}
	t.names = append(t.names, base)
	return t, nil
}

// close ends the row of files, and returns how often ids end in the same part, which
// labels may name.
func (s *stream) close() (bases map[string]int, err error) {
	if err := s.settle(); err != nil {
		return nil, err
	}
	if s.res.Frames == 0 {
		return nil, kit.Fail(s.about.Format, "", -1, kit.Unsupported("no image in it"))
	}
	s.labels.layout = s.layout
	bases = map[string]int{}
	for _, t := range s.order {
		bases[path.Base(t.id)]++
	}
	return bases, s.choose(bases)
}

// subject is what labels are looked for by.
func (t *series) subject(bases map[string]int) subject {
	return subject{t.id, t.file, bases[path.Base(t.id)] == 1, t.names}
}

// finish orders the frames and writes the meta_data of each id.
func (s *stream) finish() error {
	bases, err := s.close()
	if err != nil {
		return err
	}
	for _, t := range s.order {
		if err := s.mend(t); err != nil {
			return err
		}
		own, err := s.samples.of(t.id)
		if err != nil {
			return kit.Fail(s.about.Format, fmt.Sprintf("sample %q", t.id), -1, err)
		}
		t.media(own)
		list, err := s.labels.of(t.subject(bases), own)
		if err != nil {
			return err
		}
		for _, m := range list {
			if err := s.w.AddMeta(t.id, m); err != nil {
				return err
			}
		}
	}
	if err := s.labels.other(s.order[0].names[0]); err != nil {
		return err
	}
	s.res.Layout = s.layout
	s.tally()
	return nil
}

// tally counts labels.
func (s *stream) tally() {
	n, all, first := s.labels.unused()
	m, every, sample := s.samples.unused()
	s.res.Unlabelled, s.res.Labels, s.res.FirstUnlabelled = n+m, all+every, first
	if first == "" {
		s.res.FirstUnlabelled = sample
	}
}

// media notes the types of the frames, if they are not all JPEGs: a text if they are of
// one type, else a list of one for each frame.
func (t *series) media(own fields) {
	if t.kinds == nil {
		return
	}
	kinds := imageKinds()
	list := make([]string, len(t.kinds))
	for i, k := range t.kinds {
		list[i] = kinds[k].media
	}
	if len(slices.Compact(slices.Clone(list))) == 1 {
		own[mediaField] = text(list[0])
		return
	}
	own[mediaField], _ = json.Marshal(list) // texts
}

// mediaField is the field of meta_data with the media types of frames.
const mediaField = "media_type"

// mend brings the frames of one id into the order of their names.
func (s *stream) mend(t *series) error {
	if t.sorted {
		return nil
	}
	order := make([]int, len(t.names))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return natural(t.names[a], t.names[b]) })
	for i := 1; i < len(order); i++ {
		if t.names[order[i]] == t.names[order[i-1]] {
			return kit.Fail(s.about.Format, fmt.Sprintf("id %q", t.id), -1, kit.Corrupt("%q is twice in the upload", t.names[order[i]]))
		}
	}
	s.res.Unordered++
	w, ok := s.w.(reorderer)
	if !ok {
		return nil
	}
	if t.kinds != nil {
		kinds := make([]byte, len(order))
		for i, k := range order {
			kinds[i] = t.kinds[k]
		}
		t.kinds = kinds
	}
	return w.Reorder(t.id, order)
}

// A subject is what meta_data is asked for.
type subject struct {
	id    string
	file  string   // the file of the id, if a file is an id
	alone bool     // no other id ends in the same part
	names []string // of its files, without the folder
}
