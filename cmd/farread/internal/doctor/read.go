package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/objstore"
)

// reads are the checks of reading. They begin with what finds the object.
func (p *patient) reads() []check {
	list := []check{
		{"range", "nothing can be read: farread asks for ranges only", "", p.ranged},
		{"range behind the end", "reading on in a file that grows may fail", "", p.behind},
		{"range from the end", "a file is opened with one request more", "", p.suffix},
		{"ETag", "a file that is replaced while it is read cannot be told from the old one by a strong ETag; by its date it can", "", p.tagged},
		{"If-Match on reads", "a file that is replaced while it is read may give bytes of both", "nothing can be read", p.pinned},
		{"latency", "", "", p.latency},
		{"16 requests at a time", "slow bulk reads", "", p.together},
	}
	if p.o.ReadOnly {
		return append([]check{{"find", "nothing can be read", "", p.find}}, list...)
	}
	return list
}

// find looks for the object of a check that only reads.
func (p *patient) find(ctx context.Context) (Level, string, error) {
	in, err := p.b.Head(ctx, p.o.Key)
	if err != nil {
		return "", "", stopError{err}
	}
	if p.probe = in; in.Size < 2 {
		return Bad, "", stopError{fmt.Errorf("an object of %s, and two bytes at least are needed: %w", human.Size(in.Size), objstore.ErrInvalid)}
	}
	return OK, human.Size(in.Size), nil
}

// get reads a range of the object.
func (p *patient) get(ctx context.Context, o objstore.GetOptions) ([]byte, objstore.Info, error) {
	r, in, err := p.b.Get(ctx, p.probe.Key, o)
	if err != nil {
		return nil, in, err
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	return data, in, err
}

// most bounds what is read of an object that is not ours.
const most = 1 << 10

// same compares bytes with those that were written, if they are known.
func (p *patient) same(got []byte, off int64) error {
	if p.data != nil && !bytes.Equal(got, p.data[off:off+int64(len(got))]) {
		return errors.New("other bytes than were written")
	}
	return nil
}

func (p *patient) ranged(ctx context.Context) (Level, string, error) {
	n := min(p.probe.Size-1, most)
	got, in, err := p.get(ctx, objstore.GetOptions{Range: objstore.Range{Off: 1, Len: n}})
	switch {
	case err != nil:
		return "", "", err
	case int64(len(got)) != n || in.Size != p.probe.Size:
		return "", "", fmt.Errorf("%d bytes of %d, instead of %d of %d", len(got), in.Size, n, p.probe.Size)
	}
	return OK, fmt.Sprintf("%d bytes from the second one on", n), p.same(got, 1)
}

func (p *patient) behind(ctx context.Context) (Level, string, error) {
	_, _, err := p.get(ctx, objstore.GetOptions{Range: objstore.Range{Off: p.probe.Size + 10, Len: 10}})
	if err == nil {
		return Warning, "bytes", nil
	}
	if errors.Is(err, objstore.ErrBadRange) {
		return OK, "refused, as it should be", nil
	}
	return Warning, "", err
}

func (p *patient) suffix(ctx context.Context) (Level, string, error) {
	n := min(p.probe.Size, most)
	got, in, err := p.get(ctx, objstore.GetOptions{Range: objstore.Range{Off: -n}})
	switch {
	case err != nil:
		return Warning, "", err
	case int64(len(got)) != n || in.Size != p.probe.Size:
		return Warning, fmt.Sprintf("%d bytes of %d, instead of the last %d of %d", len(got), in.Size, n, p.probe.Size), nil
	}
	return OK, fmt.Sprintf("the last %d bytes", n), p.same(got, p.probe.Size-n)
}

func (p *patient) tagged(context.Context) (Level, string, error) {
	switch tag := p.probe.ETag; {
	case tag == "":
		return Warning, "none", nil
	case strings.HasPrefix(tag, "W/"):
		return Warning, "a weak one", nil
	default:
		return OK, tag, nil
	}
}

func (p *patient) pinned(ctx context.Context) (Level, string, error) {
	if p.probe.ETag == "" || strings.HasPrefix(p.probe.ETag, "W/") {
		return Skipped, "there is no strong ETag", nil
	}
	r := objstore.Range{Off: 0, Len: 1}
	if _, _, err := p.get(ctx, objstore.GetOptions{Range: r, IfMatch: p.probe.ETag}); err != nil {
		return "", "", fmt.Errorf("with the right ETag: %w", err)
	}
	_, _, err := p.get(ctx, objstore.GetOptions{Range: r, IfMatch: `"0123456789abcdef0123456789abcdef"`})
	switch {
	case err == nil:
		return Bad, "another ETag is not noticed", nil
	case errors.Is(err, objstore.ErrChanged):
		return OK, "another ETag is refused", nil
	}
	return "", "", err
}

// asked is how many requests are timed.
const asked = 16

func (p *patient) timed(ctx context.Context) (time.Duration, error) {
	begun := time.Now()
	_, _, err := p.get(ctx, objstore.GetOptions{Range: objstore.Range{Off: 0, Len: min(p.probe.Size, most)}})
	return time.Since(begun), err
}

func (p *patient) latency(ctx context.Context) (Level, string, error) {
	var all []time.Duration
	for range asked {
		d, err := p.timed(ctx)
		if err != nil {
			return "", "", err
		}
		all = append(all, d)
	}
	slices.Sort(all)
	return Note, fmt.Sprintf("%s a request in the middle, %s at most, of %d", spelt(all[asked/2]), spelt(all[asked-1]), asked), nil
}

func (p *patient) together(ctx context.Context) (Level, string, error) {
	begun := time.Now()
	g, ctx := errgroup.WithContext(ctx)
	for range asked {
		g.Go(func() error {
			_, err := p.timed(ctx)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return Warning, "", err
	}
	return Note, fmt.Sprintf("%s for all %d", spelt(time.Since(begun)), asked), nil
}

// spelt is a time with a unit that suits it.
func spelt(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
	case d < 10*time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%d s", int(d.Seconds()))
}
