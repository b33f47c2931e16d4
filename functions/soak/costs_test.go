package soak_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/farread/farread/functions/soak"
)

const operations = "../../docs/operations.md"

// use is the use of S3 by the functions for one upload.
func use(counts map[string]int64, size int) soak.Use {
	u := soak.Use{Bytes: float64(size)}
	for name, n := range counts {
		_, op, _ := strings.Cut(name, " ")
		switch op {
		case "PUT", "PUT PART", "CREATE UPLOAD", "COMPLETE UPLOAD", "LIST":
			u.Puts += n
		case "DELETE": // free
		default:
			u.Gets += n
		}
	}
	return u
}

// TestCosts compares the table of costs in docs/operations.md with the requests that
// the functions make. `make soak` writes the table; else the lines of small uploads
// are compared.
func TestCosts(t *testing.T) {
	apart(t)
	c := start(t, options{concurrency: 1, shape: "s3"})
	p := soak.ListPrices()
	var rows []string
	sizes := []struct {
		what  string
		bytes int
		of    string
		n     float64
	}{{"1 MB", 1e6, "a million", 1e6}, {"100 MB", 1e8, "10 000 (1 TB)", 1e4}}
	if !full() {
		sizes = sizes[:1]
	}
	n := 0
	for _, s := range sizes {
		for _, k := range kinds() {
			n++
			key := k.key(n)
			c.proxy.seen()
			data := k.data(t, uint64(n), s.bytes)
			c.put(t, key, data)
			if r, _, err := c.settled(key); err != nil || r.failed {
				t.Fatalf("%+v, %v", r, err)
			}
			counts, _, _ := c.proxy.seen()
			name := map[string]string{"gulp": "tar of JPEGs → gulp", "b2nd": "`.npy` → b2nd", "items": "JSON Lines → Bloscpack", "zoom": "WAV → zoom-cache"}[k.name]
			rows = append(rows, use(counts, s.bytes).Row(s.what+", "+name, s.of, s.n, p))
		}
	}
	b, err := os.ReadFile(operations)
	if err != nil {
		t.Fatal(err)
	}
	if !full() {
		for _, row := range rows {
			if !strings.Contains(string(b), row+"\n") {
				t.Errorf("docs/operations.md says otherwise; write it anew with make soak:\n%s", row)
			}
		}
		return
	}
	text, err := soak.Insert(string(b), "costs", fmt.Sprintf("Dollars, list prices of %s as of %s.\n\n%s\n%s\n", p.Region, p.Date, soak.Head(), strings.Join(rows, "\n")))
	if err == nil {
		err = os.WriteFile(operations, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
