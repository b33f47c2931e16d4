package s3store

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/farread/farread/objstore"
)

var _ objstore.Signer = (*Bucket)(nil)

// SignGet returns a presigned URL of key: see objstore.Signer.
func (b *Bucket) SignGet(ctx context.Context, key, versionID string, ttl time.Duration) (string, error) {
	err := checkKey(key)
	if err == nil {
		var out string
		if out, err = b.sign(ctx, key, versionID, ttl); err == nil {
			return out, nil
		}
	}
	return "", b.fail(ctx, "sign", key, objstore.Range{}, err)
}

func (b *Bucket) sign(ctx context.Context, key, versionID string, ttl time.Duration) (string, error) {
	in := &s3.GetObjectInput{Bucket: &b.cfg.Bucket, Key: &key, VersionId: opt(versionID), RequestPayer: b.payer}
	b.mu.Lock()
	region := b.region
	b.mu.Unlock()
	out, err := s3.NewPresignClient(b.client).PresignGetObject(ctx, in, s3.WithPresignExpires(ttl),
		s3.WithPresignClientFromClientOptions(func(o *s3.Options) { o.Region = region }))
	if err != nil {
		return "", err
	}
	return out.URL, nil
}
