package pack

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sort"
	"strings"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/functions/internal/kit"
	"github.com/farread/farread/internal/pull"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// compareFiles is the order in which a folder is packed: labels first, then ids and
// frames in natural order.
func compareFiles(a, b string) int {
	if x, y := isLabels(a), isLabels(b); x != y {
		if x {
			return -1
		}
		return 1
	}
	return cmp.Or(natural(a, b), strings.Compare(a, b))
}

// local is a folder of the machine.
type local struct {
	fsys  fs.FS
	about About
	l     Limits
}

// Folder is a folder of the machine as a source: os.DirFS(dir), or better the FS
// of an os.Root. name is the id of files in no folder that have none of their own.
// The folder is listed by each call of Each. A link to a file is that file, by the name of
// the link; another link, one that fsys does not follow, or a device is
// formats.ErrUnsupported.
func Folder(fsys fs.FS, name string, o Options) Source {
	return &local{fsys: fsys, about: About{Format: "folder", Name: name, Size: -1}, l: o.Limits.WithDefaults()}
}

func (s *local) About() About { return s.about }

func (s *local) Each(ctx context.Context, f func(File, io.Reader) error) error {
	files, err := s.walk(ctx)
	if err != nil {
		return err
	}
	for _, e := range files {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := s.one(e, f); err != nil {
			return err
		}
	}
	return nil
}

// Names lists the folder without looking at its files.
func (s *local) Names(ctx context.Context) ([]string, error) {
	var names []string
	err := fs.WalkDir(s.fsys, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !d.IsDir():
			names = append(names, p)
		}
		if int64(len(names)) > s.l.Entries {
			return fs.SkipAll // Each will say so
		}
		return nil
	})
	slices.SortFunc(names, compareFiles)
	return names, err
}

func (s *local) one(e localFile, f func(File, io.Reader) error) error {
	r, err := s.fsys.Open(e.path)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // only read
	short := func(err error) error { return err }
	return f(File{Name: e.Name, Size: e.Size, Off: -1}, member{io.LimitReader(r, e.Size), short})
}

type localFile struct {
	File

	path string
}

func (s *local) walk(ctx context.Context) ([]localFile, error) {
	var files []localFile
	err := fs.WalkDir(s.fsys, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case d.IsDir():
			return nil
		case int64(len(files)) >= s.l.Entries:
			return kit.Fail("folder", "", -1, kit.TooLarge("more than %d files", s.l.Entries))
		}
		name, err := cleanName(p, s.l)
		var info fs.FileInfo
		if err == nil && !d.Type().IsRegular() {
			if info, err = s.followed(p, d); err != nil && isClutter(name) {
				return nil
			}
		}
		if err != nil {
			return kit.Fail("folder", fmt.Sprintf("%q", p), -1, err)
		}
		if info == nil {
			if info, err = d.Info(); err != nil {
				return err
			}
		}
		files = append(files, localFile{File{name, info.Size(), -1}, p})
		return nil
	})
	sort.Slice(files, func(i, j int) bool { return compareFiles(files[i].Name, files[j].Name) < 0 })
	return files, err
}

// followed is the file that a link leads to.
func (s *local) followed(p string, d fs.DirEntry) (fs.FileInfo, error) {
	if d.Type()&fs.ModeSymlink == 0 {
		return nil, kit.Unsupported("a device")
	}
	info, err := fs.Stat(s.fsys, p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, kit.Unsupported("a link to nothing")
	case err != nil:
		return nil, kit.Unsupported("a link out of the folder: a copy by cp -rL has files in the place of links")
	case info.IsDir():
		return nil, kit.Unsupported("a link to a folder: a copy by cp -rL has files in the place of links")
	case !info.Mode().IsRegular():
		return nil, kit.Unsupported("a link to a device")
	}
	return info, nil
}

// prefix is a folder of a bucket: objects whose keys begin alike.
type prefix struct {
	b       objstore.Bucket
	about   About
	l       Limits
	isJunk  func(name string) bool
	members []remote
	pinned  bool // the listing is an old one: an object that changed since stays so
}

