package exact

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/farread/farread/formats"
)

// maxText is longer than the text of any sum.
const maxText = 2048

// MarshalText returns the sum without loss: an odd hexadecimal number and the exponent of
// two that it is times of, as "-1f3p-7", and how many NaN and infinities there were, as
// "0p0 nan=1 inf=2 -inf=3". Equal sums have equal texts.
func (s *Sum) MarshalText() ([]byte, error) {
	m, exp := s.Int()
	if zeros := m.TrailingZeroBits(); m.Sign() != 0 {
		exp += int(zeros)
		m.Rsh(m, zeros)
	} else {
		exp = 0
	}
	out := append(m.Append(nil, 16), 'p')
	out = strconv.AppendInt(out, int64(exp), 10)
	for _, x := range s.counts() {
		if *x.n > 0 {
			out = fmt.Appendf(out, " %s=%d", x.name, *x.n)
		}
	}
	return out, nil
}

type count struct {
	name string
	n    *int64
}

func (s *Sum) counts() []count {
	return []count{{"nan", &s.nan}, {"inf", &s.posInf}, {"-inf", &s.negInf}}
}

// UnmarshalText reads what MarshalText wrote. Other text matches formats.ErrCorrupt.
func (s *Sum) UnmarshalText(text []byte) error {
	var out Sum
	if len(text) > maxText || !out.parse(string(text)) {
		return fmt.Errorf("%.40q is no exact sum: %w", text, formats.ErrCorrupt)
	}
	*s = out
	return nil
}

func (s *Sum) parse(text string) bool {
	fields := strings.Split(text, " ")
	digits, exponent, ok := strings.Cut(fields[0], "p")
	if !ok || strings.HasPrefix(digits, "+") || strings.Contains(digits, "_") {
		return false
	}
	m, ok := new(big.Int).SetString(digits, 16)
	exp, err := strconv.Atoi(exponent)
	if !ok || err != nil || exp < 4-bias || exp > bias || m.BitLen() > 2*bias {
		return false
	}
	sign := m.Sign() < 0
	for i, w := range m.Bits() {
		s.add(uint64(w), exp+i*strconv.IntSize, sign)
	}
	for _, f := range fields[1:] {
		name, value, _ := strings.Cut(f, "=")
		n, err := strconv.ParseInt(value, 10, 64)
		known := false
		for _, x := range s.counts() {
			if x.name == name && *x.n == 0 {
				*x.n, known = n, true
			}
		}
		if err != nil || n <= 0 || !known {
			return false
		}
	}
	return true
}
