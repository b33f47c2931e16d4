package zoomcache

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

func TestMoments(t *testing.T) {
	begin := time.Date(2024, 5, 1, 12, 0, 0, 500_000_000, time.UTC)
	h := &Header{Origin: OriginOf(begin)}
	hz := func(num, den int64) *Track { return &Track{Rate: Rate{num, den}} }
	for _, c := range []struct {
		text string
		t    *Track
		want int64
	}{
		{"0", hz(1000, 1), 0}, {"1.5", hz(1000, 1), 1500}, {"1.5001", hz(1000, 1), 1501}, {"-1.5001", hz(1000, 1), -1500},
		{"1e-400", hz(1000, 1), 0}, {"1e3", hz(3, 2), 1500}, {"0.1", hz(10, 1), 1}, {"0.7", hz(10, 1), 7},
		{"1h30m", hz(1, 1), 5400}, {"2d", hz(1, 60), 2880}, {"1d2h", hz(1, 3600), 26}, {"-5s", hz(2, 1), -10}, {"-1d", hz(1, 86400), -1}, {"250ms", hz(1000, 1), 250},
		{"2024-05-01T12:00:01.5Z", hz(1000, 1), 1000}, {"2024-05-01 12:00:01.5", hz(1000, 1), 1000}, {"2024-05-01T14:00:01+02:00", hz(1000, 1), 500},
		{"2024-05-02", hz(2, 1), 86399}, {"2024-05-01T12:00", hz(2, 1), -1}, {"2024-05-01T12:00:00.500000001Z", hz(1_000_000_000, 1), 1},
		{"1e30", hz(1, 1), math.MaxInt64}, {"-1e30", hz(1, 1), math.MinInt64}, {"9223372036854775807", hz(1, 1), math.MaxInt64},
		{"1", hz(math.MaxInt64, 1), math.MaxInt64}, {"3", hz(-4, -2), 6},
	} {
		m, err := ParseMoment(c.text)
		if err != nil {
			t.Error(err)
			continue
		}
		if got, err := m.Offset(h, c.t); got != c.want || err != nil {
			t.Errorf("%s at %v: offset %d, want %d, %v", c.text, c.t.Rate, got, c.want, err)
		}
	}
	order := []string{"-1e30", "2024-05-01T12:00", "-1ms", "0", "1e-400", "2024-05-01T12:00:00.500000001Z", "0.002", "2024-05-02", "2d", "1e30"}
	for i, a := range order {
		for j, b := range order {
			x, err1 := ParseMoment(a)
			y, err2 := ParseMoment(b)
			got, err := x.Before(h, y)
			if want := i < j && (a != "0" || b != "1e-400"); got != want || errors.Join(err, err1, err2) != nil {
				t.Errorf("%s before %s: %v, %v", a, b, got, errors.Join(err, err1, err2))
			}
			if _, err := x.Before(&Header{}, y); (err != nil) != strings.Contains(a+b, "2024") || err != nil && !errors.Is(err, ErrNoOrigin) {
				t.Errorf("%s and %s without an origin: %v", a, b, err)
			}
		}
	}
	for _, text := range []string{"", "x", "NaN", "inf", "1e31", "1h30", "d", "-d", "1.5d", "--5s", "+5sd", "1d-5s", "-+5s", "2024-13-01", "2024-05-01T", "12:00", "0x10", "1_000", "5 s"} {
		if m, err := ParseMoment(text); !errors.Is(err, ErrMoment) {
			t.Errorf("%q is %+v, %v", text, m, err)
		}
	}
	if _, err := MomentOf(begin).Offset(&Header{}, hz(1, 1)); !errors.Is(err, ErrNoOrigin) {
		t.Error(err)
	}
	for _, r := range []Rate{{0, 1}, {1, 0}, {-1, 1}} {
		if _, err := MomentOf(begin).Offset(h, &Track{Rate: r}); !errors.Is(err, ErrNoRate) {
			t.Error(r, err)
		}
	}
}

func TestOffsetsOfTimes(t *testing.T) {
	h, k := &Header{}, &Track{Rate: Rate{10, 1}}
	at := func(text string) *Moment {
		m, err := ParseMoment(text)
		must(t, err)
		return &m
	}
	for _, c := range []struct {
		from, to    *Moment
		first, last int64
	}{
		{nil, nil, FirstOffset, LastOffset}, {at("1"), nil, 10, LastOffset}, {nil, at("2"), FirstOffset, 19}, {at("1"), at("2"), 10, 19},
		{at("1.01"), at("2.01"), 11, 20}, {at("1"), at("1"), 10, 9}, {at("2"), at("1"), 20, 9}, {nil, at("-1e30"), LastOffset, FirstOffset},
	} {
		if first, last, err := h.Offsets(k, c.from, c.to); first != c.first || last != c.last || err != nil {
			t.Errorf("[%d, %d], want [%d, %d], %v", first, last, c.first, c.last, err)
		}
	}
}

// Seconds are the nearest float64, whichever way they are found.
func TestSecondsAreNearest(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	number := func() int64 { return int64(rnd.Uint64()) >> rnd.IntN(64) }
	for range 100_000 {
		off, r := number(), Rate{number(), number()}
		if r.Num == 0 || r.Den == 0 {
			continue
		}
		want, _ := new(big.Rat).Mul(new(big.Rat).SetInt64(off), big.NewRat(r.Den, r.Num)).Float64()
		if got := r.Seconds(off); got != want {
			t.Fatalf("%d at %v: %v, want %v", off, r, got, want)
		}
	}
}

// TestMomentString: the text of a moment is read as the same moment.
func TestMomentString(t *testing.T) {
	t.Parallel()
	h := &Header{Origin: Origin{Day: 60000, Den: 1}}
	for text, want := range map[string]string{
		"0": "0", "12.50": "12.5", "-1e-3": "-0.001", "1d2h": "93600", "250ms": "0.25", "-5s": "-5", "1e22": "10000000000000000000000",
		"2024-05-01": "2024-05-01T00:00:00Z", "2024-05-01T12:00:00.25+02:00": "2024-05-01T10:00:00.25Z",
	} {
		m, err := ParseMoment(text)
		if err != nil || m.String() != want {
			t.Errorf("%s: %s, %v, want %s", text, m, err, want)
		}
		again, err := ParseMoment(m.String())
		if err != nil {
			t.Fatal(err)
		}
		if less, err := m.Before(h, again); err != nil || less {
			t.Error(text, less, err)
		}
		if less, err := again.Before(h, m); err != nil || less {
			t.Error(text, less, err)
		}
	}
	if got := (Moment{}).String(); got != "0" {
		t.Error(got)
	}
}
