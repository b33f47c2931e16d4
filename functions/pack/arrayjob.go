package pack

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/farread/farread/formats/arraymeta"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/internal/kit"
	"github.com/farread/farread/objstore"
)

const (
	// arrayLayout must change if the same upload would give another array.
	arrayLayout = "b2nd-1"
	// arrayMemory is how much a worker may take for buffers. Codecs, requests and the
	// runtime take as much again, so the worker stays below 256 MiB.
	arrayMemory = 128 << 20
	// ArraySuffix ends the keys of outputs with arrays.
	ArraySuffix = ".b2nd"
)

// DefaultEncode is how the values of arrays are stored unless somebody says
// otherwise: zstd at level 1 with shuffle, as python-blosc2 does.
func DefaultEncode() blosc.EncodeOptions {
	return blosc.EncodeOptions{Codec: blosc.Zstd, Level: 1}
}

// ParseCodec reads the codec of a rule or of a flag: a name, or a name and a
// level from 0, which stores, to 9, "zstd-9". "" is DefaultEncode. Without a level it
// is 1 for zstd, and the codec's own default for the others.
func ParseCodec(text string) (blosc.EncodeOptions, error) {
	o := DefaultEncode()
	if text == "" {
		return o, nil
	}
	name, level, ok := strings.Cut(text, "-")
	codecs := []blosc.Codec{blosc.BloscLZ, blosc.LZ4, blosc.LZ4HC, blosc.Zlib, blosc.Zstd}
	i := slices.IndexFunc(codecs, func(c blosc.Codec) bool { return c.String() == name })
	if i < 0 {
		return o, fmt.Errorf("codec %q is not one of %v", name, codecs)
	}
	if o.Codec = codecs[i]; o.Codec != blosc.Zstd {
		o.Level = 0 // the library's own
	}
	if !ok {
		return o, nil
	}
	n, err := strconv.Atoi(level)
	if err != nil || n < 0 || n > 9 {
		return o, fmt.Errorf("level %q of codec %s is not 0 to 9", level, name)
	}
	if o.Level = n; n == 0 {
		o.Level = blosc.LevelStore
	}
	return o, nil
}

// arrays packs an upload that holds arrays, or raw data with their note. ok is false
// for anything else. Under a rule for arrays only, raw data may begin like an archive.
func (j *Job) arrays(ctx context.Context, src objstore.Bucket, u functions.Upload, f *found) (infos []objstore.Info, ok bool, err error) {
	if err := f.empty(); err != nil {
		return nil, false, err
	}
	switch {
	case f.isArrays():
		infos, err = j.publishArrays(ctx, src, u, f, nil, "")
		return infos, true, err
	case f.kind == kindNone && j.Format == "" && mayBeRaw(u.Key) || j.Format == b2nd.Format:
		return j.raw(ctx, src, u, f)
	}
	return nil, false, nil
}

// mayBeRaw reports whether an object of that name may be raw data. If the name is one
// of text, or of a note beside text, the answer costs no request.
func mayBeRaw(key string) bool {
	return textName(strings.TrimSuffix(key, npy.NoteSuffix)) == ByContent
}

// isArrays reports whether the object is an array or a .npz by its own bytes.
func (f *found) isArrays() bool { return f.kind == kindNPY || f.kind == kindZip && f.isNPZ() }

// isNPZ reports whether the first file of a zip is a .npy; the name of the zip does
// not matter. Arrays then requires that all files are. It rarely needs a request.
func (f *found) isNPZ() bool {
	if len(f.head) < zipLocalLen || binary.LittleEndian.Uint32(f.head) != zipLocalSig {
		return strings.HasSuffix(f.obj.Info().Key, npzSuffix)
	}
	name := f.head[zipLocalLen:]
	name = name[:min(len(name), int(binary.LittleEndian.Uint16(f.head[26:])))]
	return bytes.HasSuffix(name, []byte(npySuffix))
}

// raw packs raw data by their note, whichever of the two came last.
func (j *Job) raw(ctx context.Context, src objstore.Bucket, u functions.Upload, f *found) (infos []objstore.Info, ok bool, err error) {
	if data, is := kit.NoteOf(u.Key); is && f.kind == kindNone {
		note, err := readNote(ctx, f.obj)
		if err == nil {
			return j.noted(ctx, src, u, data, note, f.obj.Info().ETag)
		}
		if j.Format == b2nd.Format { // the rule asks for arrays, so it must be raw data
			return nil, true, err
		}
	}
	beside, err := objstore.Open(ctx, src, u.Key+npy.NoteSuffix, objstore.OpenOptions{})
	if errors.Is(err, objstore.ErrNotFound) {
		if j.Format == b2nd.Format && f.kind == kindNone && !isArrayName(u.Key) {
			return nil, true, fmt.Errorf("raw data wait for their note %s: %w", path.Base(u.Key)+npy.NoteSuffix, functions.ErrSkip)
		}
		return nil, false, nil
	}
	if err != nil {
		return nil, true, err
	}
	note, err := readNote(ctx, beside)
	if err != nil {
		return nil, true, err
	}
	infos, err = j.publishArrays(ctx, src, u, f, &note, beside.Info().ETag)
	return infos, true, err
}

