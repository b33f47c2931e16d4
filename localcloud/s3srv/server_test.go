package s3srv

import (
	"context"
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/farread/farread/localcloud/notify"
)

// The error of a port that is taken between FreeAddr and Serve differs from others.
func TestPortTakenMeanwhile(t *testing.T) {
	t.Chdir(".") // New changes it; the test puts it back
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s, err := New(t.Context(), Config{Dir: t.TempDir(), Addr: l.Addr().String(), AccessKey: "a", SecretKey: "b", Region: "us-east-1",
		Buckets: []string{"one"}, Emit: func(notify.Change) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(t.Context(), func() { t.Error("ready") }); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("got %v", err)
	}
	if _, err := FreeAddr(t.Context(), l.Addr().String()); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("FreeAddr: %v", err)
	}
}

func TestFreeAddr(t *testing.T) {
	for addr, ok := range map[string]bool{
		"127.0.0.1:0": true, "localhost:0": true, "[::1]:0": true, "0.0.0.0:0": false, ":0": false, "192.0.2.1:0": false, "127.0.0.1": false, "127.0.0.1:x": false,
	} {
		got, err := FreeAddr(context.Background(), addr)
		if addr == "[::1]:0" && err != nil {
			continue // a machine without IPv6
		}
		if (err == nil) != ok || strings.HasSuffix(got, ":0") {
			t.Errorf("%s: %q, %v", addr, got, err)
		}
	}
}
