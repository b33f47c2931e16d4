package doctor

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/farread/farread/objstore"
)

// begins are the checks before those of reading: they make the object that is read.
func (p *patient) begins() []check {
	return []check{
		{"look", "no object can be told from one that is not there: jobs that look whether an output exists fail", "", p.look},
		{"write", "nothing can be packed", "", p.write},
		{"metadata", "outputs of farread's jobs are not known as such: they may be taken for uploads", "", p.metadata},
		{"clock", "signatures are refused once the clocks are 15 minutes apart", "", p.clock},
		{"versions", "", "", p.versions},
	}
}

// What it means that a store refuses a condition.
const (
	noPack   = "packing fails; with --force it overwrites what is there, so let one writer at a time pack to a name"
	noAppend = "appends fail; pack the whole again"
)

// writes are the checks of writing.
func (p *patient) writes() []check {
	return []check{
		{"If-None-Match on writes", "an output that somebody else has just made is overwritten", noPack, p.absent},
		{"If-None-Match, several at once", "two writers of one output may both think that they made it; let one writer at a time pack to a name", noPack, p.raceAbsent},
		{"If-Match on writes", "appends may lose what another one appended meanwhile; let one writer at a time append to a file", noAppend, p.replace},
		{"If-Match, several at once", "of appends at the same time one may be lost; let one writer at a time append to a file", noAppend, p.raceReplace},
		{"upload in parts", "nothing longer than 13 MiB can be written", "", p.parts},
		{"copy of parts", "appends to files of more than 5 MiB fail; or if nothing is copied, send the whole file again", "", p.splice},
		{"If-None-Match, in parts", "an output of more than 13 MiB that somebody else has just made is overwritten", noPack, p.partsAbsent},
		{"If-Match, in parts", "appends to files of more than 5 MiB may lose what another one appended meanwhile; let one writer at a time append to a file", noAppend, p.partsReplace},
		{"list", "folders are not found as they are", "", p.list},
		{"delete", "outputs of uploads that are gone stay", "", p.remove},
		{"If-Match on deletes", "an output that was replaced in the same moment may be removed; farread looks first, which leaves a short gap", "", p.removeIf},
	}
}

// key is the key of an object of ours.
func (p *patient) key(name string) string {
	key := p.dir + name
	p.made[key] = true
	return key
}

// put writes an object of ours.
func (p *patient) put(ctx context.Context, key string, data []byte, o objstore.PutOptions) (objstore.Info, error) {
	return objstore.Put(ctx, p.b, key, bytes.NewReader(data), o)
}

// holds compares an object with bytes.
func (p *patient) holds(ctx context.Context, key string, want []byte) error {
	r, _, err := p.b.Get(ctx, key, objstore.GetOptions{})
	if err != nil {
		return err
	}
	defer r.Close()
	got, err := io.ReadAll(r)
	if err == nil && !bytes.Equal(got, want) {
		err = fmt.Errorf("%d bytes, not the %d that were written", len(got), len(want))
	}
	return err
}

// noise returns bytes that look different everywhere, and for each seed.
func noise(n int, seed uint32) []byte {
	var key [32]byte
	binary.LittleEndian.PutUint32(key[:], seed)
	p := make([]byte, n)
	_, _ = rand.NewChaCha8(key).Read(p) // never fails
	return p
}

func (p *patient) look(ctx context.Context) (Level, string, error) {
	_, err := p.b.Head(ctx, p.dir+"none")
	switch {
	case err == nil:
		return Bad, "an object that nobody made is there", nil
	case errors.Is(err, objstore.ErrNotFound):
		return OK, "what is not there is not found", nil
	case errors.Is(err, objstore.ErrDenied):
		return Warning, "what is not there looks denied: the right to list (s3:ListBucket) is missing, or all rights", nil
	}
	return "", "", stopError{err}
}

