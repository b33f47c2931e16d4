package lambda

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Sizes of the Runtime API.
const (
	maxResponse = 6 << 20   // Lambda's limit of a synchronous answer, in bytes
	maxStream   = 200 << 20 // Lambda's limit of a streamed answer
	maxError    = 256 << 10 // longest error document; longer ones are cut
	prefix      = "/2018-06-01/runtime"
)

// invocation is an event that a process works on.
type invocation struct {
	id      string
	payload []byte
	stream  io.Writer     // gets the answer as it comes; nil: the outcome has it
	taken   chan struct{} // closed once the process has the event
	done    chan outcome  // holds one
}

type outcome struct {
	body []byte
	err  error
}

func newInvocation(payload []byte, stream io.Writer) *invocation {
	return &invocation{id: requestID(), payload: payload, stream: stream, taken: make(chan struct{}), done: make(chan outcome, 1)}
}

// requestID is a random UUID (RFC 9562, version 4).
func requestID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // rand.Read never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// handler is the Runtime API of one process:
// https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
func (e *environment) handler() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET "+prefix+"/invocation/next", e.next)
	m.HandleFunc("POST "+prefix+"/invocation/{id}/response", e.response)
	m.HandleFunc("POST "+prefix+"/invocation/{id}/error", e.failure)
	m.HandleFunc("POST "+prefix+"/init/error", e.initError)
	return m
}

func (e *environment) next(w http.ResponseWriter, r *http.Request) {
	e.readyOnce.Do(func() { close(e.ready) })
	select {
	case <-r.Context().Done():
	case v := <-e.queue:
		e.current.Store(v)
		e.last.Store(&v.id)
		h := w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("Lambda-Runtime-Aws-Request-Id", v.id)
		h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(time.Now().Add(e.cfg.Timeout).UnixMilli(), 10))
		h.Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:"+e.cfg.Region+":000000000000:function:"+e.cfg.Name)
		h.Set("Lambda-Runtime-Trace-Id", "Root=1-00000000-"+strings.ReplaceAll(v.id, "-", "")[:24]+";Sampled=0")
		close(v.taken)
		_, _ = w.Write(v.payload) // if the process is gone, its end is noticed
	}
}

// finish gives the outcome to the invocation that waits for it. It returns false if
// the answer is to another invocation.
func (e *environment) finish(id string, o outcome) bool {
	v := e.current.Load()
	if v == nil || v.id != id || !e.current.CompareAndSwap(v, nil) {
		return false
	}
	v.done <- o
	return true
}

func (e *environment) response(w http.ResponseWriter, r *http.Request) {
	most := int64(maxResponse)
	var into bytes.Buffer
	to := io.Writer(&into)
	if v := e.current.Load(); v != nil && v.id == r.PathValue("id") && v.stream != nil {
		most, to = maxStream, &untilFull{w: v.stream}
	}
	_, err := io.Copy(to, http.MaxBytesReader(w, r.Body, most))
	body := into.Bytes()
	o := outcome{body: body}
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		o = outcome{err: fmt.Errorf("%w: Function.ResponseSizeTooLarge: more than %d bytes", ErrFunction, most)}
	case err != nil:
		return // cut off: the process is ending
	case r.Trailer.Get("Lambda-Runtime-Function-Error-Type") != "":
		// A streamed answer that failed half way says so in its trailer.
		o.err = fmt.Errorf("%w: %s", ErrFunction, r.Trailer.Get("Lambda-Runtime-Function-Error-Type"))
	}
	e.answer(w, e.finish(r.PathValue("id"), o), o.err == nil || tooLarge == nil)
}

// untilFull takes all, and hands it on until that fails: Lambda lets a function go on
// whose client has gone.
type untilFull struct {
	w   io.Writer
	err error
}

func (u *untilFull) Write(p []byte) (int, error) {
	if u.err == nil {
		_, u.err = u.w.Write(p)
	}
	return len(p), nil
}

func (e *environment) failure(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, maxError))
	e.answer(w, e.finish(r.PathValue("id"), outcome{body, fmt.Errorf("%w: %s", ErrFunction, firstOf(body))}), true)
}

func (e *environment) initError(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, maxError))
	select {
	case e.initFailed <- fmt.Errorf("%w: %s", ErrInit, firstOf(body)):
	default: // an outcome was sent already
	}
	e.answer(w, true, true)
}

// answer is the Runtime API's reply to a report.
func (e *environment) answer(w http.ResponseWriter, known, fits bool) {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case !known:
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"errorType":"InvalidRequestID","errorMessage":"not the current request"}`)
	case !fits:
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		_, _ = io.WriteString(w, `{"errorType":"RequestEntityTooLarge","errorMessage":"the answer is too large"}`)
	default:
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, `{"status":"OK"}`)
	}
}
