package zarr

import (
	"fmt"

	"github.com/farread/farread/formats"
)

// Format is the name of the format in errors.
const Format = "zarr"

func fail(part string, class error, format string, args ...any) error {
	return &formats.Error{Format: Format, Part: part, Off: -1, Err: fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), class)}
}

func corrupt(part, format string, args ...any) error {
	return fail(part, formats.ErrCorrupt, format, args...)
}

func unsupported(part, format string, args ...any) error {
	return fail(part, formats.ErrUnsupported, format, args...)
}

// within adds to an error where it happened.
func within(part string, err error) error {
	if err == nil {
		return nil
	}
	e, ok := err.(*formats.Error) //nolint:errorlint // only the outermost is of this place
	if !ok || e.Format != Format {
		return &formats.Error{Format: Format, Part: part, Off: -1, Err: err}
	}
	if e.Part != "" {
		part += ": " + e.Part
	}
	return &formats.Error{Format: Format, Part: part, Off: e.Off, Err: e.Err}
}
