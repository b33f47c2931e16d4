package bloscpack_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/farread/farread/formats/bloscpack"
)

var errDisk = errors.New("disk error")

// failing is a file. Its call number fail fails, after half of the bytes to write.
type failing struct {
	memFile
	calls, fail int
}

func (f *failing) bad() bool {
	f.calls++
	return f.calls == f.fail
}

func (f *failing) WriteAt(p []byte, off int64) (int, error) {
	if f.bad() {
		n, err := f.memFile.WriteAt(p[:len(p)/2], off)
		return n, errors.Join(err, errDisk)
	}
	return f.memFile.WriteAt(p, off)
}

func (f *failing) Truncate(n int64) error {
	if f.bad() {
		return errDisk
	}
	return f.memFile.Truncate(n)
}

func (f *failing) Sync() error {
	if f.bad() {
		return errDisk
	}
	return nil
}

// TestEditFaults lets each call to the file fail in turn. Then either Close succeeds
// and all data are there, also after Abort, or Abort brings the old file back.
func TestEditFaults(t *testing.T) {
	t.Parallel()
	data, more := samples(2500), samples(3300)[100:]
	good := write(t, bloscpack.WriteOptions{ChunkSize: 1000, Encode: encodeLZ4(), Metadata: "some metadata"}, [][]byte{data})
	for name, add := range map[string][]byte{"filled": more[:200], "new chunks": more, "metadata alone": nil} {
		closed := 0
		for fail := 1; closed < 2; fail++ { // once without a fault
			f := &failing{memFile: memFile{bytes.Clone(good)}, fail: fail}
			e, err := bloscpack.Edit(t.Context(), f, int64(len(good)), bloscpack.EditOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if err = e.Extend(add); err == nil {
				if err = e.SetMetadata("other"); err == nil {
					err = e.Close()
				}
			}
			if abort := e.Abort(); abort != nil {
				t.Errorf("%s, call %d: %v, then %v", name, fail, err, abort)
			}
			if err != nil {
				if !errors.Is(err, errDisk) || !bytes.Equal(f.b, good) {
					t.Errorf("%s, call %d: %v, the old file is not back", name, fail, err)
				}
				continue
			}
			if closed++; f.calls < fail {
				closed = 2
			}
			file := open(t, f.b, bloscpack.Options{})
			got, err := collect(t.Context(), file)
			if want := append(bytes.Clone(data), add...); err != nil || !bytes.Equal(bytes.Join(got, nil), want) || string(file.Metadata()) != `"other"` {
				t.Errorf("%s, call %d: %s, %v", name, fail, file.Metadata(), err)
			}
		}
	}
}