// isArrayName reports whether the name is a name of an array. Such an object is
// never treated as raw data.
func isArrayName(key string) bool {
	return strings.HasSuffix(key, npySuffix) || strings.HasSuffix(key, npzSuffix)
}

// noted packs the data of a note whose event came. The output belongs to the current
// version of the data: that version counts as the upload.
func (j *Job) noted(ctx context.Context, src objstore.Bucket, u functions.Upload, key string, note npy.Note, tag string) ([]objstore.Info, bool, error) {
	obj, of, err := kit.OpenNoted(ctx, src, u, key)
	if err != nil {
		return nil, true, err
	}
	f, err := look(ctx, obj)
	if err == nil {
		err = f.empty()
	}
	if err == nil && f.isArrays() {
		err = kit.SaysItself(key)
	}
	if err != nil {
		return nil, true, err
	}
	if u.Sequencer != "" { // the note's event says nothing of the data's version
		ctx = functions.Again(ctx)
	}
	infos, err := j.publishArrays(ctx, src, of, f, &note, tag)
	return infos, true, err
}

// readNote reads an object that may be a note. If it is not, the error is
// formats.ErrCorrupt or formats.ErrTooLarge.
func readNote(ctx context.Context, obj *objstore.Object) (npy.Note, error) {
	if obj.Size() > npy.MaxNote {
		return npy.Note{}, kit.TooLarge("a note of %d bytes", obj.Size())
	}
	p, err := kit.Head(ctx, obj, npy.MaxNote)
	if err != nil {
		return npy.Note{}, err
	}
	return npy.ParseNote(p)
}

// publishArrays writes an object for every array of u. For raw data, tag is the ETag
// of their note.
func (j *Job) publishArrays(ctx context.Context, src objstore.Bucket, u functions.Upload, f *found, note *npy.Note, tag string) ([]objstore.Info, error) {
	if j.Format != "" && j.Format != b2nd.Format {
		return nil, kit.Fail("upload", u.Key, -1, kit.Unsupported("arrays, and the rule makes %s", j.Format))
	}
	list, err := f.arrays(ctx, ArrayOptions{Limits: j.Options.Limits, Note: note})
	if err != nil {
		return nil, err
	}
	size := int64(0) // unpacked: that is what takes the time
	for _, a := range list {
		size += min(a.NBytes, math.MaxInt64-size)
	}
	if err := kit.Fits(ctx, max(size, u.Size), slowest); err != nil {
		return nil, err
	}
	if j.To != "" {
		return j.join(ctx, src, u, list, tag)
	}
	layout := arrayLayout + j.codecLayout()
	if note != nil { // another note makes another array of the same data
		layout = arrayLayout + " note " + tag + j.codecLayout()
	}
	var infos []objstore.Info
	kind, members := memberArrays, map[string]bool{}
	for _, a := range list {
		key := u.Key
		if a.Name != "" {
			key += "/" + a.Name
		} else {
			kind = oneArray
		}
		s := functions.Single{Bucket: j.Out, Key: functions.OutputKey(j.Prefix, key, ArraySuffix), Layout: layout, Replace: j.Replace}
		is, err := s.Publish(ctx, src, u, func(ctx context.Context, _ functions.Upload, w objstore.Writer, seal []byte) error {
			if note != nil {
				if err := kit.StillNoted(ctx, src, u.Key, tag); err != nil {
					return err
				}
			}
			layer, err := sealLayer(seal)
			if err != nil {
				return err
			}
			return a.Write(ctx, w, ArrayWrite{Write: b2nd.WriteOptions{Encode: j.Encode, MaxMemory: arrayMemory, Index: cframe.CheapIndex, VLMetalayers: []cframe.Metalayer{layer}}})
		})
		if err != nil {
			return infos, err
		}
		infos = append(infos, is...)
		members[s.Key] = true
	}
	return infos, j.retire(ctx, src, u, kind, infos, members)
}

func (j *Job) codecLayout() string {
	if j.Encode.Codec == DefaultEncode().Codec && j.Encode.Level == DefaultEncode().Level {
		return ""
	}
	return fmt.Sprintf(" %s-%d", j.Encode.Codec, j.Encode.Level)
}

// sealLayer is the metalayer that tells one version of an upload from another of the same
// content by its seal.
func sealLayer(seal []byte) (cframe.Metalayer, error) {
	data, err := arraymeta.Meta{Source: hex.EncodeToString(seal)}.Append(nil)
	return cframe.Metalayer{Name: arraymeta.Layer, Data: data}, err
}
