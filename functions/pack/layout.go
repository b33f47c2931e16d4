package pack

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/functions/internal/kit"
)

// A Layout says which images of an upload are one id.
type Layout string

// The layouts. The zero value finds one by the names of the files.
const (
	ByNames     Layout = ""            // the others where names leave no doubt, else Clips
	Clips       Layout = "clips"       // a folder is an id, its files are the frames, the folder above is the label
	ImageFolder Layout = "imagefolder" // a file is an id, by its path without the suffix; its folder is the label
	WebDataset  Layout = "webdataset"  // files that are called alike up to the first dot are one id: images, .cls, .txt, .json
	Flat        Layout = "flat"        // a file is an id, and folders say nothing
)

// Layouts are all names of layouts.
func Layouts() []string {
	return []string{string(Clips), string(ImageFolder), string(WebDataset), string(Flat)}
}

// ParseLayout returns the layout of a name; "" is ByNames.
func ParseLayout(name string) (Layout, error) {
	if name != "" && !slices.Contains(Layouts(), name) {
		return "", fmt.Errorf("layout %q: want one of %s: %w", name, strings.Join(Layouts(), ", "), formats.ErrUnsupported)
	}
	return Layout(name), nil
}

// about describes l for people.
func (l Layout) about() string {
	switch l {
	case ImageFolder:
		return "a file is an id, its folder the label"
	case WebDataset:
		return "files of one name are a sample"
	case Flat:
		return "a file is an id"
	case Clips, ByNames:
	}
	return "a folder is an id of frames"
}

// String is the name of l, and what it means.
func (l Layout) String() string {
	if l == ByNames {
		return "by names"
	}
	return string(l) + ": " + l.about()
}

// perFile reports whether a file is an id.
func (l Layout) perFile() bool { return l == ImageFolder || l == Flat }

// labelled reports whether the folder of an id is its label.
func (l Layout) labelled() bool { return l == Clips || l == ImageFolder }

// id is the id of a file.
func (l Layout) id(name, upload string) string {
	switch l {
	case ImageFolder, Flat:
		return stem(name)
	case WebDataset:
		key, _ := sampleOf(name)
		return key
	case Clips, ByNames:
	}
	return idOf(name, upload)
}

// stem is a path without the suffix of its last part.
func stem(name string) string {
	ext := path.Ext(name)
	if ext == path.Base(name) {
		return name
	}
	return strings.TrimSuffix(name, ext)
}

// sampleOf cuts a path at the first dot of its last part, as WebDataset does. A dot in
// front belongs to the name.
func sampleOf(name string) (key, ext string) {
	dir, base := path.Split(name)
	if base == "" {
		return name, ""
	}
	first := strings.IndexByte(base[1:], '.') + 1
	if first == 0 {
		return name, ""
	}
	return dir + base[:first], strings.ToLower(base[first+1:])
}

// A Lister is a Source that knows the names of its files before it reads them. So the
// layout is found by all of them, not by the first ones.
type Lister interface {
	Names(ctx context.Context) ([]string, error)
}

const (
	// lookFiles is how many names decide about the layout, of a source that knows them.
	lookFiles = 4 << 10
	// holdFiles and holdBytes bound the files of an archive that are held until the
	// layout is found: a clip shows by its third file, and eight photographs are few MB.
	holdFiles = 64
	holdBytes = 24 << 20
	// few is the number of files from which a folder says something: frames of a clip
	// have one name but for the number.
	few = 3
	// many is how many files have to be called differently, in folders of a few or more,
	// to be no frames.
	many = 8
)

// A guess finds the layout by names.
type guess struct {
	folders map[string]*names3
	bases   map[string]struct{}
	files   int
	images  map[string]struct{} // samples with an image
	texts   map[string]struct{} // samples with a text of WebDataset
	sure    Layout              // found without doubt before all names were seen
}

// names3 are the names of a folder.
type names3 struct {
	files    int
	numbered int                 // names in no folder that end in a number, after a dash
	patterns map[string]struct{} // names without their numbers

	own   int           // names that are the folder's and a number
	last  int64         // the last such number
	steps map[int64]int // from one to the next, and how often
}

func newGuess() *guess {
	return &guess{folders: map[string]*names3{}, bases: map[string]struct{}{}, images: map[string]struct{}{}, texts: map[string]struct{}{}}
}

