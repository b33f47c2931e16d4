package s3srv

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/s3err"
	"github.com/versity/versitygw/s3response"

	"github.com/farread/farread/localcloud/notify"
)

// emptyMD5 is the ETag that S3 gives a delete marker in its events.
const emptyMD5 = "d41d8cd98f00b204e9800998ecf8427e"

// hooked is a backend that reports each change of an object before the client
// has its answer, and refuses keys that the backend cannot hold.
//
// Changes of one key take turns, so that their events carry sequencers in the
// order in which the changes became visible.
type hooked struct {
	backend.Backend
	root string // absolute folder of the buckets
	emit func(notify.Change) error
	keys keyLocks
}

func (h *hooked) PutObject(ctx context.Context, in s3response.PutObjectInput) (s3response.PutObjectOutput, error) {
	bucket, key := own(in.Bucket), own(in.Key)
	if err := checkKey(key); err != nil {
		return s3response.PutObjectOutput{}, err
	}
	defer h.keys.lock(bucket, key)()
	in.IfNoneMatch = h.ifNone(ctx, bucket, key, in.IfNoneMatch)
	out, err := h.Backend.PutObject(ctx, in)
	if err != nil {
		return out, beside(err)
	}
	c := notify.Change{Event: notify.Put, Bucket: bucket, Key: key, ETag: out.ETag, VersionID: out.VersionID}
	if out.Size != nil {
		c.Size = *out.Size
	} else if c.Size, err = h.size(ctx, c); err != nil {
		return out, err
	}
	return out, h.emit(c)
}

func (h *hooked) CopyObject(ctx context.Context, in s3response.CopyObjectInput) (s3response.CopyObjectOutput, error) {
	bucket, key := own(in.Bucket), own(in.Key)
	if err := checkKey(key); err != nil {
		return s3response.CopyObjectOutput{}, err
	}
	if err := checkSource(in.CopySource); err != nil {
		return s3response.CopyObjectOutput{}, err
	}
	defer h.keys.lock(bucket, key)()
	out, err := h.Backend.CopyObject(ctx, in)
	if err != nil {
		return out, beside(err)
	}
	c := notify.Change{Event: notify.Copy, Bucket: bucket, Key: key, VersionID: str(out.VersionId)}
	if out.CopyObjectResult != nil {
		c.ETag = str(out.CopyObjectResult.ETag)
	}
	if c.Size, err = h.size(ctx, c); err != nil {
		return out, err
	}
	return out, h.emit(c)
}

func (h *hooked) CreateMultipartUpload(ctx context.Context, in s3response.CreateMultipartUploadInput) (s3response.InitiateMultipartUploadResult, error) {
	if err := checkKey(str(in.Key)); err != nil {
		return s3response.InitiateMultipartUploadResult{}, err
	}
	if err := h.checkFolder(str(in.Bucket), str(in.Key)); err != nil {
		return s3response.InitiateMultipartUploadResult{}, err
	}
	out, err := h.Backend.CreateMultipartUpload(ctx, in)
	return out, beside(err)
}

func (h *hooked) UploadPartCopy(ctx context.Context, in *s3.UploadPartCopyInput) (s3response.CopyPartResult, error) {
	if err := checkSource(in.CopySource); err != nil {
		return s3response.CopyPartResult{}, err
	}
	return h.Backend.UploadPartCopy(ctx, in)
}

func (h *hooked) CompleteMultipartUpload(ctx context.Context, in *s3.CompleteMultipartUploadInput) (s3response.CompleteMultipartUploadResult, string, error) {
	bucket, key := own(in.Bucket), own(in.Key)
	defer h.keys.lock(bucket, key)()
	if err := h.checkFolder(bucket, key); err != nil {
		return s3response.CompleteMultipartUploadResult{}, "", err
	}
	in.IfNoneMatch = h.ifNone(ctx, bucket, key, in.IfNoneMatch)
	out, version, err := h.Backend.CompleteMultipartUpload(ctx, in)
	if err != nil {
		return out, version, beside(err)
	}
	c := notify.Change{Event: notify.Multipart, Bucket: bucket, Key: key, ETag: str(out.ETag), VersionID: version}
	if c.Size, err = h.size(ctx, c); err != nil {
		return out, version, err
	}
	return out, version, h.emit(c)
}