func (p *patient) write(ctx context.Context) (Level, string, error) {
	data := noise(10_000, 1)
	in, err := p.put(ctx, p.dir+"small", data, objstore.PutOptions{ContentType: "application/x-farread", Meta: map[string]string{"farread-doctor": "Käse 1"}})
	if err == nil || errors.Is(err, objstore.ErrUnavailable) || ctx.Err() != nil { // it may be there
		p.made[p.dir+"small"] = true
	}
	if err != nil {
		return "", "", stopError{err}
	}
	head, err := p.b.Head(ctx, p.dir+"small")
	if err != nil {
		return "", "", stopError{fmt.Errorf("written, but: %w", err)}
	}
	p.probe, p.data = head, data
	if in.ETag != "" && in.ETag != head.ETag {
		return Warning, fmt.Sprintf("the ETag %s became %s", in.ETag, head.ETag), nil
	}
	return OK, "10 kB, and found at once", p.holds(ctx, head.Key, data)
}

func (p *patient) metadata(context.Context) (Level, string, error) {
	want := map[string]string{"farread-doctor": "Käse 1"}
	switch {
	case !maps.Equal(p.probe.Meta, want):
		return Bad, fmt.Sprintf("%q came back as %q", want, p.probe.Meta), nil
	case p.probe.ContentType != "application/x-farread":
		return Warning, fmt.Sprintf("the content type came back as %q", p.probe.ContentType), nil
	}
	return OK, "kept, with the content type", nil
}

// Clocks may be so far apart; S3 refuses signatures of another quarter of an hour.
const (
	goodClock = 5 * time.Second
	badClock  = 10 * time.Minute
)

func (p *patient) clock(context.Context) (Level, string, error) {
	if p.probe.ModTime.IsZero() {
		return Skipped, "the store says no times", nil
	}
	d := time.Since(p.probe.ModTime)
	text := fmt.Sprintf("%s apart", spelt(d.Abs().Round(time.Second)))
	switch {
	case d.Abs() > badClock:
		return Bad, text, nil
	case d.Abs() > goodClock:
		return Warning, text, nil
	}
	return OK, "less than 5 s apart", nil
}

func (p *patient) versions(context.Context) (Level, string, error) {
	if p.probe.VersionID == "" {
		return Note, "none are kept", nil
	}
	return Note, "kept: what this run removes stays as old versions, until a lifecycle rule removes them", nil
}

func (p *patient) absent(ctx context.Context) (Level, string, error) {
	_, err := p.put(ctx, p.probe.Key, noise(100, 2), objstore.PutOptions{IfAbsent: true})
	switch {
	case err == nil:
		p.data = nil
		return Bad, "an object that was there was overwritten", nil
	case errors.Is(err, objstore.ErrExists):
		return OK, "what is there stays", p.holds(ctx, p.probe.Key, p.data)
	}
	return "", "", err
}

// race lets writers write different bytes to one name, and returns how many were told that
// theirs are there. The bytes that are there must be those of one of them.
func (p *patient) race(ctx context.Context, key string, o objstore.PutOptions, seed uint32) (won int, err error) {
	ready := make([]objstore.Writer, p.o.Racers)
	defer func() {
		for _, w := range ready {
			if w != nil {
				w.Abort()
			}
		}
	}()
	for i := range ready {
		if ready[i], err = p.b.Create(ctx, key, o); err != nil {
			return 0, err
		}
		if _, err := ready[i].Write(noise(1000, seed+uint32(i))); err != nil {
			return 0, err
		}
	}
	errs, done, begin := make([]error, len(ready)), make(chan int), make(chan struct{})
	for i, w := range ready {
		go func() {
			<-begin
			_, errs[i] = w.Commit(ctx)
			done <- i
		}()
	}
	close(begin)
	for range ready {
		<-done
	}
	fits := errors.New("the bytes of nobody who won")
	for i, e := range errs {
		switch {
		case e == nil:
			won++
			if p.holds(ctx, key, noise(1000, seed+uint32(i))) == nil {
				fits = nil
			}
		case !errors.Is(e, objstore.ErrExists) && !errors.Is(e, objstore.ErrChanged):
			return won, e
		}
	}
	if won == 0 {
		return 0, errors.New("nobody won")
	}
	return won, fits
}

// races makes some races, each of which makes the conditions of the next one.
func (p *patient) races(ctx context.Context, one func(round int) (won int, err error)) (Level, string, error) {
	var all []int
	for round := range p.o.Rounds {
		won, err := one(round)
		if err != nil {
			return "", "", err
		}
		all = append(all, won)
		if ctx.Err() != nil {
			return "", "", context.Cause(ctx)
		}
	}
	if slices.Max(all) == 1 {
		return OK, fmt.Sprintf("one of %d won, in each of %d rounds", p.o.Racers, p.o.Rounds), nil
	}
	return Bad, fmt.Sprintf("not atomic: of %d writers %d and more won in a round: %v", p.o.Racers, slices.Max(all), all), nil
}

