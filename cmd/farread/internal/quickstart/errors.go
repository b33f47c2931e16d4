package quickstart

import (
	"fmt"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/objstore"
)

// A problem says what is wrong in words of its own and matches a sentinel that
// says what to do about it.
type problem struct {
	text string
	is   error
}

func (p *problem) Error() string { return p.text }
func (p *problem) Unwrap() error { return p.is }

// ErrMismatch is matched when bytes read back are not those of the source. It
// also matches formats.ErrCorrupt.
var ErrMismatch error = &problem{"not what was uploaded", formats.ErrCorrupt}

// errRefused: the function found the upload unfit.
var errRefused error = &problem{"the upload was refused", formats.ErrUnsupported}

// unavailable is a problem with a child or the machine: another try may help.
func unavailable(format string, a ...any) error {
	return &problem{fmt.Sprintf(format, a...), objstore.ErrUnavailable}
}
