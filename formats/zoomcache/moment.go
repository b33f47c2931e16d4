package zoomcache

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// A Moment is a time of a series: seconds since its time 0, or UTC. The zero
// value is time 0.
type Moment struct {
	sec *big.Rat // nil: 0
	utc time.Time
	abs bool // utc is set, else sec
}

// The sentinels for moments. Match with errors.Is.
var (
	ErrMoment   = errors.New("no moment")                        // the text is not a moment
	ErrNoOrigin = errors.New("the file does not say its origin") // a moment in UTC needs an origin
	ErrNoRate   = errors.New("the track has no rate")            // without a rate there are no times
)

// maxSeconds bounds moments: at any rate, no offset lies beyond it.
const maxSeconds = 1e30

// ParseMoment reads seconds ("12.5"), a duration ("1h30m", "2d", "250ms", "-5s")
// or a time of RFC 3339; a blank may stand for the T, and seconds, the zone (then
// it is UTC) or all but the date may be left out. Errors match ErrMoment.
func ParseMoment(text string) (Moment, error) {
	if f, err := strconv.ParseFloat(text, 64); err == nil && !strings.ContainsAny(text, "xXpP_") {
		if math.IsNaN(f) || math.Abs(f) > maxSeconds {
			return Moment{}, fmt.Errorf("%q seconds: %w", text, ErrMoment)
		}
		m := Moment{sec: new(big.Rat)}
		if f != 0 { // else an exponent may be too small to be held
			m.sec.SetString(text)
		}
		return m, nil
	}
	if s, ok := parseDuration(text); ok {
		return Moment{sec: s}, nil
	}
	for _, layout := range []string{"2006-01-02", "2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02T15:04Z07:00", time.RFC3339} {
		if t, err := time.Parse(layout, strings.Replace(text, " ", "T", 1)); err == nil {
			return MomentOf(t), nil
		}
	}
	return Moment{}, fmt.Errorf("%q is neither seconds (12.5) nor a duration (1h30m) nor UTC (2024-05-01T12:00:00Z): %w", text, ErrMoment)
}

// String returns the moment as ParseMoment reads it, without loss.
func (m Moment) String() string {
	if m.abs {
		return m.utc.UTC().Format(time.RFC3339Nano)
	}
	if m.sec == nil {
		return "0"
	}
	digits, _ := m.sec.FloatPrec() // exact: what ParseMoment takes is decimal
	return m.sec.FloatString(digits)
}

// MomentOf is a moment in UTC.
func MomentOf(t time.Time) Moment { return Moment{utc: t, abs: true} }

// parseDuration reads a duration as Go writes it, with days allowed in front.
func parseDuration(text string) (*big.Rat, bool) {
	rest, negative := strings.CutPrefix(text, "-")
	sec := new(big.Rat)
	if d, r, ok := strings.Cut(rest, "d"); ok {
		n, err := strconv.ParseUint(d, 10, 32)
		if err != nil {
			return nil, false
		}
		sec.SetUint64(n * day)
		if rest = r; rest == "" {
			rest = "0"
		}
	}
	d, err := time.ParseDuration(rest)
	if err != nil || strings.HasPrefix(rest, "-") || strings.HasPrefix(rest, "+") {
		return nil, false
	}
	sec.Add(sec, big.NewRat(int64(d), int64(time.Second)))
	if negative {
		sec.Neg(sec)
	}
	return sec, true
}

// Offset is the first sample offset of a track that is not before the moment, cut
// to the range of int64. It fails with ErrNoRate, and with ErrNoOrigin if the
// moment is UTC and the file has no origin.
func (m Moment) Offset(h *Header, t *Track) (int64, error) {
	if t.Rate.Den == 0 || t.Rate.Num == 0 || (t.Rate.Num < 0) != (t.Rate.Den < 0) {
		return 0, fmt.Errorf("track %d: %w", t.Number, ErrNoRate)
	}
	x, err := m.seconds(h)
	if err != nil {
		return 0, err
	}
	return offsetFrom(x.Mul(x, big.NewRat(t.Rate.Num, t.Rate.Den))), nil
}

// offsetFrom is the first offset that is not below x, cut to the range of int64.
func offsetFrom(x *big.Rat) int64 {
	n, rest := new(big.Int).DivMod(x.Num(), x.Denom(), new(big.Int)) // Euclid's: down
	if rest.Sign() > 0 {
		n.Add(n, big.NewInt(1))
	}
	switch {
	case n.IsInt64():
		return n.Int64()
	case n.Sign() < 0:
		return FirstOffset
	}
	return LastOffset
}

// Seconds is the moment in seconds since time 0 of a file, as near as a float64 is. It
// fails with ErrNoOrigin if the moment is UTC and the file has no origin.
func (m Moment) Seconds(h *Header) (float64, error) {
	x, err := m.seconds(h)
	if err != nil {
		return 0, err
	}
	f, _ := x.Float64()
	return f, nil
}

// seconds is the moment in seconds since time 0 of a file.
func (m Moment) seconds(h *Header) (*big.Rat, error) {
	x := new(big.Rat)
	switch {
	case m.abs && h.Origin.Den == 0:
		return nil, ErrNoOrigin
	case m.abs:
		x.Sub(m.unix(), h.Origin.unix())
	case m.sec != nil:
		x.Set(m.sec)
	}
	return x, nil
}

// Before reports whether the moment comes before another in a file. It fails
// with ErrNoOrigin if one of them is UTC and the file has no origin.
func (m Moment) Before(h *Header, other Moment) (bool, error) {
	x, err := m.seconds(h)
	if err != nil {
		return false, err
	}
	y, err := other.seconds(h)
	if err != nil {
		return false, err
	}
	return x.Cmp(y) < 0, nil
}

// unix is the seconds since 1970.
func (m Moment) unix() *big.Rat {
	s := new(big.Rat).SetInt64(m.utc.Unix())
	return s.Add(s, big.NewRat(int64(m.utc.Nanosecond()), int64(time.Second)))
}

// unix is the seconds since 1970; Den is not 0.
func (o Origin) unix() *big.Rat {
	days := new(big.Int).Sub(big.NewInt(o.Day), big.NewInt(unixDay))
	s := new(big.Rat).SetInt(days.Mul(days, big.NewInt(day)))
	return s.Add(s, big.NewRat(o.Num, o.Den))
}

// Offsets returns the first and the last sample offset of a track with a time
// in [from, to); nil means no bound. If there is none, last is below first. It
// fails as Moment.Offset does.
func (h *Header) Offsets(t *Track, from, to *Moment) (first, last int64, err error) {
	first, last = FirstOffset, LastOffset
	if from != nil {
		if first, err = from.Offset(h, t); err != nil {
			return 0, 0, err
		}
	}
	if to == nil {
		return first, last, nil
	}
	if last, err = to.Offset(h, t); err != nil {
		return 0, 0, err
	}
	if last == FirstOffset {
		return LastOffset, FirstOffset, nil
	}
	return first, last - 1, nil
}
