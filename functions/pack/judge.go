package pack

import (
	"path"
	"slices"
)

// A Judgement is what the names of an upload's files say.
type Judgement struct {
	Layout Layout // that Stream finds by these names
	Images int    // files that are called like an image
	Other  string // the first file that keeps Stream from making a gulp of them; "": none
}

// Gulp reports whether Stream makes a gulp of files with such names, as far as names tell.
func (j Judgement) Gulp() bool { return j.Images > 0 && j.Other == "" }

// Judge tells by names what Stream would make of an archive or of a folder, without reading
// it. Those of a folder come in any order, those of an archive in its own.
func Judge(names []string, folder bool) Judgement {
	if folder {
		names = slices.Clone(names)
		slices.SortFunc(names, compareFiles)
	}
	g := newGuess()
	for _, n := range names[:min(len(names), lookFiles)] {
		g.add(n)
	}
	j := Judgement{Layout: g.found()}
	for _, n := range names {
		switch {
		case isJunk(n) || isLabels(n):
		case imageName(n):
			j.Images++
		case j.Layout == WebDataset && texted(n):
		case j.Other == "":
			j.Other = n
		}
	}
	return j
}

// ImageKind is the kind of image that bytes begin as, of those that go into a gulp as they are: "jpeg", "png",
// "webp", "gif" or "avif"; "" for others. 64 bytes are enough.
func ImageKind(head []byte) string {
	for _, k := range imageKinds() {
		if k.is(head) {
			return path.Base(k.media)
		}
	}
	return ""
}

// IsTar reports whether bytes begin as a tar does. It takes the first 512 of them.
func IsTar(head []byte) bool { return isTar(head) }
