// Package s3srv is an S3 server on loopback over a folder of this machine, which
// reports every change of an object.
package s3srv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/gofiber/fiber/v3"
	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
	"github.com/versity/versitygw/s3api"

	"github.com/farread/farread/localcloud/notify"
)

// Config is the configuration of a server. Dir, Addr, the keys, Region and Emit
// must be set.
type Config struct {
	Dir        string // absolute; the server makes its folders in it
	Addr       string // host:port on loopback; FreeAddr finds a port
	AccessKey  string
	SecretKey  string
	Region     string
	Versioning bool     // keep versions in Buckets
	Buckets    []string // made if absent

	// Emit is called for each change, before the client has its answer. If it fails,
	// the client gets an error, though the change is made. It is called from several
	// goroutines, for one key by one at a time.
	Emit func(notify.Change) error
	// Routes are more pages of the server, beside the buckets.
	Routes []Route
}

// A Route answers one method of one path with the JSON of what Serve returns; an error
// of Serve is a 500. Routes need no credentials.
type Route struct {
	Method, Path string
	Serve        func() (any, error)
}

// A Server is one S3 server. A process can have one at a time, because the
// backend works in the current directory, which New changes.
type Server struct {
	cfg Config
	be  *hooked
}

// New opens the folder and makes the buckets. Nothing listens before Serve.
func New(ctx context.Context, cfg Config) (*Server, error) {
	opts := posix.PosixOpts{
		CopyObjectThreshold: 5 << 30, // S3's limit; 0 would refuse UploadPartCopy
		ForceNoObjLockFile:  true,    // only this process writes to the folder
	}
	root := filepath.Join(cfg.Dir, "buckets")
	dirs := []string{root}
	if cfg.Versioning || isDir(filepath.Join(cfg.Dir, "versions")) {
		opts.VersioningDir = filepath.Join(cfg.Dir, "versions")
		dirs = append(dirs, opts.VersioningDir)
	}
	for _, d := range dirs {
		if err := os.MkdirAll(d, 0o750); err != nil {
			return nil, err
		}
	}
	store, err := metadata(cfg.Dir, root, &opts)
	if err != nil {
		return nil, err
	}
	be, err := posix.New(root, store, opts)
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, be: &hooked{Backend: be, root: root, emit: cfg.Emit}}
	for _, b := range cfg.Buckets {
		if err := s.createBucket(ctx, b); err != nil {
			return nil, fmt.Errorf("bucket %s: %w", b, err)
		}
	}
	return s, nil
}

// metadata keeps ETags and the like in extended attributes, or in files beside the
// buckets if the file system has none. A folder keeps the way of its first start.
func metadata(dir, root string, opts *posix.PosixOpts) (meta.MetadataStorer, error) {
	side := filepath.Join(dir, "sidecar")
	if !isDir(side) {
		err := meta.XattrMeta{}.StoreAttribute(nil, root, "", "probe", []byte("1"))
		if err == nil {
			return meta.XattrMeta{}, meta.XattrMeta{}.DeleteAttribute(root, "", "probe")
		}
		if errors.Is(err, os.ErrPermission) {
			return nil, err
		}
	}
	if err := os.MkdirAll(side, 0o750); err != nil {
		return nil, err
	}
	opts.SideCarDir = side
	return meta.NewSideCar(side)
}

func isDir(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.IsDir()
}

func (s *Server) createBucket(ctx context.Context, name string) error {
	if _, err := s.be.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &name}); err != nil {
		acl, err := json.Marshal(auth.ACL{Owner: s.cfg.AccessKey})
		if err != nil {
			return err
		}
		err = s.be.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &name, ObjectOwnership: types.ObjectOwnershipBucketOwnerEnforced,
			CreateBucketConfiguration: &types.CreateBucketConfiguration{}}, acl)
		if err != nil {
			return err
		}
	}
	if !s.cfg.Versioning {
		return nil
	}
	return s.be.PutBucketVersioning(ctx, name, types.BucketVersioningStatusEnabled)
}

// EachObject calls f for every current object of every bucket, as a Put, with the time
// when it was last modified. Files that were put into the folder by hand have no ETag
// and are left out. An error of f ends it.
func (s *Server) EachObject(ctx context.Context, f func(c notify.Change, modified time.Time) error) error {
	owned, err := s.be.ListBucketsAndOwners(ctx)
	if err != nil {
		return err
	}
	for _, b := range owned {
		var after string
		for more := true; more; {
			page, err := s.be.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &b.Name, StartAfter: ptr(""), ContinuationToken: &after, MaxKeys: ptr(int32(1000))})
			if err != nil {
				return fmt.Errorf("list %s: %w", b.Name, err)
			}
			for _, o := range page.Contents {
				if str(o.ETag) == "" || o.LastModified == nil || o.Size == nil {
					continue
				}
				c := notify.Change{Event: notify.Put, Bucket: b.Name, Key: str(o.Key), ETag: str(o.ETag), Size: *o.Size}
				if c.VersionID, err = s.version(ctx, c); err != nil {
					return err
				}
				if err := f(c, *o.LastModified); err != nil {
					return err
				}
			}
			after = str(page.NextContinuationToken)
			more = page.IsTruncated != nil && *page.IsTruncated && after != ""
		}
	}
	return nil
}

// version is the version of the current object, empty without versioning.
func (s *Server) version(ctx context.Context, c notify.Change) (string, error) {
	if !isDir(filepath.Join(s.cfg.Dir, "versions")) {
		return "", nil
	}
	o, err := s.be.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &c.Bucket, Key: &c.Key})
	if err != nil {
		return "", fmt.Errorf("head %s/%s: %w", c.Bucket, c.Key, err)
	}
	if v := str(o.VersionId); v != "null" {
		return v, nil
	}
	return "", nil
}

// maxRequests at a time: more than a test machine's clients and functions open
// together. Requests above that get 503.
const maxRequests = 4096

// Serve answers requests until ctx ends, and calls ready when it listens. After the end
// of ctx it waits up to ten seconds for requests in flight.
func (s *Server) Serve(ctx context.Context, ready func()) error {
	opts := make([]s3api.Option, 0, 2+len(s.cfg.Routes))
	opts = append(opts, s3api.WithOnListen(ready), s3api.WithMiddleware("/", refuseKeys))
	for _, r := range s.cfg.Routes {
		opts = append(opts, s3api.WithRoute(r.Method, r.Path, func(c fiber.Ctx) error {
			v, err := r.Serve()
			if err != nil {
				return c.Status(fiber.StatusInternalServerError).JSON(map[string]string{"error": err.Error()})
			}
			return c.JSON(v)
		}))
	}
	return embedgw.RunVersityGW(ctx, s.be, &embedgw.Config{
		RootUserAccess: s.cfg.AccessKey, RootUserSecret: s.cfg.SecretKey, Region: s.cfg.Region,
		Ports: []string{s.cfg.Addr}, Quiet: true,
		KeepAlive:      true,                                                             // without it every request needs a new connection
		MaxConnections: maxRequests, MaxRequests: maxRequests, MultipartMaxParts: 10_000, // S3's limit of parts
		S3Options: opts,
	})
}

// FreeAddr is addr with a free port in place of port 0. An address that is taken
// or not on loopback is an error. The port is not held: another program may take it
// before Serve listens.
func FreeAddr(ctx context.Context, addr string) (string, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return "", err
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return "", fmt.Errorf("%s is not an address of loopback", addr)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

func ptr[T any](v T) *T { return &v }
