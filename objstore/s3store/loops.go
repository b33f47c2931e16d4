package s3store

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/farread/farread/objstore"
)

// maxEmpty is how many pages without a key may follow each other. Some stores page
// through keys that were deleted or lie outside the prefix.
const maxEmpty = 1000

// loops notices a listing that goes round in circles. It remembers one page, the first
// of 1, 2, 4, 8 … pages (Brent's algorithm): a circle of n pages is found within 3n, in
// memory that does not grow with the listing.
type loops struct {
	token string // the continuation token of the remembered page
	last  string // last key of the page; no other page of a correct listing has it
	seen  int    // pages since
	most  int    // number of pages after which another one is remembered
	empty int
}

// next checks a page that is not the last one.
func (l *loops) next(page *s3.ListObjectsV2Output) error {
	token := aws.ToString(page.NextContinuationToken)
	if token == "" {
		return fmt.Errorf("a page says that more follow, but not where: %w", objstore.ErrUnavailable)
	}
	n := len(page.Contents) + len(page.CommonPrefixes)
	l.empty++
	if n > 0 {
		l.empty = 0
	}
	last := lastOf(page)
	switch {
	case token == l.token:
		return fmt.Errorf("the listing goes round in circles: a continuation token came again: %w", objstore.ErrUnavailable)
	case n > 0 && last == l.last:
		return fmt.Errorf("the listing goes round in circles: a page came again: %w", objstore.ErrUnavailable)
	case l.empty > maxEmpty:
		return fmt.Errorf("%d pages of the listing without a key: %w", maxEmpty, objstore.ErrUnavailable)
	}
	l.seen++
	if l.seen > l.most {
		l.token, l.last = token, last
		l.seen, l.most = 0, max(1, 2*l.most)
	}
	return nil
}

// lastOf is the greatest key of a page, of objects and of folders.
func lastOf(page *s3.ListObjectsV2Output) (last string) {
	if n := len(page.Contents); n > 0 {
		last = aws.ToString(page.Contents[n-1].Key)
	}
	if n := len(page.CommonPrefixes); n > 0 {
		last = max(last, aws.ToString(page.CommonPrefixes[n-1].Prefix))
	}
	return last
}
