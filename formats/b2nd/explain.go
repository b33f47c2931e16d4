package b2nd

import "github.com/farread/farread/rangeio"

// Explain lists the requests that ReadSlice would make for a box, without making
// any; places inside of chunks are estimated. A cache counts as empty. See
// cframe.Frame.Explain.
func (a *Array) Explain(box Box) ([]rangeio.Planned, error) {
	n, err := a.SizeOf(box)
	if err != nil || n == 0 {
		return nil, err
	}
	var out []rangeio.Planned
	phase := 0
	r := newReading(a, nil, box, 0, a.g.item)
	for wants := range r.batches(func() bool { return false }) {
		reqs, err := a.f.Explain(wants)
		if err != nil {
			return nil, err
		}
		last := phase
		for _, q := range reqs {
			q.Phase += phase
			last = max(last, q.Phase)
			out = append(out, q)
		}
		phase = last
	}
	return out, nil
}
