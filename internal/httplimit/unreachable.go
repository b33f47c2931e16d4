package httplimit

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"
)

// An Unreachable error tells that there was no connection, for a reason that does
// not pass: a refusal, an unknown host, an untrusted certificate.
type Unreachable struct {
	text  string
	again bool
}

// Error implements error.
func (e *Unreachable) Error() string { return e.text }

// RetryableError reports whether there may be another try.
func (e *Unreachable) RetryableError() bool { return e.again }

// unreachable turns errors of a server that cannot be reached into an Unreachable, and
// returns others as they are. A failure that may be over in a moment, such as a
// restart, may be tried again if it is the first.
func (o Options) unreachable(host string, err error, first bool) error {
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns):
		text := fmt.Sprintf("unknown host %s", dns.Name)
		if !dns.IsNotFound {
			text = fmt.Sprintf("host %s: %s", dns.Name, dns.Err)
		}
		if o.Place != "" {
			text += ": check the " + o.Place
		}
		return &Unreachable{text, first && !dns.IsNotFound}
	case untrusted(err):
		text := fmt.Sprintf("no trust in the certificate of %s: %v", host, err)
		if o.Roots != "" {
			text += " (CAs of your own: " + o.Roots + ")"
		}
		return &Unreachable{text, false}
	case noTLS(err):
		return &Unreachable{fmt.Sprintf("no TLS with %s: %v", host, err), false}
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENETUNREACH):
		return &Unreachable{err.Error(), first}
	}
	return err
}

// untrusted reports whether a certificate was looked at and refused.
func untrusted(err error) bool {
	var verification *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	return errors.As(err, &verification) || errors.As(err, &authority) || errors.As(err, &name) || errors.As(err, &invalid)
}

// noTLS reports whether the two sides could not agree on TLS.
func noTLS(err error) bool {
	var record tls.RecordHeaderError
	var alert tls.AlertError
	return errors.As(err, &record) || errors.As(err, &alert) || errors.Is(err, http.ErrSchemeMismatch)
}
