package cframe

import (
	"slices"

	"github.com/farread/farread/formats"
)

// VLMetalayers returns the metalayers of the trailer, decoded, with the changes that were not
// committed yet; the index of the frame is none of them. It makes no request.
func (e *Editor) VLMetalayers() ([]Metalayer, error) {
	if e.err != nil {
		return nil, e.err
	}
	return decodeLayers(slices.Clone(e.vl), e.o.Limits, e.in.TypeSize, -1)
}

// SetMetalayer replaces the data of a metalayer of the header. data is copied.
// SetMetalayer returns ErrRefused if data is not exactly as long as before, and
// ErrNoEntry if the header has no metalayer of this name.
func (e *Editor) SetMetalayer(name string, data []byte) error {
	if e.err != nil {
		return e.err
	}
	for _, m := range e.metas {
		if m.Name != name {
			continue
		}
		if len(m.Data) != len(data) {
			return refuse("metalayers", "%q: %d bytes in place of %d", name, len(data), len(m.Data))
		}
		copy(m.Data, data) // aliases e.header
		e.meta, e.changed = true, true
		return nil
	}
	return fail("metalayers", -1, formats.ErrNoEntry, "%q", name)
}

// SetVLMetalayer adds a metalayer to the trailer, or replaces the one of the
// same name. It encodes data and does not keep it.
func (e *Editor) SetVLMetalayer(name string, data []byte) error {
	if e.err != nil {
		return e.err
	}
	m, err := encodeVL(name, data)
	if err != nil {
		return err
	}
	return e.setVL(setLayer(slices.Clone(e.vl), m))
}

// DeleteVLMetalayer removes a metalayer from the trailer. It returns ErrNoEntry
// if the trailer has none of this name.
func (e *Editor) DeleteVLMetalayer(name string) error {
	if e.err != nil {
		return e.err
	}
	vl := slices.DeleteFunc(slices.Clone(e.vl), func(m Metalayer) bool { return m.Name == name })
	if len(vl) == len(e.vl) {
		return fail("vlmetalayers", -1, formats.ErrNoEntry, "%q", name)
	}
	return e.setVL(vl)
}

func (e *Editor) setVL(vl []Metalayer) error {
	if err := checkTrailer(vl); err != nil {
		return err
	}
	e.vl, e.changed = vl, true
	return nil
}
