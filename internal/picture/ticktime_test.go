package picture

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestCalendar: ticks in UTC lie at round times, and their labels say enough to know
// the time.
func TestCalendar(t *testing.T) {
	t.Parallel()
	at := func(text string) time.Time {
		v, err := time.Parse("2006-01-02T15:04:05.999999999", text)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, c := range []struct {
		from, to string
		pixels   int
		want     string
	}{
		{"1990-03-04T05:06:07", "2030-03-04T00:00:00", 800, "1995 2000 2005 2010 2015 2020 2025 2030"},
		{"1700-01-01T00:00:00", "2008-01-01T00:00:00", 800, "1700 1750 1800 1850 1900 1950 2000"},
		{"0003-01-01T00:00:00", "2008-01-01T00:00:00", 800, "200 400 600 800 1000 1200 1400 1600 1800 2000"},
		{"1995-02-11T00:00:00", "2001-08-11T00:00:00", 800, "1996 1997 1998 1999 2000 2001"},
		{"1999-11-15T12:00:00", "2001-03-01T00:00:00", 800, "Jan\n2000 Mar May Jul Sep Nov Jan\n2001 Mar"},
		{"2026-01-01T00:00:00", "2027-01-01T00:00:00", 800, "Jan Mar May Jul Sep Nov Jan\n2027"},
		{"2026-01-01T00:00:00", "2027-01-01T00:00:00", 400, "Jan Mar May Jul Sep Nov Jan\n2027"},
		{"2026-01-01T00:00:00", "2027-01-01T00:00:00", 1200, "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec Jan\n2027"},
		{"1999-11-20T00:00:00", "2000-04-02T00:00:00", 800, "Dec Jan\n2000 Feb Mar Apr"},
		{"2000-02-10T00:00:00", "2000-03-17T00:00:00", 800, "Feb 11 Feb 16 Feb 21 Feb 26 Mar 1 Mar 6 Mar 11 Mar 16"},
		{"2001-02-10T00:00:00", "2001-03-17T00:00:00", 800, "Feb 11 Feb 16 Feb 21 Mar 1 Mar 6 Mar 11 Mar 16"},
		{"2023-12-28T06:00:00", "2024-01-03T00:00:00", 800, "Dec 29 Dec 30 Dec 31 Jan 1\n2024 Jan 2 Jan 3"},
		{"2024-02-27T00:00:00", "2024-03-02T00:00:00", 800, "00:00 12:00 00:00\nFeb 28 12:00 00:00\nFeb 29 12:00 00:00\nMar 1 12:00 00:00\nMar 2"},
		{"2016-12-31T23:00:30", "2017-01-01T01:00:00", 800, "23:15 23:30 23:45 00:00\nJan 1 00:15 00:30 00:45 01:00"},
		{"2016-12-31T23:59:50.5", "2017-01-01T00:00:10", 800, "23:59:52 23:59:54 23:59:56 23:59:58 00:00:00\nJan 1 00:00:02 00:00:04 00:00:06 00:00:08 00:00:10"},
		{"1969-12-31T23:59:59.9", "1970-01-01T00:00:00.2", 800, "23:59:59.90 23:59:59.95 00:00:00.00\nJan 1 00:00:00.05 00:00:00.10 00:00:00.15 00:00:00.20"},
		{"2026-05-01T12:00:00", "2026-05-01T12:00:00.000000008", 800, "12:00:00.000000000 12:00:00.000000002 12:00:00.000000004 12:00:00.000000006 12:00:00.000000008"},
	} {
		origin := at(c.from)
		x := newTimes(0, since(origin, at(c.to)), origin, c.pixels)
		if got := labels(x.ticks); got != c.want {
			t.Errorf("%s to %s on %d pixels: %q, want %q", c.from, c.to, c.pixels, got, c.want)
		}
		if want := "UTC, " + c.from[:10]; !strings.HasPrefix(x.name, want) || c.from[:10] != c.to[:10] && x.name != want+" to "+c.to[:10] {
			t.Errorf("%s to %s: %q", c.from, c.to, x.name)
		}
	}
	// If there are no dates, or clocks have no names for the ticks, ticks count from
	// the origin.
	origin := at("2026-05-01T12:00:00.5")
	for to, want := range map[float64]string{1e-10: "seconds since 2026-05-01T12:00:00.5Z", 1e13: "days since 2026-05-01T12:00:00.5Z"} {
		if x := newTimes(0, to, origin, 800); x.name != want || len(x.ticks) < 3 {
			t.Errorf("%g: %q, %d ticks", to, x.name, len(x.ticks))
		}
	}
}

// layouts are the layouts by which the tests read labels, the finest first.
func layouts() []string {
	return []string{"15:04:05.999999999", "15:04:05", "15:04", "Jan 2", "Jan", "2006"}
}

// TestAnyCalendar: at any time, of any span and on any width labels of ticks tell
// their time, ticks are round, and neither few nor crowded.
func TestAnyCalendar(t *testing.T) {
	t.Parallel()
	sty := tickStyle()
	rapid.Check(t, func(t *rapid.T) {
		origin := time.Unix(rapid.Int64Range(-12_000_000_000, 12_000_000_000).Draw(t, "origin"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanos")).UTC()
		span := math.Pow(10, rapid.Float64Range(-7, 10.5).Draw(t, "span"))
		from := 0.0
		if span > 1e-3 { // else float64 has no such times far away
			from = rapid.Float64Range(-1e6, 1e6).Draw(t, "from")
		}
		pixels := rapid.IntRange(MinWidth, 2000).Draw(t, "pixels")
		x := newTimes(from, from+span, origin, pixels)
		if least := 3 * min(pixels, 800) / 800; len(x.ticks) < max(least, 2) && !(pixels < 800 && span < 1) || len(x.ticks) > max(12, pixels/60) {
			t.Fatalf("%s + %g on %d pixels: %d ticks %q", origin, span, pixels, len(x.ticks), labels(x.ticks))
		}
		end := math.Inf(-1)
		before := after(origin, from)
		for i, k := range x.ticks {
			exact := 100 * time.Microsecond // as exact as float64 has it
			switch v := math.Abs(k.Value); {
			case v < 1e5:
				exact = time.Nanosecond
			case v < 1e9:
				exact = time.Microsecond
			}
			now := after(origin, k.Value).Round(exact)
			if i > 0 && !now.After(before) || k.Value < from-1e-9 || k.Value > from+span+1e-9 {
				t.Fatalf("tick %d at %s after %s", i, now, before)
			}
			first, second, _ := strings.Cut(k.Label, "\n")
			round := false
			for n, form := range layouts() {
				if v, err := time.Parse(form, first); err == nil && v.Format(form) == now.Format(form) {
					// Parts that the label leaves out are zero.
					zero := [][3]int{{}, {now.Nanosecond()}, {now.Nanosecond(), now.Second()}, {now.Nanosecond(), now.Second(), now.Minute() + now.Hour()},
						{now.Nanosecond(), now.Second(), now.Minute() + now.Hour() + now.Day() - 1}, {now.Nanosecond(), now.Second(), now.YearDay() - 1}}[n]
					round = zero == [3]int{}
					// Parts that changed and are not in the label stand below it.
					want := ""
					switch {
					case n < 3 && !sameDay(now, before):
						want = now.Format("Jan 2")
					case (n == 3 || n == 4) && now.Year() != before.Year():
						want = now.Format("2006")
					}
					if second != want {
						t.Fatalf("tick at %s after %s: %q", now, before, k.Label)
					}
					break
				}
			}
			if !round {
				t.Fatalf("tick %d at %s: %q", i, now, k.Label)
			}
			middle, half := (k.Value-from)/span*float64(pixels), float64(sty.Width(k.Label)/pixel)/2
			if middle-half < end+10 {
				t.Fatalf("%s + %g on %d pixels: labels touch: %q", origin, span, pixels, labels(x.ticks))
			}
			before, end = now, middle+half
		}
	})
}

// TestAnyElapsed: the same holds for ticks of time that counts from 0, and of offsets.
func TestAnyElapsed(t *testing.T) {
	t.Parallel()
	sty := tickStyle()
	rapid.Check(t, func(t *rapid.T) {
		span := math.Pow(10, rapid.Float64Range(-9, 12).Draw(t, "span"))
		from := span * rapid.Float64Range(-3, 100).Draw(t, "from")
		pixels := rapid.IntRange(MinWidth, 2000).Draw(t, "pixels")
		for _, x := range []times{newTimes(from, from+span, time.Time{}, pixels), counts(math.Round(from), math.Round(from)+math.Ceil(span)+3, pixels)} {
			if len(x.ticks) < 1 || len(x.ticks) < 2 && pixels > 600 || len(x.ticks) > max(12, pixels/40) {
				t.Fatalf("%g + %g on %d pixels: %d ticks %q", from, span, pixels, len(x.ticks), labels(x.ticks))
			}
			width := span
			if x.name == "sample offsets" {
				width = math.Ceil(span) + 3
			}
			for i := 1; i < len(x.ticks); i++ {
				a, b := x.ticks[i-1], x.ticks[i]
				gap := (b.Value-a.Value)/width*float64(pixels) - float64((sty.Width(a.Label)+sty.Width(b.Label))/pixel)/2
				if a.Label == b.Label || gap < 10 {
					t.Fatalf("%g + %g on %d pixels: %q and %q, %g pixels apart", from, span, pixels, a.Label, b.Label, gap)
				}
			}
		}
	})
}