// A remote is what a listing tells of an object: there may be millions.
type remote struct {
	name, key, etag string
	size            int64
}

// Prefix lists the objects of b under folder ("" or ending in a slash) as a
// source, at the cost of one request for a thousand objects. Each reads every object
// with one request, up to 18 side by side in 64 MiB, pinned to the ETag of the
// listing: if an object changes meanwhile, the packing fails with
// objstore.ErrUnavailable, since the next try will find it whole. Objects that a folder
// of images passes over are left out, unless Options.AllFiles is set.
func Prefix(ctx context.Context, b objstore.Bucket, folder string, o Options) (Source, error) {
	p := newPrefix(b, folder, o)
	for info, err := range b.List(ctx, folder) {
		if err != nil {
			return nil, err
		}
		if err := p.add(folder, info); err != nil {
			return nil, err
		}
	}
	return p.close(), nil
}

func newPrefix(b objstore.Bucket, folder string, o Options) *prefix {
	p := &prefix{b: b, l: o.Limits.WithDefaults(), about: About{Format: "folder", Name: stemOf(folder)}, isJunk: isJunk}
	if o.AllFiles {
		p.isJunk = func(name string) bool { return isClutter(name) || isMarker(name) }
	}
	return p
}

func (p *prefix) add(folder string, info objstore.Info) error {
	rel := strings.TrimPrefix(info.Key, folder)
	if rel == "" || strings.HasSuffix(rel, "/") && info.Size == 0 {
		return nil // skip a folder marker
	}
	name, err := cleanName(rel, p.l)
	switch {
	case err != nil:
		return kit.Fail("folder", fmt.Sprintf("%.200q", info.Key), -1, err)
	case p.isJunk(name):
		return nil
	case int64(len(p.members)) >= p.l.Entries:
		return kit.Fail("folder", "", -1, kit.TooLarge("more than %d files", p.l.Entries))
	}
	if p.about.Size += info.Size; p.about.Size > p.l.Bytes {
		return kit.Fail("folder", "", -1, kit.TooLarge("more than %d bytes", p.l.Bytes))
	}
	p.members = append(p.members, remote{name, info.Key, info.ETag, info.Size})
	return nil
}

// close sorts the members and digests the listing, which is part of what
// decides the result.
func (p *prefix) close() *prefix {
	sort.Slice(p.members, func(i, j int) bool { return compareFiles(p.members[i].name, p.members[j].name) < 0 })
	h := sha256.New()
	for _, m := range p.members {
		fmt.Fprintf(h, "%q %q %d\n", m.key, m.etag, m.size)
	}
	p.about.Layout = hex.EncodeToString(h.Sum(nil)[:16])
	return p
}

// manifest lists the objects that a manifest names: a JSON list of keys, or an
// object with such a list as "keys" or "files". Keys are relative to the
// manifest's folder; none may leave it.
func manifest(ctx context.Context, b objstore.Bucket, folder string, text []byte, o Options) (Source, error) {
	var doc struct {
		Keys  []string `json:"keys"`
		Files []string `json:"files"`
	}
	keys := []string{}
	if json.Unmarshal(text, &keys) != nil {
		if err := json.Unmarshal(text, &doc); err != nil {
			return nil, kit.Fail("manifest", "", -1, fmt.Errorf("%w: %w", err, formats.ErrCorrupt))
		}
		keys = append(doc.Keys, doc.Files...)
	}
	if len(keys) == 0 {
		return nil, kit.Fail("manifest", "", -1, kit.Corrupt("no keys in it"))
	}
	want := make(map[string]bool, len(keys))
	for _, k := range keys {
		if _, err := cleanName(k, o.Limits.WithDefaults()); err != nil {
			return nil, kit.Fail("manifest", fmt.Sprintf("%.200q", k), -1, err)
		}
		want[folder+k] = true
	}
	p := newPrefix(b, folder, o)
	for info, err := range b.List(ctx, folder) { // one request for a thousand, and sizes and ETags with it
		if err != nil {
			return nil, err
		}
		if !want[info.Key] {
			continue
		}
		delete(want, info.Key)
		if err := p.add(folder, info); err != nil {
			return nil, err
		}
	}
	for _, k := range keys {
		if want[folder+k] {
			return nil, kit.Fail("manifest", fmt.Sprintf("%.200q", k), -1, formats.ErrNoEntry)
		}
	}
	return p.close(), nil
}

