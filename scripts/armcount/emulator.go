package main

import (
	"bufio"
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// A program is one for arm64, with what the counts need to know of it.
type program struct {
	path       string
	filter     string // ranges of addresses that count, as the emulator takes them
	begin, end uint64 // addresses of the marks
	text       []byte
	base       uint64 // where text lies
}

// counted reports whether the instructions of a function count: not those of the scheduler,
// the collector and other things that happen meanwhile, and not those of checksums.
func counted(name string) bool {
	if strings.Contains(name, "adler") {
		return false
	}
	for _, p := range []string{"runtime.", "internal/runtime", "sync", "internal/sync", "_rt0", "os", "syscall", "internal/poll", "time"} {
		if strings.HasPrefix(name, p) {
			return strings.HasPrefix(name, "runtime.mem")
		}
	}
	return true
}

func readProgram(path string) (*program, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text := f.Section(".text")
	if text == nil {
		return nil, errors.New("no text")
	}
	p := &program{path: path, base: text.Addr}
	if p.text, err = text.Data(); err != nil {
		return nil, err
	}
	symbols, err := f.Symbols()
	if err != nil {
		return nil, err
	}
	symbols = slices.DeleteFunc(symbols, func(s elf.Symbol) bool { return elf.ST_TYPE(s.Info) != elf.STT_FUNC })
	slices.SortFunc(symbols, func(a, b elf.Symbol) int { return int(a.Value) - int(b.Value) })
	var ranges []string
	var from, to uint64
	flush := func() {
		if to > from {
			ranges = append(ranges, fmt.Sprintf("%#x..%#x", from, to-1))
		}
	}
	for _, s := range symbols {
		switch s.Name {
		case "main.begin":
			p.begin = s.Value
		case "main.end":
			p.end = s.Value
		}
		if !counted(s.Name) {
			continue
		}
		if s.Value > to+64 { // not only filled up
			flush()
			from = s.Value
		}
		to = s.Value + s.Size
	}
	flush()
	p.filter = strings.Join(ranges, ",")
	if p.begin == 0 || p.end == 0 {
		return nil, errors.New("no marks")
	}
	return p, nil
}

// conditional reports whether there is a branch at pc that is taken or not.
func (p *program) conditional(pc uint64) bool {
	at := pc - p.base
	if at+4 > uint64(len(p.text)) {
		return false
	}
	switch w := binary.LittleEndian.Uint32(p.text[at:]); w >> 24 {
	case 0x54, 0x34, 0x35, 0xb4, 0xb5, 0x36, 0x37, 0xb6, 0xb7: // B.cond, CBZ, CBNZ, TBZ, TBNZ
		return true
	}
	return false
}

// An emulator runs programs for arm64 and logs each instruction.
type emulator struct {
	path string
	args []string
}

func newEmulator(ctx context.Context) (*emulator, error) {
	for _, name := range []string{"qemu-aarch64", "qemu-aarch64-static"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		help, _ := exec.CommandContext(ctx, path, "-help").CombinedOutput()
		one := "-singlestep"
		if bytes.Contains(help, []byte("-one-insn-per-tb")) {
			one = "-one-insn-per-tb"
		}
		return &emulator{path, []string{one, "-d", "exec,nochain"}}, nil
	}
	return nil, errors.New("qemu-aarch64 is missing: install qemu-user")
}

// A tally is what is counted between the marks.
type tally struct {
	instructions, wrong int
}

// run runs a job of a program.
func (e *emulator) run(ctx context.Context, p *program, job, input string) (tally, error) {
	cmd := exec.CommandContext(ctx, e.path, append(slices.Clone(e.args), "-dfilter", p.filter, p.path, "-work", job, input)...)
	cmd.Env = append(os.Environ(), "GOGC=off", "GOMAXPROCS=1", "GODEBUG=asyncpreemptoff=1")
	log, err := cmd.StderrPipe()
	if err != nil {
		return tally{}, err
	}
	if err := cmd.Start(); err != nil {
		return tally{}, err
	}
	t, said := p.count(bufio.NewReaderSize(log, 1<<20))
	if err := cmd.Wait(); err != nil {
		return tally{}, fmt.Errorf("%w: %s", err, said)
	}
	if t.instructions == 0 {
		return tally{}, errors.New("nothing was counted")
	}
	return t, nil
}

// A predictor guesses whether branches are taken: by two bits for each of 4096 pairs of a
// branch and the last 12 outcomes.
type predictor struct {
	counters [1 << 12]uint8
	history  uint64
}

// wrong tells whether the guess was, and learns.
func (g *predictor) wrong(pc uint64, taken bool) bool {
	c := &g.counters[(pc>>2^g.history)%uint64(len(g.counters))]
	guess := *c >= 2
	g.history <<= 1
	if taken {
		*c, g.history = min(*c+1, 3), g.history|1
	} else {
		*c = max(*c, 1) - 1
	}
	return guess != taken
}

// count reads the log: lines like "Trace 0: 0x7f… [00000000/0000000000010e40/…] name". It
// counts from the last beginning on, with a predictor that has learnt before, and returns
// the other lines, too.
func (p *program) count(log *bufio.Reader) (t tally, said string) {
	var g predictor
	var branch uint64 // the instruction before, if it is a branch
	on := false
	for {
		line, err := log.ReadSlice('\n')
		if err != nil {
			return t, said
		}
		_, rest, ok := bytes.Cut(line, []byte("["))
		_, rest, ok2 := bytes.Cut(rest, []byte("/"))
		if !ok || !ok2 || !bytes.HasPrefix(line, []byte("Trace ")) {
			said += string(line)
			continue
		}
		digits, _, _ := bytes.Cut(rest, []byte("/"))
		pc, err := strconv.ParseUint(string(digits), 16, 64)
		if err != nil {
			said += string(line)
			continue
		}
		switch pc {
		case p.begin:
			t, on = tally{}, true
		case p.end:
			on = false
		}
		if !on {
			branch = 0
			continue
		}
		t.instructions++
		if branch != 0 && g.wrong(branch, pc != branch+4) {
			t.wrong++
		}
		if branch = 0; p.conditional(pc) {
			branch = pc
		}
	}
}
