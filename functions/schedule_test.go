package functions_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/objstore"
)

// A conductor lets actors reach their stores one request at a time, in an order that a
// path decides. All of it runs in virtual time: when every actor waits for its turn or
// for its next try, one of the waiting actors gets its turn.
type conductor struct {
	path *path
	mu   sync.Mutex
	wait []*turn
	last int // the actor that had its turn last
	log  []string
}

// A turn is a request that waits for its turn.
type turn struct {
	actor int
	what  string
	now   chan struct{}
}

// turn waits for the actor's turn.
func (c *conductor) turn(ctx context.Context, actor int, what string) error {
	t := &turn{actor, what, make(chan struct{})}
	c.mu.Lock()
	c.wait = append(c.wait, t)
	c.mu.Unlock()
	select {
	case <-t.now:
		return nil
	case <-ctx.Done():
		c.mu.Lock()
		defer c.mu.Unlock()
		c.wait = slices.DeleteFunc(c.wait, func(o *turn) bool { return o == t })
		return ctx.Err()
	}
}

// conduct gives turns until every actor is done. It calls after behind each turn, when
// the actor waits again.
func (c *conductor) conduct(done <-chan struct{}, after func()) {
	for {
		time.Sleep(time.Second) // no pause before another try is longer
		synctest.Wait()
		after()
		select {
		case <-done:
			return
		default:
		}
		if t := c.next(); t != nil {
			close(t.now)
		}
	}
}

// next takes the turn that the path chooses. The first choice is the actor that had
// the last turn.
func (c *conductor) next() *turn {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.wait) == 0 {
		return nil
	}
	slices.SortFunc(c.wait, func(a, b *turn) int {
		return cmpTurns(a, b, c.last)
	})
	var actors []int
	for _, t := range c.wait {
		if !slices.Contains(actors, t.actor) {
			actors = append(actors, t.actor)
		}
	}
	actor := actors[c.path.choose(len(actors), actors[0] == c.last)]
	i := slices.IndexFunc(c.wait, func(t *turn) bool { return t.actor == actor })
	t := c.wait[i]
	c.wait = slices.Delete(c.wait, i, i+1)
	c.last = actor
	c.log = append(c.log, fmt.Sprintf("%c %s", 'A'+actor, t.what))
	return t
}

func cmpTurns(a, b *turn, last int) int {
	rank := func(t *turn) int {
		if t.actor == last {
			return -1
		}
		return t.actor
	}
	if d := rank(a) - rank(b); d != 0 {
		return d
	}
	return strings.Compare(a.what, b.what)
}

// A path is a sequence of choices. With rng they are random. Without it, next tries
// all sequences that leave an actor that could go on at most twice.
type path struct {
	rng     *rand.Rand
	taken   []int // so far, in this run
	sizes   []int
	plan    []int // the first choices are given
	left    int   // how often an actor may still be left
	started bool
}

const mostLeft = 2

func (p *path) choose(n int, stays bool) int {
	if p.rng != nil {
		if stays && p.rng.IntN(3) > 0 {
			return 0
		}
		return p.rng.IntN(n)
	}
	if stays && p.left == 0 {
		n = 1
	}
	k := 0
	if len(p.taken) < len(p.plan) {
		k = p.plan[len(p.taken)]
	}
	p.taken, p.sizes = append(p.taken, k), append(p.sizes, n)
	if stays && k > 0 {
		p.left--
	}
	return k
}

// next begins the next path, or says that there is none.
func (p *path) next() bool {
	if !p.started {
		p.started, p.left = true, mostLeft
		return true
	}
	for i := len(p.taken) - 1; i >= 0; i-- {
		if p.taken[i]+1 < p.sizes[i] {
			p.plan = append(slices.Clone(p.taken[:i]), p.taken[i]+1)
			p.taken, p.sizes, p.left = nil, nil, mostLeft
			return true
		}
	}
	return false
}

// conducted is a bucket as one actor sees it.
type conducted struct {
	objstore.Bucket
	c     *conductor
	actor int
}

func (b conducted) Get(ctx context.Context, key string, o objstore.GetOptions) (io.ReadCloser, objstore.Info, error) {
	if err := b.c.turn(ctx, b.actor, "get "+key); err != nil {
		return nil, objstore.Info{}, err
	}
	return b.Bucket.Get(ctx, key, o)
}

func (b conducted) Head(ctx context.Context, key string) (objstore.Info, error) {
	if err := b.c.turn(ctx, b.actor, "head "+key); err != nil {
		return objstore.Info{}, err
	}
	return b.Bucket.Head(ctx, key)
}

func (b conducted) Delete(ctx context.Context, key string) error {
	if err := b.c.turn(ctx, b.actor, "delete "+key); err != nil {
		return err
	}
	return b.Bucket.Delete(ctx, key)
}

func (b conducted) DeleteIf(ctx context.Context, key, etag string) error {
	if err := b.c.turn(ctx, b.actor, "delete "+key); err != nil {
		return err
	}
	return objstore.DeleteIf(ctx, b.Bucket, key, etag)
}

func (b conducted) List(ctx context.Context, prefix string) iter.Seq2[objstore.Info, error] {
	return func(yield func(objstore.Info, error) bool) {
		if err := b.c.turn(ctx, b.actor, "list "+prefix); err != nil {
			yield(objstore.Info{}, err)
			return
		}
		b.Bucket.List(ctx, prefix)(yield)
	}
}

func (b conducted) Create(ctx context.Context, key string, o objstore.PutOptions) (objstore.Writer, error) {
	w, err := b.Bucket.Create(ctx, key, o)
	return conductedWriter{w, b, key}, err
}

type conductedWriter struct {
	objstore.Writer
	b   conducted
	key string
}

func (w conductedWriter) Commit(ctx context.Context) (objstore.Info, error) {
	if err := w.b.c.turn(ctx, w.b.actor, "put "+w.key); err != nil {
		return objstore.Info{}, err
	}
	return w.Writer.Commit(ctx)
}

// TestConductor: the paths of two actors are complete, and the stores see them one
// after the other.
func TestConductor(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for p := (&path{}); p.next(); {
		synctest.Test(t, func(t *testing.T) {
			c := &conductor{path: p, last: -1}
			done := make(chan struct{})
			var all sync.WaitGroup
			for actor := range 2 {
				all.Go(func() {
					for i := range 2 {
						if err := c.turn(t.Context(), actor, fmt.Sprint(i)); err != nil {
							t.Error(err)
						}
					}
				})
			}
			go func() { all.Wait(); close(done) }()
			c.conduct(done, func() {})
			seen[strings.Join(c.log, " ")] = true
		})
	}
	if len(seen) != 6 { // 4 over 2
		t.Errorf("%d orders: %v", len(seen), seen)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (&conductor{}).turn(ctx, 0, "x"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