func (h *hooked) DeleteObject(ctx context.Context, in *s3.DeleteObjectInput) (*s3.DeleteObjectOutput, error) {
	bucket, key := own(in.Bucket), own(in.Key)
	if err := checkKey(key); err != nil {
		return nil, err
	}
	defer h.keys.lock(bucket, key)()
	out, err := h.Backend.DeleteObject(ctx, in)
	if err != nil {
		return out, err
	}
	c := notify.Change{Event: notify.Delete, Bucket: bucket, Key: key, VersionID: own(in.VersionId)}
	if out != nil && c.VersionID == "" && out.DeleteMarker != nil && *out.DeleteMarker {
		c.Event, c.ETag, c.VersionID = notify.DeleteMarker, emptyMD5, str(out.VersionId)
	}
	return out, h.emit(c)
}

// DeleteObjects deletes one key after the other, as the backend does.
func (h *hooked) DeleteObjects(ctx context.Context, in *s3.DeleteObjectsInput) (s3response.DeleteResult, error) {
	out := s3response.DeleteResult{Deleted: []types.DeletedObject{}, Error: []types.Error{}}
	for _, o := range in.Delete.Objects {
		r, err := h.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: in.Bucket, Key: o.Key, VersionId: o.VersionId})
		if err != nil {
			out.Error = append(out.Error, s3err.ObjectDeleteError(o.Key, o.VersionId, err))
			continue
		}
		d := types.DeletedObject{Key: o.Key, VersionId: o.VersionId, DeleteMarker: r.DeleteMarker}
		if d.DeleteMarker != nil && *d.DeleteMarker {
			d.DeleteMarkerVersionId = r.VersionId
		}
		out.Deleted = append(out.Deleted, d)
	}
	return out, nil
}

// ifNone is the condition of a put. The condition that no object exists is dropped if
// none does: the backend would take a delete marker for an object, S3 does not. The key
// is locked, so no object can appear meanwhile.
func (h *hooked) ifNone(ctx context.Context, bucket, key string, condition *string) *string {
	if str(condition) != "*" {
		return condition
	}
	var e s3err.S3Error
	if _, err := h.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &bucket, Key: &key}); errors.As(err, &e) && e.StatusCode() == http.StatusNotFound {
		return nil
	}
	return condition
}

// size asks the backend for the size of a new object. The key is locked, so it
// is still there.
func (h *hooked) size(ctx context.Context, c notify.Change) (int64, error) {
	in := &s3.HeadObjectInput{Bucket: &c.Bucket, Key: &c.Key}
	if c.VersionID != "" {
		in.VersionId = &c.VersionID
	}
	o, err := h.HeadObject(ctx, in)
	if err != nil {
		return 0, err
	}
	if o.ContentLength == nil {
		return 0, nil
	}
	return *o.ContentLength, nil
}

// checkFolder refuses a key that is a folder of other keys, which the backend
// does not notice for multipart uploads. The key has passed checkKey.
func (h *hooked) checkFolder(bucket, key string) error {
	if !strings.HasSuffix(key, "/") && isDir(filepath.Join(h.root, bucket, key)) {
		return refuseBeside("other keys begin with it and \"/\"")
	}
	return nil
}

// checkSource refuses the source of a copy that would be read from another path.
func checkSource(source *string) error {
	_, key, _, err := backend.ParseCopySource(str(source))
	if err != nil {
		return err
	}
	if checkKey(key) != nil {
		return s3err.GetAPIError(s3err.ErrNoSuchKey)
	}
	return nil
}

// own is a copy of a string of a request: the server uses the request's memory again
// for the next one.
func own(p *string) string { return strings.Clone(str(p)) }

func str(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}

// keyLocks is one lock for each key in use. The zero value is ready.
type keyLocks struct {
	mu   sync.Mutex
	held map[string]*keyLock
}

type keyLock struct {
	sync.Mutex
	users int
}

// lock waits for the key and returns the function that lets it go.
func (k *keyLocks) lock(bucket, key string) func() {
	name := strings.Join([]string{bucket, key}, "/")
	k.mu.Lock()
	l := k.held[name]
	if l == nil {
		if k.held == nil {
			k.held = map[string]*keyLock{}
		}
		l = &keyLock{}
		k.held[name] = l
	}
	l.users++
	k.mu.Unlock()
	l.Lock()
	return func() {
		l.Unlock()
		k.mu.Lock()
		defer k.mu.Unlock()
		if l.users--; l.users == 0 {
			delete(k.held, name)
		}
	}
}
