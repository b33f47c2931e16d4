package pages

import (
	"slices"
	"strings"
)

// Column is the column of a table whose head begins with that word: its head, and its cells by
// the first cell of their lines. Without such a column the head is "".
func (p *Page) Column(word string) (head string, cells map[string]string) {
	at := -1
	for _, l := range p.Lines {
		row, is := strings.CutPrefix(l.Text, "| ")
		row, whole := strings.CutSuffix(row, " |")
		switch all := strings.Split(row, " | "); {
		case !is || !whole:
			if at >= 0 && !strings.HasPrefix(l.Text, "|") {
				return head, cells // behind the table
			}
		case at < 0:
			at = slices.IndexFunc(all, func(c string) bool { return c == word || strings.HasPrefix(c, word+" ") })
			if at >= 0 {
				head, cells = all[at], map[string]string{}
			}
		case at < len(all) && !strings.HasPrefix(all[0], "--"):
			cells[all[0]] = all[at]
		}
	}
	return head, cells
}
