//go:build e2e

package aws_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/log"
	"github.com/testcontainers/testcontainers-go/modules/localstack"

	"github.com/farread/farread/e2e/aws/deploy"
)

// What may be set. Region and credentials are the SDK's own names.
const (
	envEndpoint = "E2E_ENDPOINT"          // runs against this endpoint instead of a container
	envFunction = "E2E_FUNCTION_ENDPOINT" // the endpoint as functions see it; "": the cloud tells them itself
	envRole     = "E2E_ROLE"              // ARN of the functions' role
	envRequire  = "E2E_REQUIRE"           // "1": no Docker is a failure
	envImage    = "LOCALSTACK_IMAGE"
	envHost     = "TESTCONTAINERS_HOST_OVERRIDE" // where ports of containers are

	defaultImage = "localstack/localstack:4.14.0" // the last that starts without a token
)

// cloud is what the tests run on.
var cloud *deploy.Cloud

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c := deploy.Config{Endpoint: os.Getenv(envEndpoint), FunctionEndpoint: os.Getenv(envFunction), Role: os.Getenv(envRole)}
	if c.Endpoint == "" {
		stop, stopped := make(chan os.Signal, 1), make(chan struct{})
		signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
		go func() { // an interrupted run leaves no container behind
			<-stop
			close(stopped)
			cancel()
		}()
		end, endpoint, err := start(ctx)
		defer end()
		var none *noDocker
		switch {
		case errors.As(err, &none) && os.Getenv(envRequire) != "1":
			fmt.Printf("SKIP: %v. Nothing was tested: start Docker, or name an endpoint in %s.\n", err, envEndpoint)
			return 0
		case err != nil:
			fmt.Printf("FAIL: %v\n", err)
			return 1
		}
		c.Endpoint = endpoint
		go func() {
			<-stopped
			end()
			os.Exit(130)
		}()
	}
	var err error
	if cloud, err = deploy.New(ctx, c); err != nil {
		fmt.Printf("FAIL: %v\n", err)
		return 1
	}
	return m.Run()
}

// noDocker: there is no daemon to ask.
type noDocker struct{ err error }

func (e *noDocker) Error() string { return "no Docker daemon answers: " + e.err.Error() }
func (e *noDocker) Unwrap() error { return e.err }

// start starts LocalStack, once for all tests. An image that is there is not pulled.
func start(ctx context.Context) (end func(), endpoint string, err error) {
	end = func() {}
	// The reaper is one more image to pull; run ends the container itself.
	if os.Getenv("TESTCONTAINERS_RYUK_DISABLED") == "" {
		os.Setenv("TESTCONTAINERS_RYUK_DISABLED", "true")
	}
	if err := ping(ctx); err != nil {
		return end, "", &noDocker{err}
	}
	image := os.Getenv(envImage)
	if image == "" {
		image = defaultImage
	}
	begun := time.Now()
	c, err := localstack.Run(ctx, image,
		testcontainers.WithLogger(log.NewNoopLogger()),
		testcontainers.WithEnv(map[string]string{
			"DISABLE_EVENTS":          "1", // no telemetry
			"LAMBDA_RETRY_BASE_DELAY": "1", // seconds until a failed event comes to a function again; AWS waits a minute
			// AWS polls queues all the time; LocalStack's own values leave an idle one for 10 s.
			"LAMBDA_EVENT_SOURCE_MAPPING_POLL_INTERVAL_SEC":             "0.1",
			"LAMBDA_EVENT_SOURCE_MAPPING_MAX_BACKOFF_ON_EMPTY_POLL_SEC": "0.2",
		}),
		testcontainers.WithHostConfigModifier(func(h *container.HostConfig) {
			// Whatever the daemon's default is: a port on loopback only.
			h.PortBindings = network.PortMap{network.MustParsePort("4566/tcp"): {{HostIP: netip.MustParseAddr("127.0.0.1")}}}
			// LocalStack's own image starts functions as containers beside itself.
			h.Binds = []string{testcontainers.MustExtractDockerSocket(ctx) + ":/var/run/docker.sock"}
		}))
	end = func() { _ = testcontainers.TerminateContainer(c) }
	if err != nil {
		return end, "", fmt.Errorf("%s: %w", image, err)
	}
	endpoint, err = c.PortEndpoint(ctx, "4566/tcp", "http")
	if err != nil {
		return end, "", err
	}
	fmt.Printf("%s answers at %s after %.1f s\n", image, endpoint, time.Since(begun).Seconds())
	return end, endpoint, nil
}

// ping asks the daemon, without the panic of testcontainers where there is none.
func ping(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	p, err := testcontainers.NewDockerProvider(testcontainers.WithLogger(log.NewNoopLogger()))
	if err != nil {
		return err
	}
	defer p.Close()
	if err := p.Health(ctx); err != nil {
		return err
	}
	info, err := p.Client().Info(ctx, client.InfoOptions{})
	if err != nil {
		return err
	}
	// In a container testcontainers looks for ports at the gateway of Docker's network.
	// A daemon that runs in the same container has them on loopback.
	if name, err := os.Hostname(); err == nil && name == info.Info.Name && os.Getenv(envHost) == "" {
		return os.Setenv(envHost, "127.0.0.1")
	}
	return nil
}
