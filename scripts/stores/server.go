package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/farread/farread/internal/stack"
)

// What the servers are started with, or do not look at; localcloud has keys of its own.
const (
	accessKey = "test"
	secretKey = "testtest"
	region    = "us-east-1"
	bucket    = "farread"
)

// patience is how long a server may take to make its first bucket.
const patience = 5 * time.Minute

// A server runs, and has a bucket.
type server struct {
	endpoint, accessKey, secretKey string

	cmd   *exec.Cmd      // nil: it ran before
	local *stack.Process // localcloud
	ended chan struct{}
	dir   string
	out   output
}

// start starts the server of a store, and makes the bucket.
func start(ctx context.Context, s store) (*server, error) {
	srv := &server{endpoint: s.command, accessKey: accessKey, secretKey: secretKey, ended: make(chan struct{})}
	if !strings.Contains(s.command, "://") {
		if err := srv.run(ctx, s.command); err != nil {
			srv.stop()
			return nil, err
		}
	}
	if err := srv.makeBucket(ctx); err != nil {
		srv.stop()
		return nil, fmt.Errorf("%w\n%s", err, srv.log())
	}
	return srv, nil
}

func (s *server) run(ctx context.Context, command string) (err error) {
	if s.dir, err = os.MkdirTemp("", "store-"); err != nil {
		return err
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	port2, err := freePort()
	if err != nil {
		return err
	}
	words := strings.Fields(strings.NewReplacer("{port}", port, "{port2}", port2, "{dir}", s.dir).Replace(command))
	if filepath.Base(words[0]) == "localcloud" { // it makes keys of its own
		if s.local, err = stack.Start(ctx, words[0], words[1:]...); err == nil {
			s.endpoint, s.accessKey, s.secretKey = s.local.Endpoint, s.local.AccessKey, s.local.SecretKey
		}
		return err
	}
	s.endpoint = "http://127.0.0.1:" + port
	cmd := exec.Command(words[0], words[1:]...) //nolint:noctx // stop ends it, and what it started
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &s.out, &s.out, time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return err
	}
	s.cmd = cmd
	go func() {
		defer close(s.ended)
		_ = cmd.Wait() // its output tells more
	}()
	return nil
}

// freePort is a port of loopback that was free a moment ago.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // returns at once
	if err != nil {
		return "", err
	}
	defer l.Close() //nolint:errcheck // nobody was let in
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), nil
}

// makeBucket asks for the bucket until the server answers.
func (s *server) makeBucket(ctx context.Context) error {
	client := s3.New(s3.Options{
		BaseEndpoint: &s.endpoint, Region: region, UsePathStyle: true,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: s.accessKey, SecretAccessKey: s.secretKey}, nil
		}),
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
	})
	for begun := time.Now(); ; {
		_, err := client.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String(bucket)})
		if err == nil {
			return nil
		}
		if _, head := client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: aws.String(bucket)}); head == nil {
			return nil // of an earlier run, on a server that goes on
		}
		if time.Since(begun) > patience {
			return err
		}
		select {
		case <-s.ended:
			return errors.New("the server has ended")
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// stop ends the server, and removes what it kept.
func (s *server) stop() {
	if s.cmd != nil {
		_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGTERM) // it may have ended
		select {
		case <-s.ended:
		case <-time.After(5 * time.Second):
			_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
			<-s.ended
		}
	}
	if s.local != nil {
		_ = s.local.Stop(time.Second) // what it kept is removed
	}
	if s.dir != "" {
		_ = os.RemoveAll(s.dir) // a temporary folder
	}
}

func (s *server) log() string { return s.out.String() }

// output keeps the end of what a server says.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	const most = 4 << 10
	n, err := o.buf.Write(p)
	if o.buf.Len() > 2*most {
		o.buf.Next(o.buf.Len() - most)
	}
	return n, err
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}
