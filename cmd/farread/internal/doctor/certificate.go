package doctor

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http/httptrace"
	"strings"
	"sync"
	"time"

	"github.com/farread/farread/internal/human"
)

// A certificate is what a store behind TLS has shown, which is seen as connections are made.
type certificate struct {
	mu      sync.Mutex
	leaf    *x509.Certificate // nil: none was shown yet
	refused error             // why it is not trusted
}

// renewal is how long a certificate has to be good for, so that nobody needs to be warned.
const renewal = 14 * 24 * time.Hour

// watch returns a context whose requests tell c what the store shows.
func (c *certificate) watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(i httptrace.GotConnInfo) {
			if conn, ok := i.Conn.(*tls.Conn); ok {
				c.shown(conn.ConnectionState().PeerCertificates, nil)
			}
		},
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
			if untrusted, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
				c.shown(untrusted.UnverifiedCertificates, untrusted.Err)
			}
		},
	})
}

func (c *certificate) shown(list []*x509.Certificate, refused error) {
	if len(list) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leaf, c.refused = list[0], refused
}

// finding tells what was shown; ok is whether anything was. Roots is the variable that names
// CAs of one's own.
func (c *certificate) finding(roots string) (f Finding, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.leaf == nil {
		return f, false
	}
	f = Finding{Check: "certificate", Level: OK}
	issuer := "issued by " + cmp.Or(c.leaf.Issuer.CommonName, strings.Join(c.leaf.Issuer.Organization, ", "), "nobody who is named")
	if c.refused != nil {
		f.Level, f.Seen = Bad, fmt.Sprintf("%s: %v", issuer, c.refused)
		f.Means = "nothing can be read or written until its CA is trusted: set " + roots + " to a file with the CA in PEM"
		_, otherName := errors.AsType[x509.HostnameError](c.refused)
		if _, invalid := errors.AsType[x509.CertificateInvalidError](c.refused); otherName || invalid {
			f.Means = "nothing can be read or written until the store has a certificate that is good for this name and time"
		}
		return f, true
	}
	left := time.Until(c.leaf.NotAfter)
	f.Seen = fmt.Sprintf("%s, good for %s", issuer, human.Plural(int64(left/(24*time.Hour)), "day"))
	if left < renewal {
		f.Level, f.Means = Warning, "nothing can be read or written once it has expired: renew it"
	}
	return f, true
}