func (p *prefix) About() About { return p.about }

// Names costs nothing: the objects are listed.
func (p *prefix) Names(context.Context) ([]string, error) {
	names := make([]string, len(p.members))
	for i := range p.members {
		names[i] = p.members[i].name
	}
	return names, nil
}

const (
	// prefixAhead is how many objects are held, with the one that is handed on: small
	// ones wait for the round trip, 30 ms on S3, not for bytes.
	prefixAhead = 18
	// prefixBytes bounds what they hold together.
	prefixBytes = 64 << 20
)

// Each reads several objects ahead at the same time, and calls f with them in order.
func (p *prefix) Each(ctx context.Context, f func(File, io.Reader) error) error {
	q := pull.Pull[*remote]{Memory: prefixBytes, Parts: p.parts} // each object has its own reader, and so its own window
	for w, err := range q.Windows(ctx) {
		if err != nil {
			return err
		}
		m := w.Parts[0].For
		if err := f(File{Name: m.name, Size: m.size, Off: -1}, bytes.NewReader(w.Bytes(0))); err != nil {
			return err
		}
	}
	return nil
}

func (p *prefix) parts(_ context.Context, add func(pull.Part[*remote]) error) error {
	for i := range p.members {
		m := &p.members[i]
		n := m.size
		if n > max(p.l.Frame, p.l.Text) {
			return kit.Fail("folder", fmt.Sprintf("%q", m.name), -1, kit.TooLarge("%d bytes", n))
		}
		const least = prefixBytes / prefixAhead // so many parts fill the memory
		if err := add(pull.Part[*remote]{From: &listed{p.b, m, p.pinned}, Len: n, More: max(least-n, 0), For: m}); err != nil {
			return err
		}
	}
	return nil
}

// A listed object is read as it was listed: all of it, with one request.
type listed struct {
	b      objstore.Bucket
	m      *remote
	pinned bool
}

func (r *listed) Size() int64 { return r.m.size }

func (r *listed) ReadRanges(ctx context.Context, spans []rangeio.Span) error {
	o := objstore.OpenOptions{Head: max(r.m.size, 1), IfMatch: r.m.etag}
	if len(spans) == 1 && spans[0].Off == 0 && int64(len(spans[0].P)) == r.m.size {
		o.Buf = spans[0].P // the head is all of it, and there already
	}
	obj, err := objstore.Open(ctx, r.b, r.m.key, o)
	if err == nil {
		err = obj.ReadRanges(ctx, spans)
	}
	if errors.Is(err, objstore.ErrChanged) || errors.Is(err, objstore.ErrNotFound) || errors.Is(err, rangeio.ErrOutside) {
		if r.pinned {
			return fmt.Errorf("%s is not what was listed any more: %w", r.m.key, err)
		}
		// Not the marker's own change: no newer event is sure to follow.
		return fmt.Errorf("%s was replaced while its folder was packed (%v): %w", r.m.key, err, objstore.ErrUnavailable) //nolint:errorlint // its own sentinel would say that the upload is gone
	}
	return err
}

// ReadEach is there for the interface.
func (r *listed) ReadEach(ctx context.Context, spans []rangeio.Span, done func(i int) error) error {
	if err := r.ReadRanges(ctx, spans); err != nil {
		return err
	}
	for i := range spans {
		if err := done(i); err != nil {
			return err
		}
	}
	return nil
}
