package pack_test

import (
	"context"
	"errors"
	"testing"

	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

// tagged is a bucket whose answer about tags a test gives.
type tagged struct {
	objstore.Bucket

	tags map[string]string
	err  error
}

func (b tagged) Tags(_ context.Context, key, _ string) (map[string]string, error) {
	if b.err != nil {
		return nil, &objstore.Error{Op: "tags", Key: key, Err: b.err}
	}
	return b.tags, nil
}

// TestTags: labels come from tags. A store without tags, or one that hides them, gives
// none. A failure that may pass does not count as a store without tags.
func TestTags(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tags map[string]string
		err  error
		want string // meta_data; "": the failure stays
	}{
		"tags":   {tags: map[string]string{"label-split": "test"}, want: `[{"label":"walk","split":"test"}]`},
		"none":   {want: `[{"label":"walk"}]`},
		"hidden": {err: objstore.ErrDenied, want: `[{"label":"walk"}]`},
		"absent": {err: objstore.ErrInvalid, want: `[{"label":"walk"}]`},
		"gone":   {err: objstore.ErrNotFound},
		"busy":   {err: objstore.ErrThrottled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, out := memstore.New(memstore.Config{}), memstore.New(memstore.Config{})
			info := put(t, b, "x.tar", tarOf(t, clips(t)), nil)
			err := run(t, tagged{b, c.tags, c.err}, out, info, pack.Options{})
			if c.want == "" {
				if !errors.Is(err, c.err) {
					t.Error(err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := read(t, out, "x.tar").Meta["walk/w1"]; got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
