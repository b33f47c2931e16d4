package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestReplayElsewhere: if something else answers in place of a queue, one line says
// where, without words of the SDK. Errors of SQS itself are told unchanged.
func TestReplayElsewhere(t *testing.T) {
	newQueueServer(t)
	const aws = "application/x-amz-json-1.0"
	for name, c := range map[string]struct {
		status     int
		kind, body string
		code       int
		say        string // "": the error says that it is no SQS
	}{
		"a page":               {200, "text/html", "<html>hi</html>", exitUsage, ""},
		"other JSON":           {200, "application/json", `{"status":"ok"}`, exitUsage, ""},
		"a list":               {200, "application/json", `["a"]`, exitUsage, ""},
		"null":                 {200, "application/json", `null`, exitUsage, ""},
		"nothing":              {200, "", "", exitUsage, ""},
		"XML":                  {200, "text/xml", "<ListQueuesResponse/>", exitUsage, ""},
		"404":                  {404, "text/plain", "404 page not found", exitUsage, ""},
		"404 of S3":            {404, "application/xml", "<Error><Code>NoSuchBucket</Code></Error>", exitUsage, ""},
		"405":                  {405, "", "", exitUsage, ""},
		"a gateway's 403":      {403, "application/json", `{"message":"Missing Authentication Token"}`, exitDenied, ""},
		"a gateway's 503":      {503, "text/html", "<h1>no</h1>", exitUnavailable, ""},
		"a redirect":           {301, "text/html", "<h1>there</h1>", exitUsage, ""},
		"SQS, cut short":       {200, aws, `{"Messa`, exitUnavailable, "service unavailable: ListDeadLetterSourceQueues: the answer cannot be read: "},
		"SQS, no such address": {400, aws, `{"__type":"com.amazonaws.sqs#InvalidAddress","message":"not valid"}`, exitUsage, "ListDeadLetterSourceQueues: InvalidAddress: not valid"},
		"SQS, denied":          {403, aws, `{"__type":"com.amazonaws.sqs#AccessDeniedException","message":"no"}`, exitDenied, "access denied: ListDeadLetterSourceQueues: AccessDeniedException: no"},
		"SQS, no such queue":   {400, "application/json", `{"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"no"}`, exitNotFound, "not found: ListDeadLetterSourceQueues: QueueDoesNotExist: no"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Content-Type"] = []string{c.kind}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}))
			defer srv.Close()
			host, queue := strings.TrimPrefix(srv.URL, "http://"), srv.URL+"/0/dlq"
			for _, args := range [][]string{nil, {"--to", srv.URL + "/0/work"}, {"--dry-run"}} {
				op, say := "ListDeadLetterSourceQueues", c.say
				if len(args) == 2 {
					op = "ReceiveMessage"
				}
				if say == "" {
					say = fmt.Sprintf("%s answers %s with %d", host, op, c.status)
				}
				say = strings.ReplaceAll(say, "ListDeadLetterSourceQueues", op)
				r := runner{}.run(t, append([]string{"replay-dlq", "--queue", queue}, args...)...)
				if r.code != c.code || strings.Count(r.stderr, "\n") != 1 || !strings.HasPrefix(r.stderr, "replay-dlq "+queue+": ") || !strings.Contains(r.stderr, say) {
					t.Errorf("%q: exit %d %q; want %d and %q", args, r.code, r.stderr, c.code, say)
				}
				if c.say == "" && !strings.Contains(r.stderr, "check the URL of the queue") {
					t.Errorf("%q: what to do is not said: %q", args, r.stderr)
				}
				for _, raw := range []string{"operation error", "https response error", "deserialization", "RequestID"} {
					if strings.Contains(r.stderr, raw) {
						t.Errorf("%q: %q", args, r.stderr)
					}
				}
				if len(args) != 2 && !strings.HasSuffix(r.stdout, ", to no queue\n") {
					t.Errorf("%q: %q", args, r.stdout)
				}
			}
		})
	}
}

// TestReplayAnyJSON: stores of queues that mark their answers as plain JSON are
// accepted.
func TestReplayAnyJSON(t *testing.T) {
	q := newQueueServer(t, deadEvents(3)...)
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		q.ServeHTTP(rec, r)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(rec.Code)
		_, _ = w.Write(rec.Body.Bytes())
	}))
	defer plain.Close()
	if r := q.replay(t, "--endpoint-url", plain.URL); r.code != 0 || len(q.bodiesIn("work")) != 3 || len(q.bodiesIn("dlq")) != 0 {
		t.Errorf("exit %d %q", r.code, r.stderr)
	}
	if r := (runner{}).run(t, "replay-dlq", "--endpoint-url", plain.URL, "--queue", q.url+"nowhere"); r.code != exitNotFound {
		t.Errorf("exit %d %q", r.code, r.stderr)
	}
}

// TestReplayNoCredentials: missing credentials are told as for S3.
func TestReplayNoCredentials(t *testing.T) {
	q := newQueueServer(t)
	for k, v := range map[string]string{"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_EC2_METADATA_DISABLED": "true"} {
		t.Setenv(k, v)
	}
	if r := q.replay(t); r.code != exitDenied || !strings.HasSuffix(r.stderr, "no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE: access denied\n") {
		t.Errorf("exit %d %q", r.code, r.stderr)
	}
}

// TestNoLocal: a server that is no local cloud is called so, for all of its answers.
func TestNoLocal(t *testing.T) {
	for _, status := range []int{200, 400, 403, 404, 405} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "<h1>a page</h1>")
		}))
		for _, args := range [][]string{nil, {"--dry-run"}} {
			r := runner{}.run(t, append([]string{"replay-dlq", "--local", srv.URL}, args...)...)
			if r.code != exitUsage || !strings.Contains(r.stderr, "is no local cloud") {
				t.Errorf("%d: exit %d %q", status, r.code, r.stderr)
			}
		}
		srv.Close()
	}
}
