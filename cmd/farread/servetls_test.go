package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	bignum "math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// certificate writes a certificate for 127.0.0.1 that signs itself, and its key.
func certificate(t *testing.T, dir string) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: bignum.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	write(t, cert, text)
	write(t, key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return cert, key, pool
}

// over is a client that speaks HTTP/2 or not.
func over(pool *x509.CertPool, two bool) *http.Client {
	p := &http.Protocols{}
	p.SetHTTP2(two)
	p.SetHTTP1(!two)
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, Protocols: p}}
}

// TestServeTLS: the same answers over HTTP/2 and over HTTP/1.1; old TLS, plain HTTP and
// headers of a megabyte get none.
func TestServeTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key, pool := certificate(t, dir)
	long := bytes.Repeat([]byte("0123456789abcdef"), 10<<20/16)
	write(t, filepath.Join(dir, "data", "long.bin"), long)
	p, url := serving(t, "b="+bloscDir, "d="+filepath.Join(dir, "data"), "--tls-cert", cert, "--tls-key", key, "--quiet")
	if !strings.HasPrefix(url, "https://127.0.0.1:") {
		t.Fatal(url)
	}
	answers := map[string]string{}
	for _, proto := range []string{"HTTP/1.1", "HTTP/2.0"} {
		c := over(pool, proto == "HTTP/2.0")
		for _, path := range []string{"/slice/b/nd2.b2nd?s=0,:5&format=json", "/raw/d/long.bin", "/raw/d/none", "/slice/b/nd2.b2nd?s=9999", "/healthz"} {
			a := askOf(t, c, url+path, "")
			text := a.Status + a.Header.Get("Content-Type")
			body, err := io.ReadAll(a.Body)
			if a.Body.Close() != nil || err != nil || a.Proto != proto {
				t.Errorf("%s %s: %s, %v", proto, path, a.Proto, err)
			}
			if a.StatusCode == http.StatusOK {
				text += string(body)
			}
			if before, ok := answers[path]; ok && before != text {
				t.Errorf("%s: another answer over %s, %d bytes", path, proto, len(body))
			}
			answers[path] = text
		}
		head, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/healthz", nil)
		if err != nil {
			t.Fatal(err)
		}
		head.Header.Set("X-Long", strings.Repeat("x", 1<<20))
		if a, err := c.Do(head); err == nil {
			if a.Body.Close(); a.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
				t.Errorf("%s, a header of 1 MiB: %s", proto, a.Status)
			}
		}
		if a := askOf(t, c, url+"/healthz", ""); a.StatusCode != http.StatusOK || a.Body.Close() != nil {
			t.Errorf("%s, later: %s", proto, a.Status)
		}
		c.CloseIdleConnections()
	}
	if !strings.HasSuffix(answers["/raw/d/long.bin"], string(long)) {
		t.Error("other bytes")
	}
	old := &tls.Dialer{Config: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}}
	if c, err := old.DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "https://")); err == nil {
		_ = c.Close()
		t.Error("TLS 1.1 is answered")
	}
	if a := askOf(t, http.DefaultClient, "http"+strings.TrimPrefix(url, "https")+"/healthz", ""); a.StatusCode != http.StatusBadRequest || a.Body.Close() != nil {
		t.Errorf("plain HTTP: %s", a.Status)
	}
	p.signal(os.Interrupt)
	if code := p.wait(); code != exitOK || p.errs.String() != "" {
		t.Errorf("exit %d %s", code, p.errs.String())
	}
}

// askOf makes a GET, whose answer the caller closes.
func askOf(t *testing.T, c *http.Client, url, header string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if name, value, ok := strings.Cut(header, ": "); ok {
		r.Header.Set(name, value)
	}
	a, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestServeBadCertificate: a certificate and a key that are none, not there or not of each
// other are told in one line.
func TestServeBadCertificate(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), t.TempDir()
	cert, key, _ := certificate(t, dir)
	_, foreign, _ := certificate(t, other)
	none := filepath.Join(dir, "none.pem")
	write(t, none, []byte("no certificate\n"))
	for _, x := range []struct{ cert, key, want string }{
		{none, key, "certificate"}, {cert, none, "key"}, {cert, foreign, "private key does not match"}, {filepath.Join(dir, "absent"), key, "no such file"}, {key, cert, "certificate"},
	} {
		r := runner{}.run(t, "serve", bloscDir, "--addr", "127.0.0.1:0", "--tls-cert", x.cert, "--tls-key", x.key)
		if r.code != exitUsage || !strings.Contains(r.stderr, x.want) || strings.Count(r.stderr, "\n") != 1 || r.stdout != "" {
			t.Errorf("%s, %s: exit %d %s%s", x.cert, x.key, r.code, r.stdout, r.stderr)
		}
	}
}
