package teststack

import (
	"context"
	"net/http"
	"os"
	"testing"
)

func TestRun(t *testing.T) {
	s := Run(t, Options{Buckets: []string{"one", "two"}})
	if s.Endpoint == "" || s.AccessKey == "" || s.SecretKey == "" || s.Region == "" || len(s.Buckets) != 2 {
		t.Fatalf("incomplete: %+v", s)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.Endpoint+"/one", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("a request without a signature: status %d, want 403", resp.StatusCode)
	}
	dir := s.tempDir
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("folder %s is still there: %v", dir, err)
	}
	if again, err := http.DefaultClient.Do(req); err == nil {
		again.Body.Close()
		t.Error("still answers after Stop")
	}
}

func TestStartFails(t *testing.T) {
	if s, err := Start(t.Context(), Options{Buckets: []string{"Not A Bucket"}}); err == nil {
		s.Stop()
		t.Error("a bad bucket name was taken")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s, err := Start(ctx, Options{}); err == nil {
		s.Stop()
		t.Error("started under a cancelled context")
	}
}
