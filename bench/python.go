package main

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

//go:embed peer_gulp.py
var gulpScript string

//go:embed peer_bloscpack.py
var bloscpackScript string

//go:embed peer_zoom.py
var zoomScript string

//go:embed peer_blosc.py
var bloscScript string

//go:embed peer_far.py
var farScript string

//go:embed peer_load.py
var loadScript string

//go:embed peer_loader.py
var loaderScript string

//go:embed peer_analyze.py
var analyzeScript string

//go:embed peer_zarr.py
var zarrScript string

// A python is a peer's process, kept for the whole run.
type python struct {
	cmd      *exec.Cmd
	in       io.WriteCloser
	out      *bufio.Reader
	versions string
}

// gulpio starts GulpIO2, or says why it cannot.
func (b *bench) gulpio(ctx context.Context) (*python, error) {
	return b.python(ctx, "gulpio2", "import gulpio2", gulpScript)
}

// blosc2 starts python-blosc2, or says why it cannot.
func (b *bench) blosc2(ctx context.Context) (*python, error) {
	return b.python(ctx, "blosc2", "import blosc2", bloscScript)
}

// zarr starts zarr-python, or says why it cannot.
func (b *bench) zarr(ctx context.Context) (*python, error) {
	return b.python(ctx, "zarr", "import aiohttp, blosc2, fsspec, obstore, zarr", zarrScript)
}

// bloscpack starts the real bloscpack, or says why it cannot. It asks for names
// that Python has moved.
func (b *bench) bloscpack(ctx context.Context) (*python, error) {
	return b.python(ctx, "bloscpack", "import collections.abc; collections.MutableMapping = collections.abc.MutableMapping; import bloscpack", bloscpackScript)
}

// python starts the script once, with the first interpreter that has the module:
// where probe runs.
func (b *bench) python(ctx context.Context, module, probe, script string) (*python, error) {
	if p := b.peers[module]; p != nil {
		return p, nil
	}
	for _, name := range []string{os.Getenv("FARREAD_PYTHON"), filepath.Join(b.root, ".venv/bin/python"), "python3"} {
		if _, err := exec.LookPath(name); name == "" || err != nil {
			continue
		}
		if exec.CommandContext(ctx, name, "-c", probe).Run() == nil {
			p, err := startPython(ctx, name, script)
			if err != nil {
				return nil, err
			}
			if b.peers == nil {
				b.peers = map[string]*python{}
			}
			b.peers[module] = p
			return p, nil
		}
	}
	return nil, &skipped{"no Python with " + module + ": run 'make venv'"}
}

func startPython(ctx context.Context, name, script string) (*python, error) {
	cmd := exec.CommandContext(ctx, name, "-c", script)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &python{cmd: cmd, in: in, out: bufio.NewReader(out)}
	var hello struct{ Versions string }
	err = p.answer(&hello)
	p.versions = hello.Versions
	return p, err
}

func (p *python) answer(v any) error {
	line, err := p.out.ReadString('\n')
	if err != nil {
		return fmt.Errorf("the peer's process: %w", err)
	}
	return json.Unmarshal([]byte(line), v)
}

func (p *python) close() {
	p.in.Close()
	_ = p.cmd.Wait() // its result does not matter any more
}

// work is what a side has handled; both must agree. sum is a CRC-32 of the bytes
// where the job makes one.
type work struct {
	frames, bytes int64
	sum           uint32
	cpu           time.Duration // of the peer's process, where the job tells it
}

// side is a job of the peer's, whose work is put into *w.
func (p *python) side(w *work, args ...string) side {
	return func(context.Context) (time.Duration, error) {
		line, err := json.Marshal(args)
		if err != nil {
			return 0, err
		}
		if _, err := p.in.Write(append(line, '\n')); err != nil {
			return 0, err
		}
		var a struct {
			Seconds       float64
			Frames, Bytes int64
			Sum           uint32
			CPU           float64
		}
		if err := p.answer(&a); err != nil {
			return 0, errors.Join(fmt.Errorf("peer's %s", strings.Join(args, " ")), err)
		}
		*w = work{a.Frames, a.Bytes, a.Sum, time.Duration(a.CPU * 1e9)}
		return time.Duration(a.Seconds * 1e9), nil
	}
}
