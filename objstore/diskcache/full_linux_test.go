package diskcache

import (
	"fmt"
	"log/slog"
	"syscall"
	"testing"

	"github.com/farread/farread/rangeio"
)

// TestFullDisk is TestFull on a file system that is really full. It needs the right to
// mount one.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m,mode=0700"); err != nil {
		t.Skip("mount:", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	var log warnings
	c := open(t, Config{Dir: dir, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for i := range 40 {
		key := fmt.Sprint("k", i)
		in := object(key, 1, 100_000)
		k := c.Place("p").Version(in)
		k.Keep([]rangeio.Span{content(key, 1, span(0, 100_000))})
		k.Seen("", in)
		if n := kept(t, k, key, 1, span(0, 100_000)); n != 100_000 && i < 5 {
			t.Errorf("%s: %d bytes", key, n)
		}
	}
	if log.count() != 1 {
		t.Errorf("warnings: %q", log.String())
	}
	if err := c.Clear(); err != nil {
		t.Error(err)
	}
}
