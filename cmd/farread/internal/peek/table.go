package peek

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/objstore"
)

// table reads the header and the lines in the head of a CSV.
func table(ob *objstore.Object, head []byte) (f Found, ok bool, err error) {
	all := int64(len(head)) == ob.Size()
	text := bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	if i := bytes.LastIndexByte(text, '\n'); !all && i >= 0 {
		text = text[:i+1]
	}
	if len(text) == 0 || bytes.IndexByte(text, 0) >= 0 || !utf8.Valid(text) {
		return f, false, nil
	}
	first, _, _ := bytes.Cut(text, []byte("\n"))
	comma := ','
	for _, c := range []rune{';', '\t'} {
		if strings.Count(string(first), string(c)) > strings.Count(string(first), string(comma)) {
			comma = c
		}
	}
	r := csv.NewReader(bytes.NewReader(text))
	r.Comma, r.LazyQuotes, r.FieldsPerRecord = comma, true, -1
	rows, err := r.ReadAll()
	if err != nil || len(rows) < 2 {
		return f, false, nil //nolint:nilerr // it is no table, or nothing tells
	}
	f = Found{Format: "csv", Pack: ".zoom"}
	names := rows[0]
	f.add("columns", human.Count(int64(len(names))))
	if n := int64(len(rows) - 1); all {
		f.add("rows", human.Count(n))
	} else if n > 0 {
		f.add("rows", "about "+human.Count(ob.Size()/max(int64(len(text))/n, 1)))
	}
	if comma != ',' {
		f.add("separator", strconv.QuoteRune(comma))
	}
	numbers := 0
	for i, name := range names[:min(len(names), maxShown)] {
		what, sample := kindOf(rows[1:], i)
		if what == "numbers" {
			numbers++
		}
		f.Entry = append(f.Entry, Entry{name, -1, strings.TrimSpace(what + " " + sample)})
	}
	if numbers == 0 {
		f.Pack = ".blp"
	}
	return f, true, nil
}

// kindOf tells what a column holds, by the first lines, with an example.
func kindOf(rows [][]string, i int) (what, sample string) {
	for _, row := range rows[:min(len(rows), 100)] {
		if i >= len(row) || strings.TrimSpace(row[i]) == "" {
			continue
		}
		v := strings.TrimSpace(row[i])
		if sample == "" {
			sample = fmt.Sprintf("(%.40s)", v)
		}
		if _, err := strconv.ParseFloat(v, 64); err != nil {
			return "text", sample
		}
		what = "numbers"
	}
	return what, sample
}
