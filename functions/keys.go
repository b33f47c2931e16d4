package functions

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Names of the user metadata that every derived object carries. They are read
// by the workers that come later, and by readers of pairs (MetaDataETag).
const (
	MetaMarker    = "farread-derived"        // "1": made by farread, so not to be packed itself
	MetaSource    = "farread-source"         // bucket of the upload
	MetaKey       = "farread-source-key"     // key of the source, percent-encoded
	MetaKey64     = "farread-source-key-b64" // key of the source in base64url, instead of MetaKey if that were over 1200 bytes
	MetaETag      = "farread-source-etag"    // ETag of the upload; missing, like the next two, if the event did not have it
	MetaVersion   = "farread-source-version"
	MetaSequencer = "farread-source-sequencer"
	MetaLayout    = "farread-layout" // options and other inputs that decide the bytes; "error" for a report

	// MetaDataETag and MetaDataVersion stand on a .gmeta and name the .gulp
	// that it belongs to. A reader whose .gulp has another ETag has met a pair
	// that is being replaced and should open it again.
	MetaDataETag    = "farread-data-etag"
	MetaDataVersion = "farread-data-version"
)

const (
	// maxMetaKey is the longest percent-encoded key in metadata: S3 takes 2 KiB
	// for all names and values, and the other entries need up to 600 bytes.
	maxMetaKey = 1200
	// markerName closes a folder of loose files; Hadoop's tools write it.
	markerName   = "_SUCCESS"
	manifestName = "manifest.json"
	// folderStem and manifestStem name the outputs of a closed folder. They differ,
	// since the sequencers of two markers cannot be compared.
	folderStem   = "frames"
	manifestStem = "manifest"
	// The objects of a pair differ only in their suffix. So both keys are cut if the
	// longer one has to be.
	pairSuffix, longerPairSuffix = ".gulp", ".gmeta"

	hashDigits = 16
)

// hashed matches names that end like cut ones.
var hashed = regexp.MustCompile(`-[0-9a-f]{16}$`)

// Closing reports whether key closes a folder of loose files, and which: the objects
// whose keys begin with folder ("" or ending in a slash) are complete once "_SUCCESS"
// or "manifest.json" lies beside them. manifest says which of the two key is.
func Closing(key string) (folder string, manifest, ok bool) {
	dir, base := path.Split(key)
	switch base {
	case markerName:
		return dir, false, true
	case manifestName:
		return dir, true, true
	}
	return "", false, false
}

// OutputKey returns the key of the output for the upload called key: prefix, the whole
// key, suffix. clips/a.tar becomes clips/a.tar.gulp, so that a.zip beside it has an
// output of its own; a folder closed by _SUCCESS or a manifest becomes
// folder/frames.gulp or folder/manifest.gulp.
//
// Two keys never share an output of the same prefix and suffix. If two keys could get
// the same name, "-" and 16 hex digits of SHA-256(key) are inserted before the suffix.
// That is so if a key ends in such digits itself, if an upload is called "frames" or
// "manifest", and if the key of the output (for a pair, of one of its two objects) would
// exceed 1024 bytes, and is cut at a rune boundary.
func OutputKey(prefix, key, suffix string) string {
	stem := key
	dir, base := path.Split(key)
	_, manifest, closing := Closing(key)
	switch {
	case manifest:
		stem = dir + manifestStem
	case closing:
		stem = dir + folderStem
	case base == folderStem || base == manifestStem || hashed.MatchString(key):
		return cutKey(prefix, key, key, suffix)
	}
	if len(prefix)+len(stem)+roomFor(suffix) > maxKey {
		return cutKey(prefix, stem, key, suffix)
	}
	return prefix + stem + suffix
}

// ErrorKey is where a permanent failure of the upload called key is reported:
// errors/KEY.json, with a hash as in OutputKey if that is over 1024 bytes or could be
// taken twice. A failure of a version that was replaced since does not overwrite a
// report there: it is reported beside it, under a name that ends in "-", 16 hex digits
// and ".json".
func ErrorKey(key string) string {
	const prefix, suffix = "errors/", ".json"
	if len(prefix)+len(key)+len(suffix) > maxKey || hashed.MatchString(key) {
		return cutKey(prefix, key, key, suffix)
	}
	return prefix + key + suffix
}

// versionErrorKey is the key for the report of one version of an upload that is not
// the current one.
func versionErrorKey(u Upload) string {
	return cutKey("errors/", u.Key, u.Key+"\x00"+u.ETag+"\x00"+u.VersionID, ".json")
}

// roomFor is how many bytes a suffix takes.
func roomFor(suffix string) int {
	if suffix == pairSuffix {
		return len(longerPairSuffix)
	}
	return len(suffix)
}

// cutKey shortens stem to the room that is left, and ends it in a hash of the whole
// key.
func cutKey(prefix, stem, key, suffix string) string {
	sum := sha256.Sum256([]byte(key))
	room := max(0, maxKey-len(prefix)-1-hashDigits-roomFor(suffix))
	if len(stem) > room {
		for room > 0 && !utf8.RuneStart(stem[room]) {
			room--
		}
		stem = stem[:room]
	}
	return prefix + stem + "-" + hex.EncodeToString(sum[:])[:hashDigits] + suffix
}

// meta is the metadata by which derived objects name their upload.
func (u Upload) meta(layout string) map[string]string {
	m := map[string]string{MetaMarker: "1", MetaSource: u.Bucket, MetaLayout: layout}
	if enc := url.PathEscape(u.Key); len(enc) <= maxMetaKey {
		m[MetaKey] = enc
	} else {
		m[MetaKey64] = base64.RawURLEncoding.EncodeToString([]byte(u.Key))
	}
	for name, v := range map[string]string{MetaETag: u.ETag, MetaVersion: u.VersionID, MetaSequencer: u.Sequencer} {
		if v != "" {
			m[name] = v
		}
	}
	return m
}

// SourceOf is the upload that a derived object was made of, from the object's
// metadata, without a Size. It is false if farread did not make the object, or its key
// cannot be decoded.
func SourceOf(meta map[string]string) (Upload, bool) {
	if meta[MetaMarker] == "" {
		return Upload{}, false
	}
	u := Upload{Bucket: meta[MetaSource], ETag: meta[MetaETag], VersionID: meta[MetaVersion], Sequencer: meta[MetaSequencer]}
	if v, ok := meta[MetaKey]; ok {
		key, err := url.PathUnescape(v)
		if err != nil {
			return Upload{}, false
		}
		u.Key = key
	} else {
		key, err := base64.RawURLEncoding.DecodeString(meta[MetaKey64])
		if err != nil {
			return Upload{}, false
		}
		u.Key = string(key)
	}
	return u, true
}

// IsDerived reports whether metadata marks an object as made by farread.
func IsDerived(meta map[string]string) bool { return strings.TrimSpace(meta[MetaMarker]) != "" }
