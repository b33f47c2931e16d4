package zoom

import (
	"fmt"
	"strings"
)

// A grouping is a way to write numbers with a mark between thousands.
type grouping struct{ group, decimal byte }

// groupings lists them; sets of them are bits in this order. ' ' is any space.
var groupings = [...]grouping{{',', '.'}, {'.', ','}, {' ', ','}, {' ', '.'}, {'\'', '.'}, {'\'', ','}}

const (
	allGroupings = 1<<len(groupings) - 1
	pointGroups  = 1 // where {'.', ','} is
)

// spaces makes the spaces and apostrophes that spreadsheets put between thousands plain
// ones.
var spaces = strings.NewReplacer("\u00a0", " ", "\u202f", " ", "\u2009", " ", "\u2019", "'", "\xa0", " ")

func plainMarks(cell string) string {
	for i := range len(cell) {
		if cell[i] >= 0x80 {
			return spaces.Replace(cell)
		}
	}
	return cell
}

// number returns a cell without the marks between thousands and with a decimal point.
// proof says that the cell has such marks and can be read in no other way: "1,234" alone
// may be a decimal comma as well.
func (g grouping) number(cell string) (digits string, proof, ok bool) {
	s := plainMarks(cell)
	sign := ""
	if s != "" && (s[0] == '-' || s[0] == '+') {
		sign, s = s[:1], s[1:]
	}
	head, part, has := strings.Cut(s, string(g.decimal))
	if has && !allDigits(part) {
		return "", false, false
	}
	groups := strings.Split(head, string(g.group))
	for i, p := range groups {
		if !allDigits(p) || len(groups) > 1 && (len(p) > 3 || i > 0 && len(p) != 3) || i == 0 && len(groups) > 1 && p[0] == '0' {
			return "", false, false
		}
	}
	digits = sign + strings.Join(groups, "")
	if has {
		digits += "." + part
	}
	mark := g.group == ',' || g.group == '.'
	return digits, len(groups) > 2 || len(groups) == 2 && (has || !mark), true
}

// A grouped column has numbers with marks between thousands, or may have some.
type grouped struct {
	dead   uint8 // the groupings by which some cell is no number
	proven uint8 // those that some cell has for sure
	line   int64 // of the first cell that is a number only by a grouping; 0: none
	text   string
	point  string // the first cell that is a number with a decimal point
	parts  uint8  // those by which such a cell has a fraction, or more digits than whole numbers have
}

// plain notes a number that needs no grouping, as it is written. With a single mark it may be one by a
// grouping, too.
func (g *grouped) plain(cell string) {
	i := strings.IndexAny(cell, ".,")
	if i < 0 {
		return
	}
	if g.point == "" && cell[i] == '.' {
		g.point = cell
	}
	for k, way := range groupings {
		if way.group != cell[i] && way.decimal != cell[i] {
			g.dead |= 1 << k
			continue
		}
		if way.group == cell[i] {
			if _, _, ok := way.number(cell); !ok {
				g.dead |= 1 << k
			}
		}
	}
}

// learn notes a cell that is no number as it stands. It returns false if no grouping makes
// all cells so far numbers.
func (g *grouped) learn(line int64, cell string) bool {
	fits, proven, parts := uint8(0), uint8(0), uint8(0)
	for k, way := range groupings {
		digits, proof, ok := way.number(cell)
		if !ok {
			continue
		}
		fits |= 1 << k
		if proof {
			proven |= 1 << k
		}
		if strings.Contains(digits, ".") || len(digits) > 18 {
			parts |= 1 << k
		}
	}
	if fits&^g.dead == 0 {
		return false
	}
	if g.line == 0 {
		g.line, g.text = line, cell
	}
	g.dead |= allGroupings &^ fits
	g.proven |= proven
	g.parts |= parts
	return true
}

// way is the grouping that all cells have, and some for sure, or that with a decimal comma, if none with a
// decimal point fits: "1,5" in quotes between commas. part says that some numbers are not whole.
func (g *grouped) way() (way grouping, part, ok bool) {
	if g.line == 0 {
		return grouping{}, false, false
	}
	comma := -1
	for k, way := range groupings {
		switch {
		case g.dead&(1<<k) != 0:
		case g.proven&(1<<k) != 0:
			return way, g.parts&(1<<k) != 0, true
		case way.decimal != ',':
			comma = len(groupings)
		case comma < 0:
			comma = k
		}
	}
	if comma < 0 || comma == len(groupings) {
		return grouping{}, false, false
	}
	return groupings[comma], true, true
}

// pointed tells how a cell with a point is read beside decimal commas, if there is one.
func (g *grouped) pointed(way grouping) string {
	digits, _, ok := way.number(g.point)
	if g.point == "" || !ok {
		return ""
	}
	return fmt.Sprintf(", and %.60q as %s", g.point, digits)
}

// readings says why a cell is not taken for a number: no other cell makes clear which one.
func readings(cell string) string {
	for _, way := range groupings {
		if digits, _, ok := way.number(cell); ok && strings.IndexByte(cell, way.group) >= 0 {
			return "may be " + digits + " or " + strings.Replace(cell, string(way.group), ".", 1)
		}
	}
	return "is no number"
}
