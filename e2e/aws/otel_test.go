package aws

import (
	"bytes"
	"context"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/farread/farread"
	"github.com/farread/farread/gateway"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

// A recorder is a TracerProvider that keeps the spans that ended. This module has
// OpenTelemetry's API anyway, for the client of Docker, but not its SDK.
type recorder struct {
	embedded.TracerProvider

	mu    sync.Mutex
	spans []*span
}

type span struct {
	noop.Span

	r      *recorder
	name   string
	self   trace.SpanContext
	parent trace.SpanContext
}

func (r *recorder) Tracer(string, ...trace.TracerOption) trace.Tracer { return tracer{r: r} }

type tracer struct {
	embedded.Tracer

	r *recorder
}

func (t tracer) Start(ctx context.Context, name string, _ ...trace.SpanStartOption) (context.Context, trace.Span) {
	r := t.r
	r.mu.Lock()
	defer r.mu.Unlock()
	parent := trace.SpanContextFromContext(ctx)
	id := trace.SpanID{byte(len(r.spans) + 1), 1}
	s := &span{r: r, name: name, parent: parent, self: parent.WithSpanID(id).WithTraceFlags(trace.FlagsSampled)}
	r.spans = append(r.spans, s)
	return trace.ContextWithSpan(ctx, s), s
}

func (s *span) SpanContext() trace.SpanContext       { return s.self }
func (s *span) IsRecording() bool                    { return true }
func (s *span) TracerProvider() trace.TracerProvider { return s.r }

// sourceSpans makes a span of each request to a store; docs/serving.md shows it.
func sourceSpans(tracer trace.Tracer) objstore.Middleware {
	return objstore.TraceContext(func(ctx context.Context, e objstore.Event) {
		_, span := tracer.Start(ctx, "source "+e.Op, trace.WithTimestamp(e.Start), trace.WithSpanKind(trace.SpanKindClient),
			trace.WithAttributes(attribute.String("key", e.Key), attribute.Int64("bytes", e.Bytes)))
		span.End(trace.WithTimestamp(e.Start.Add(e.Duration)))
	})
}

// TestOpenTelemetry: a gateway below otelhttp has a span for each request, in the trace
// that the client names, and below it one for each request to the source.
func TestOpenTelemetry(t *testing.T) {
	r := &recorder{}
	b := memstore.New(memstore.Config{Name: "mem://t"})
	if _, err := objstore.Put(t.Context(), b, "a/x.txt", bytes.NewReader([]byte("text\n")), objstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	g, err := gateway.New(gateway.Config{Client: farread.New(farread.Config{NoHedge: true}), Roots: []gateway.Root{{Name: "a", Bucket: objstore.Chain(b, sourceSpans(r.Tracer("farread"))), Key: "a/"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	h := otelhttp.NewHandler(g, "farread", otelhttp.WithTracerProvider(r), otelhttp.WithPropagators(propagation.TraceContext{}))
	w := httptest.NewRecorder()
	q := httptest.NewRequest("GET", "http://localhost/raw/a/x.txt", nil)
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	q.Header.Set("Traceparent", "00-"+id+"-00f067aa0ba902b7-01")
	if h.ServeHTTP(w, q); w.Code != 200 || w.Body.String() != "text\n" {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if len(r.spans) < 2 || r.spans[0].self.TraceID().String() != id || r.spans[0].parent.SpanID().String() != "00f067aa0ba902b7" {
		t.Fatalf("%d spans", len(r.spans))
	}
	for _, s := range r.spans[1:] {
		if !strings.HasPrefix(s.name, "source ") || s.parent.SpanID() != r.spans[0].self.SpanID() || s.self.TraceID().String() != id {
			t.Errorf("span %q of %v below %v", s.name, s.self.TraceID(), s.parent.SpanID())
		}
	}
}
