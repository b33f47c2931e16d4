package doctor

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"strings"
	"testing"
	"time"
)

// TestCertificate: a certificate near its end is a warning, and what is advised for one that is refused is by the reason.
func TestCertificate(t *testing.T) {
	t.Parallel()
	leaf := func(left time.Duration) *x509.Certificate {
		return &x509.Certificate{Issuer: pkix.Name{CommonName: "Some CA"}, NotAfter: time.Now().Add(left + time.Hour)}
	}
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		leaf    *x509.Certificate
		refused error
		level   Level
		seen    string
		means   string
	}{
		"good":      {leaf(90 * day), nil, OK, "issued by Some CA, good for 90 days", ""},
		"soon over": {leaf(13 * day), nil, Warning, "issued by Some CA, good for 13 days", "renew it"},
		"unknown":   {leaf(day), x509.UnknownAuthorityError{}, Bad, "issued by Some CA: x509: certificate signed by unknown authority", "set CAS to a file"},
		"expired":   {leaf(-day), x509.CertificateInvalidError{Reason: x509.Expired}, Bad, "issued by Some CA: x509: certificate has expired", "name and time"},
		"other":     {leaf(day), x509.HostnameError{Certificate: leaf(day), Host: "store"}, Bad, "issued by Some CA: x509: certificate", "name and time"},
	} {
		shown := certificate{leaf: c.leaf, refused: c.refused}
		f, ok := shown.finding("CAS")
		if !ok || f.Check != "certificate" || f.Level != c.level || !strings.HasPrefix(f.Seen, c.seen) || !strings.Contains(f.Means, c.means) || (f.Means == "") != (c.means == "") {
			t.Errorf("%s: %+v", name, f)
		}
	}
	if f, ok := (&certificate{}).finding("CAS"); ok {
		t.Errorf("none: %+v", f)
	}
}