func (p *patient) raceAbsent(ctx context.Context) (Level, string, error) {
	return p.races(ctx, func(round int) (int, error) {
		return p.race(ctx, p.key(fmt.Sprintf("race-%d", round)), objstore.PutOptions{IfAbsent: true}, uint32(1000*(round+1)))
	})
}

// replaces replaces what is at key, with the right ETag and then with one that is no longer
// right. write gets another n each time, and returns the bytes that it sent.
func (p *patient) replaces(ctx context.Context, key string, write func(n uint32, o objstore.PutOptions) ([]byte, error)) (Level, string, error) {
	in, err := p.b.Head(ctx, key)
	if err != nil {
		return "", "", err
	}
	o := objstore.PutOptions{IfMatch: in.ETag}
	data, err := write(2, o)
	if err != nil {
		return "", "", fmt.Errorf("with the right ETag: %w", err)
	}
	_, err = write(3, o)
	switch {
	case err == nil:
		return Bad, "an object with another ETag was overwritten", nil
	case errors.Is(err, objstore.ErrChanged):
		return OK, "what has another ETag stays", p.holds(ctx, key, data)
	}
	return "", "", err
}

func (p *patient) replace(ctx context.Context) (Level, string, error) {
	key := p.key("replaced")
	if _, err := p.put(ctx, key, noise(100, 3), objstore.PutOptions{}); err != nil {
		return "", "", err
	}
	return p.replaces(ctx, key, func(n uint32, o objstore.PutOptions) ([]byte, error) {
		data := noise(100*int(n), 2+n)
		_, err := p.put(ctx, key, data, o)
		return data, err
	})
}

func (p *patient) raceReplace(ctx context.Context) (Level, string, error) {
	key := p.key("raced")
	if _, err := p.put(ctx, key, noise(100, 6), objstore.PutOptions{}); err != nil {
		return "", "", err
	}
	return p.races(ctx, func(round int) (int, error) {
		in, err := p.b.Head(ctx, key)
		if err != nil {
			return 0, err
		}
		return p.race(ctx, key, objstore.PutOptions{IfMatch: in.ETag}, uint32(1000*(round+100)))
	})
}

// What S3 gets in parts: a driver sends up to 13 MiB by one PUT. The parts have 5, 8 and 1 MiB,
// or with a copy 5, 6 and 1, since not every store takes parts of different lengths.
const (
	long   = objstore.HeadSize + 9<<20
	middle = 6 << 20
	end    = 1 << 20
)

func (p *patient) parts(ctx context.Context) (Level, string, error) {
	key, data := p.key("parts"), noise(long, 7)
	if _, err := p.put(ctx, key, data, objstore.PutOptions{}); err != nil {
		return "", "", err
	}
	p.long = true
	return OK, "14 MiB in parts of 5, 8 and 1", p.holds(ctx, key, data)
}

// spliced writes an object in parts, the second of which the store copies, and returns its bytes
// and how many of them were copied.
func (p *patient) spliced(ctx context.Context, key string, seed uint32, o objstore.PutOptions) (data []byte, copied int64, err error) {
	src, err := objstore.Open(ctx, p.b, p.dir+"parts", objstore.OpenOptions{})
	if err != nil {
		return nil, 0, err
	}
	part, err := io.ReadAll(src.NewReader(ctx, objstore.ReadOptions{Len: middle}))
	if err != nil {
		return nil, 0, err
	}
	data = slices.Concat(noise(objstore.HeadSize, seed), part, noise(end, seed+1))
	w, err := p.b.Create(ctx, key, o)
	if err != nil {
		return nil, 0, err
	}
	defer w.Abort()
	if _, err := w.Write(data[:objstore.HeadSize]); err != nil {
		return nil, 0, err
	}
	if copied, err = objstore.Splice(ctx, w, src, objstore.Range{Len: middle}); err != nil {
		return nil, 0, err
	}
	if _, err := w.Write(data[len(data)-end:]); err != nil {
		return nil, 0, err
	}
	_, err = w.Commit(ctx)
	return data, copied, err
}

