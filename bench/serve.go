package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A daemon is a server in a process of its own, which gets no more than the jobs of this
// program ask of it.
type daemon struct {
	cmd *exec.Cmd
	url string
}

// start runs a server until stop.
func startDaemon(ctx context.Context, url, name string, args ...string) (*daemon, error) {
	d := &daemon{cmd: exec.CommandContext(ctx, name, args...), url: url}
	d.cmd.Stderr = os.Stderr
	return d, d.cmd.Start()
}

// startGateway starts `farread serve` of a folder or a URL as the root "d", with further
// flags, and waits until it listens.
func (b *bench) startGateway(ctx context.Context, root string, flags ...string) (*daemon, error) {
	bin, err := b.buildCommand(ctx)
	if err != nil {
		return nil, err
	}
	d := &daemon{cmd: exec.CommandContext(ctx, bin, append([]string{"serve", "d=" + root, "--addr", "127.0.0.1:0", "--ready-json", "--quiet"}, flags...)...)}
	d.cmd.Stderr = os.Stderr
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := d.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		var ready struct{ URL string }
		err = json.Unmarshal(line, &ready)
		d.url = ready.URL
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("farread serve does not start: %w", err), d.stop())
	}
	return d, nil
}

// stop ends the server.
func (d *daemon) stop() error {
	err := d.cmd.Process.Signal(syscall.SIGTERM)
	_ = d.cmd.Wait() // ended by the signal
	return err
}

// ready waits until something listens.
func (d *daemon) ready(ctx context.Context) error {
	var dialer net.Dialer
	for range 200 {
		c, err := dialer.DialContext(ctx, "tcp", strings.TrimPrefix(d.url, "http://"))
		if err == nil {
			return c.Close()
		}
		if !wait(ctx, 25*time.Millisecond) {
			return ctx.Err()
		}
	}
	return fmt.Errorf("%s does not answer at %s", d.cmd.Path, d.url)
}

// cpu is the processor time that the server has taken, that of its processes that run
// included.
func (d *daemon) cpu() (time.Duration, error) {
	sum := time.Duration(0)
	for _, pid := range d.pids() {
		text, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
		if err != nil {
			return 0, &skipped{"no /proc here"}
		}
		f := strings.Fields(string(text)[strings.LastIndexByte(string(text), ')')+1:])
		if len(f) < 13 {
			return 0, errors.New("/proc/PID/stat is short")
		}
		for _, ticks := range f[11:13] { // of user and system, 100 a second
			n, err := strconv.ParseInt(ticks, 10, 64)
			if err != nil {
				return 0, err
			}
			sum += time.Duration(n) * 10 * time.Millisecond
		}
	}
	return sum, nil
}

// pids are the server's process and its children.
func (d *daemon) pids() []string {
	pid := strconv.Itoa(d.cmd.Process.Pid)
	text, _ := os.ReadFile(filepath.Join("/proc", pid, "task", pid, "children")) // "": none, or it is not told
	return append([]string{pid}, strings.Fields(string(text))...)
}

// freePort is a port of the loopback interface that nothing listened at a moment ago.
func freePort(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, errors.Join(err, l.Close())
}

// startNginx serves a folder by nginx as it is told to for static files.
func (b *bench) startNginx(ctx context.Context, folder string) (*daemon, error) {
	bin, err := tool("nginx", "/usr/sbin/nginx")
	if err != nil {
		return nil, err
	}
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := b.sub("nginx")
	if err != nil {
		return nil, err
	}
	user := ""
	if os.Geteuid() == 0 {
		user = "user root;\n" // the folder is ours alone
	}
	text := fmt.Sprintf(`%sworker_processes auto;
daemon off;
pid %[2]s/pid;
error_log stderr error;
events { worker_connections 1024; }
http {
	access_log off;
	sendfile on;
	tcp_nopush on;
	keepalive_requests 1000000000;
	client_body_temp_path %[2]s/b; proxy_temp_path %[2]s/p; fastcgi_temp_path %[2]s/f; uwsgi_temp_path %[2]s/u; scgi_temp_path %[2]s/s;
	default_type application/octet-stream;
	server { listen 127.0.0.1:%[3]s; root %[4]s; }
}
`, user, dir, port, folder)
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, err
	}
	d, err := startDaemon(ctx, "http://127.0.0.1:"+port, bin, "-c", file, "-p", dir, "-e", "stderr")
	if err != nil {
		return nil, err
	}
	return d, d.ready(ctx)
}

// tool finds a program, or says which package has it.
func tool(name string, others ...string) (string, error) {
	for _, n := range append([]string{name}, others...) {
		if p, err := exec.LookPath(n); err == nil {
			return p, nil
		}
	}
	return "", &skipped{"no " + name + " here: install the package of that name"}
}

// An origin serves a folder over HTTP as a store of objects does, each with an ETag, at
// some distance.
type origin struct {
	*proxy

	srv *http.Server
}

func newOrigin(ctx context.Context, dir string, p profile) (*origin, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	files := http.FileServer(http.Dir(dir))
	o := &origin{srv: &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if in, err := os.Stat(filepath.Join(dir, filepath.FromSlash(r.URL.Path))); err == nil && !in.IsDir() {
			w.Header().Set("ETag", fmt.Sprintf(`"%x-%x"`, in.ModTime().UnixNano(), in.Size()))
		}
		files.ServeHTTP(w, r)
	})}}
	go func() { _ = o.srv.Serve(l) }() // ends with close
	if o.proxy, err = newProxy(ctx, l.Addr().String(), p); err != nil {
		_ = o.srv.Close()
		return nil, err
	}
	return o, nil
}

func (o *origin) close() {
	o.proxy.close()
	_ = o.srv.Close()
}
