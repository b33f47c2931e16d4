package functions_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/functions"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

// mute is a bucket that does not answer when it is asked for tags.
type mute struct{ objstore.Bucket }

func (mute) Tags(ctx context.Context, key, _ string) (map[string]string, error) {
	<-ctx.Done()
	return nil, &objstore.Error{Op: "tags", Key: key, Err: ctx.Err()}
}

// TestSickTags: waiting for the tags of an upload is waiting, too, and says nothing
// about its size, though all of the upload was read before.
func TestSickTags(t *testing.T) {
	t.Parallel()
	in, out := memstore.New(memstore.Config{Name: "mem://uploads"}), memstore.New(memstore.Config{Name: "mem://datasets"})
	p := tars()
	event := s3Event(record(p.key, put(t, in, p.key, p.upload(t, 1), nil), 1))
	synctest.Test(t, func(t *testing.T) {
		for n, c := range []struct {
			in   objstore.Bucket
			want functions.Result
		}{{mute{in}, functions.Result{Retry: 1}}, {mute{in}, functions.Result{Retry: 1}}, {mute{in}, functions.Result{Retry: 1}}, {in, functions.Result{Packed: 1}}} {
			begun := time.Now()
			r := minute(t, handlerOf(p, c.in, out), received(n+1, event))
			if r.Retry != c.want.Retry || r.Packed != c.want.Packed || r.Failed > 0 {
				t.Errorf("delivery %d, after %v: %+v, %v", n+1, time.Since(begun), r, r.Err)
			}
		}
	})
	p.check(t, in, out)
}
