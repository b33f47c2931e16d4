// Package pack makes gulp chunks of uploads: archives of images (tar, tar.gz,
// tar.zst, zip), folders of a bucket closed by a marker, and local folders. The
// images, JPEG, PNG, WebP, AVIF and GIF, pass through untouched; only their markers,
// chunks or boxes are checked. [Arrays] become
// b2nd frames, and [Items], the records, files or bytes of all else, Bloscpack.
//
// A [Source] yields the files of an upload one at a time, and [Stream] writes
// them. Both sides need no scratch disk, and no more memory than [Limits] allow,
// whatever the size of the upload. [Job] does the same as a step of a worker.
//
// What becomes of names:
//
//   - A [Layout] says which files are one id. In that of clips there is
//     one id for each folder, by its whole path; files in no folder belong to
//     their name before the last "_" or "-" and a number, else to the upload's
//     own name.
//   - Frames of an id stand in natural order of their names (f2 before f10),
//     wherever they lie in the data: an archive is streamed in the order in
//     which it lies, and its index put into order at the end. Ids stand in the
//     order of their first frame: natural order in folders, the archive's order
//     otherwise.
//   - Two files of one name, links, devices, names that would leave the folder
//     and files that are neither images nor labels fail the whole upload. Files that
//     desktops and version control leave about (.DS_Store, __MACOSX, Thumbs.db,
//     .gitignore …) and markers (_SUCCESS, manifest.json) are passed over.
//   - meta_data: see labels.csv and labels.json in the documentation of
//     [Stream]; the folder above an id's folder is its label unless something
//     says otherwise.
package pack

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/functions/internal/kit"
)

// A File is one regular file of an upload.
type File struct {
	Name string // clean relative path
	Size int64
	Off  int64 // offset of its bytes in the upload, for errors; for a compressed tar the offset in the tar; -1: the file is a whole object or local file
}

// A Source is an upload as a row of files. It can be read more than once, by
// one goroutine at a time.
type Source interface {
	// Each calls f for each file, in order. r has Size bytes (fewer if a local file
	// was cut short since) and is valid until f returns. Each skips bytes that f
	// does not read. If f returns an error, Each returns the same error.
	Each(ctx context.Context, f func(e File, r io.Reader) error) error
	// About describes the upload.
	About() About
}

// About describes a Source.
type About struct {
	Format string              // "tar", "tar.gz", "tar.zst", "zip", "folder": for errors
	Name   string              // name of the upload: the id of files without one
	Size   int64               // bytes of the upload as it is stored, for progress; -1: unknown
	Labels []map[string]string // metadata: "label" and "label-NAME" count
	// Tags asks for tags, which are labels, too; it takes a request. nil: there are none.
	Tags   func(context.Context) (map[string]string, error)
	Layout string // inputs besides the bytes of the object that decide the result; "": none
}

// Options tune Stream, the sources and a Job. The zero value is right for most.
type Options struct {
	Limits Limits
	Gulp   gulp.WriteOptions // options of a Job's gulps
	// Layout says which files are one id. The zero value finds out by their names; an
	// archive that is read front to end is judged by its first 64 files in 24 MiB, which
	// are held in memory until then.
	Layout Layout
	// Progress is told by Stream, after each frame, the bytes of the files so far,
	// unpacked (of a compressed archive they pass the total), and About.Size.
	Progress formats.Progress
	// Done is called by Stream when all is written and not yet published. A Job
	// that starts again calls it again. Nil means no call.
	Done func(Result)
	// AllFiles makes Prefix also yield files that a folder of images skips
	// (.gitignore, markers of sub-folders).
	AllFiles bool
	// Warn is called if a Job leaves something undone without failing. Nil
	// means no call.
	Warn func(key, text string)
	// Remark is called with what is worth a line about an upload that was done: that it came
	// late to a dataset of many. Nil means no call.
	Remark func(key, text string)
}

// Result is the result of Stream.
type Result struct {
	Frames, IDs, Bytes int64  // Bytes: of the frames
	Skipped            int64  // files that desktops leave about, and markers, if the source yields them
	Unlabelled         int64  // labels whose id has no frames here
	Labels             int64  // labels in all: lines of labels files, members of samples
	FirstUnlabelled    string // what the first label without frames is about
	Unordered          int64  // ids whose frames did not come in natural order
	Layout             Layout // layout that was taken; never ByNames after success
	Others             int64  // frames of another kind than JPEG
}

// Frames receives the frames of Stream: it is a gulp.Writer, or a writer of several
// chunks. A payload is valid until WriteFrame returns. Stream calls AddMeta after all
// frames. If there is a method Reorder as in gulp.Writer, Stream calls it for each id
// whose frames did not come in natural order. Otherwise these frames stay in the order
// in which they came.
type Frames interface {
	WriteFrame(id string, payload []byte) error
	AddMeta(id string, meta json.RawMessage) error
}

// A reorderer is a writer that can change the order of an id's frames in the index:
// the frame that was written as number order[k] becomes frame k.
type reorderer interface {
	Reorder(id string, order []int) error
}

// Stream packs src into w. It holds one image at a time, and the names of all others.
// It reads labels from files called labels.csv and labels.json in any folder. A CSV has
// a header with a column "id", "file", "filename" or "path". A JSON is an object of id:
// fields, or a list of objects, each with one of these members. A label may name an id
// by the whole id, or by its last part if no other id ends in the same part. It may
// also name a file: by the path of a file of the id, or by a name that is the id, with
// or without a suffix. Labels may come after frames.
//
// If the upload is at fault, the error names the file and matches a sentinel of
// formats. If the upload has no image, it matches formats.ErrUnsupported. Errors of the
// store and of w keep their identity. After an error the output in w is of no use.
func Stream(ctx context.Context, src Source, w Frames, o Options) (Result, error) {
	s := newStream(src, w, o)
	err := s.tags(ctx)
	if err == nil {
		err = s.look(ctx, src)
	}
	if err == nil {
		err = src.Each(ctx, s.named(s.file))
	}
	if err != nil && kit.IsFormat(err) {
		if first := s.settle(); first != nil { // it is about a file that came before
			err = first
		}
	}
	if err == nil {
		err = s.finish()
	}
	if err == nil && o.Done != nil {
		o.Done(s.res)
	}
	return s.res, err
}

// named adds the file's name to errors about the upload.
func (s *stream) named(f func(File, io.Reader) error) func(File, io.Reader) error {
	return func(e File, r io.Reader) error {
		err := f(e, r)
		if err != nil && kit.IsFormat(err) {
			return kit.Fail(s.about.Format, fmt.Sprintf("%q", e.Name), e.Off, err)
		}
		return err
	}
}
