package main

import (
	"bufio"
	"strings"
	"testing"
)

// TestCount: instructions count between the last two marks, and a branch that goes the other
// way for the first time is guessed wrong.
func TestCount(t *testing.T) {
	t.Parallel()
	p := &program{begin: 0x100, end: 0x200, base: 0x1000, text: []byte{0, 0, 0, 0, 1, 0, 0, 0x54}} // b.ne
	var log strings.Builder
	for _, pc := range []string{"100", "1000", "1004", "200", "1004", "2000", "100", "1004", "1008", "1004", "3000", "200", "1000"} {
		log.WriteString("Trace 0: 0x7f00 [00000000/0000000000" + pc + "/00000000/ff000000] name\n")
	}
	log.WriteString("a line of the program\n")
	got, said := p.count(bufio.NewReader(strings.NewReader(log.String())))
	if want := (tally{instructions: 5, wrong: 1}); got != want || said != "a line of the program\n" {
		t.Errorf("%+v, want %+v; %q", got, want, said)
	}
}

// TestJobs: each job can be prepared, and done.
func TestJobs(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("encodes for a second under the race detector")
	}
	for _, name := range jobNames() {
		data, size, err := prepare(name)
		if err != nil || size != block {
			t.Fatalf("%s: %d bytes, %v", name, size, err)
		}
		do, err := jobOf(name, data)
		if err != nil {
			t.Fatal(err)
		}
		if err := do(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCounted(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"runtime.memmove": true, "runtime.mallocgc": false, "sync.(*Pool).Get": false,
		"hash/adler32.update": false, "github.com/farread/farread/internal/codec.lz4Tokens": true,
	} {
		if counted(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}