func (p *patient) splice(ctx context.Context) (Level, string, error) {
	if !p.long {
		return Skipped, noParts, nil
	}
	key := p.key("copied")
	data, n, err := p.spliced(ctx, key, 9, objstore.PutOptions{})
	switch {
	case err != nil:
		return "", "", err
	case n == 0:
		return Warning, "the store copies nothing", nil
	}
	p.copies = true
	return OK, "6 MiB without sending them", p.holds(ctx, key, data)
}

// noParts is why what needs an object in parts could not be tried.
const noParts = "there are no uploads in parts"

// inParts writes an object in parts. What the store can copy is not sent.
func (p *patient) inParts(ctx context.Context, key string, seed uint32, o objstore.PutOptions) (data []byte, err error) {
	if p.copies {
		data, _, err = p.spliced(ctx, key, seed, o)
		return data, err
	}
	data = noise(long, seed)
	_, err = p.put(ctx, key, data, o)
	return data, err
}

func (p *patient) partsAbsent(ctx context.Context) (Level, string, error) {
	if !p.long {
		return Skipped, noParts, nil
	}
	_, err := p.inParts(ctx, p.dir+"parts", 20, objstore.PutOptions{IfAbsent: true})
	switch {
	case err == nil:
		return Bad, "an object that was there was overwritten", nil
	case errors.Is(err, objstore.ErrExists):
		return OK, "what is there stays", nil
	}
	return "", "", err
}

func (p *patient) partsReplace(ctx context.Context) (Level, string, error) {
	if !p.long {
		return Skipped, noParts, nil
	}
	key := p.dir + "parts"
	return p.replaces(ctx, key, func(n uint32, o objstore.PutOptions) ([]byte, error) { return p.inParts(ctx, key, 10+10*n, o) })
}

// names are odd ones, in the order of their bytes.
func names() []string {
	return []string{"list/a b", "list/a%20b", "list/a+b", "list/a/b", "list/ä", "list/日本"}
}

func (p *patient) list(ctx context.Context) (Level, string, error) {
	var want []string
	for _, name := range names() {
		key := p.key(name)
		if _, err := p.put(ctx, key, []byte(name), objstore.PutOptions{}); err != nil {
			return Warning, "", fmt.Errorf("%q: %w", name, err)
		}
		want = append(want, key)
	}
	var got []string
	for in, err := range p.b.List(ctx, p.dir+"list/") {
		if err != nil {
			return "", "", err
		}
		got = append(got, in.Key)
	}
	if !slices.Equal(got, want) {
		return Bad, fmt.Sprintf("%q were listed as %q", want, got), nil
	}
	return OK, "all that was written, in order, with blanks, plus and percent signs", nil
}

func (p *patient) remove(ctx context.Context) (Level, string, error) {
	key := p.dir + names()[0]
	if err := p.b.Delete(ctx, key); err != nil {
		return Warning, "", err
	}
	switch _, err := p.b.Head(ctx, key); {
	case err == nil:
		return Bad, "removed, and still there", nil
	case !errors.Is(err, objstore.ErrNotFound) && !errors.Is(err, objstore.ErrDenied):
		return "", "", fmt.Errorf("once removed: %w", err)
	}
	if err := p.b.Delete(ctx, key); err != nil {
		return Warning, "", fmt.Errorf("a second time: %w", err)
	}
	return OK, "gone at once", nil
}

func (p *patient) removeIf(ctx context.Context) (Level, string, error) {
	key := p.dir + names()[1]
	in, err := p.b.Head(ctx, key)
	if err != nil {
		return "", "", err
	}
	err = objstore.DeleteIf(ctx, p.b, key, p.probe.ETag)
	_, after := p.b.Head(ctx, key)
	switch {
	case errors.Is(after, objstore.ErrNotFound):
		return Warning, "what has another ETag was removed", nil
	case after != nil:
		return "", "", after
	case err == nil:
		return Warning, "what has another ETag stays, but is called removed", nil
	case !errors.Is(err, objstore.ErrChanged):
		return Warning, "", err
	}
	if err := objstore.DeleteIf(ctx, p.b, key, in.ETag); err != nil {
		return Warning, "", fmt.Errorf("with the right ETag: %w", err)
	}
	return OK, "what has another ETag stays", nil
}