// add looks at a name.
func (g *guess) add(name string) {
	if isJunk(name) || isLabels(name) {
		return
	}
	key, ext := sampleOf(name)
	_, text := sampleTexts()[ext]
	if text {
		g.texts[key] = struct{}{}
	} else if imageName(name) {
		g.images[key] = struct{}{}
	}
	_, seen := g.images[key]
	if _, told := g.texts[key]; told && seen {
		g.sure = WebDataset
	}
	if text || g.sure == WebDataset {
		return
	}
	g.files++
	dir, base := path.Split(stem(name))
	f := g.folders[dir]
	if f == nil {
		f = &names3{patterns: map[string]struct{}{}}
		g.folders[dir] = f
	}
	f.files++
	f.patterns[unnumbered(base)] = struct{}{}
	g.bases[base] = struct{}{}
	if dir == "" && idOf(name, "") != "" {
		f.numbered++
	}
	f.number(dir, base)
	if f.files >= few && len(f.patterns) == 1 && g.sure == ByNames && len(g.texts) == 0 {
		g.sure = Clips
	}
}

// number notes the step from the last number to that of a file that is called like its
// folder: n01440764/n01440764_10026.
func (f *names3) number(dir, base string) {
	rest, ok := strings.CutPrefix(base, path.Base(dir))
	if !ok || dir == "" || len(rest) < 2 || rest[0] != '_' && rest[0] != '-' || digits(rest[1:]) != len(rest)-1 {
		return
	}
	n, err := strconv.ParseInt(rest[1:], 10, 64)
	if err != nil {
		return
	}
	if f.own++; f.own > 1 && len(f.steps) < lookFiles {
		if f.steps == nil {
			f.steps = map[int64]int{}
		}
		f.steps[n-f.last]++
	}
	f.last = n
}

// scattered reports whether files are called like their folders, with numbers that do not
// go on in equal steps, as those of frames do: the images of ImageNet.
func (g *guess) scattered() bool {
	folders := 0
	for _, f := range g.folders {
		if f.files < few {
			continue
		}
		most := 0
		for _, n := range f.steps {
			most = max(most, n)
		}
		if f.own < f.files || 2*most >= f.files-1 {
			return false
		}
		folders++
	}
	return folders > 1
}

// imageName reports whether a file is called like an image that is packed as it is.
func imageName(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".jpg", ".jpeg", ".png", ".webp", ".gif", ".avif":
		return true
	}
	return false
}

// unnumbered puts # in the place of numbers.
func unnumbered(base string) string {
	var b strings.Builder
	for i := 0; i < len(base); {
		if n := digits(base[i:]); n > 0 {
			b.WriteByte('#')
			i += n
			continue
		}
		b.WriteByte(base[i])
		i++
	}
	return b.String()
}

// most reports whether n of all are at least three of four.
func most(n, all int) bool { return 4*n >= 3*all }

// found is the layout of the names so far. Files are ids of their own if all folders of
// a few files or more have names that differ by more than numbers, these are many, and
// folders do not repeat the names of each other, as views of a thing do.
func (g *guess) found() Layout {
	if g.sure == Clips && g.scattered() {
		return ImageFolder
	}
	if g.sure != ByNames {
		return g.sure
	}
	total := 0
	for _, f := range g.folders {
		if f.files < few {
			continue
		}
		if !most(len(f.patterns), f.files) || 4*f.numbered > f.files {
			return Clips
		}
		total += f.files
	}
	switch {
	case total < many || !most(len(g.bases), g.files):
		return Clips
	case len(g.folders) == 1:
		return Flat
	}
	return ImageFolder
}

// sampleTexts are the suffixes of WebDataset whose text is kept, by the field that it
// becomes. The text of "" is an object of fields.
func sampleTexts() map[string]string {
	return map[string]string{
		"cls": "label", "class": "label", "cls2": "cls2", "index": "index", "inx": "inx", "count": "count", "id": "id",
		"txt": "text", "text": "text", "transcript": "transcript", "json": "", "jsn": "",
	}
}

// badMember says which files a sample may have.
func badMember(ext string) error {
	return kit.Unsupported("a sample of the layout %s has images, .cls, .txt and .json, not .%.40s", string(WebDataset), ext)
}
