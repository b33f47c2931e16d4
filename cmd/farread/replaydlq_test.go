package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/farread/farread/functions"
	"github.com/farread/farread/internal/teststack"
)

// queueServer speaks as much of SQS as moving messages needs. It checks the order of
// sending and deleting. The real SQS is asked in e2e.
type queueServer struct {
	t        *testing.T
	url      string
	mu       sync.Mutex
	queues   map[string][]*queued // by name
	sources  []string             // of the queue "dlq"
	requests []string
	next     int
	refuse   string          // the body that cannot be sent
	silent   string          // the body that is not sent, without a word in the answer
	noDelete bool            // requests to delete get no answer
	sent     func(m *queued) // called for each message that was sent
	bodies   map[string]bool // bodies that must be in some queue at any time
}

type queued struct {
	id, body string
	hidden   bool
}

func newQueueServer(t *testing.T, letters ...string) *queueServer {
	t.Helper()
	q := &queueServer{t: t, queues: map[string][]*queued{"dlq": nil, "work": nil}, sources: []string{"work"}, bodies: map[string]bool{}}
	srv := httptest.NewServer(q)
	t.Cleanup(srv.Close)
	q.url = srv.URL + "/000000000000/"
	for _, b := range letters {
		q.add("dlq", b)
		q.bodies[b] = true
	}
	for k, v := range map[string]string{"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "y", "AWS_REGION": "us-east-1", "AWS_MAX_ATTEMPTS": "1",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_ENDPOINT_URL": ""} {
		t.Setenv(k, v)
	}
	return q
}

func (q *queueServer) add(name, body string) *queued {
	q.next++
	m := &queued{id: fmt.Sprintf("m-%04d", q.next), body: body}
	q.queues[name] = append(q.queues[name], m)
	return m
}

// bodiesIn are the bodies of a queue, sorted.
func (q *queueServer) bodiesIn(name string) []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	var out []string
	for _, m := range q.queues[name] {
		out = append(out, m.body)
	}
	slices.Sort(out)
	return out
}

type queueEntry struct {
	ID            string `json:"Id"`
	MessageBody   string
	ReceiptHandle string
}

func (q *queueServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var in struct {
		QueueURL            string `json:"QueueUrl"`
		MaxNumberOfMessages int
		MessageBody         string
		Entries             []queueEntry
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		q.t.Error(err)
	}
	op := strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "AmazonSQS.")
	q.requests = append(q.requests, op)
	name := strings.TrimPrefix(in.QueueURL, q.url)
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	fail := func(code string) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"__type":"com.amazonaws.sqs#%s","message":"no"}`, code)
	}
	if _, ok := q.queues[name]; !ok {
		fail("QueueDoesNotExist")
		return
	}
	out, ok := q.do(op, name, in.MaxNumberOfMessages, in.MessageBody, in.Entries)
	if !ok {
		fail("InternalError")
		return
	}
	for b := range q.bodies {
		if !slices.ContainsFunc(slices.Concat(q.queues["dlq"], q.queues["work"], q.queues["other"]), func(m *queued) bool { return m.body == b }) {
			q.t.Errorf("after %s %q is in no queue", op, b)
		}
	}
	_ = json.NewEncoder(w).Encode(out)
}

type object = map[string]any

func (q *queueServer) do(op, name string, most int, body string, entries []queueEntry) (object, bool) {
	good, bad := []object{}, []object{}
	done := object{}
	switch op {
	case "ListDeadLetterSourceQueues":
		urls := []string{}
		for _, s := range q.sources {
			urls = append(urls, q.url+s)
		}
		return object{"queueUrls": urls}, true
	case "ReceiveMessage":
		msgs := []object{}
		for _, m := range q.queues[name] {
			if !m.hidden && len(msgs) < most {
				m.hidden = true
				msgs = append(msgs, object{"MessageId": m.id, "ReceiptHandle": m.id, "Body": m.body})
			}
		}
		return object{"Messages": msgs}, true
	case "SendMessage":
		q.add(name, body)
		return object{"MessageId": "x"}, true
	case "SendMessageBatch":
		size := 0
		for _, e := range entries {
			if size += len(e.MessageBody); size > 256<<10 {
				q.t.Errorf("a request of %d bytes", size)
			}
			if e.MessageBody == q.refuse {
				bad = append(bad, object{"Id": e.ID, "Code": "InvalidMessageContents", "Message": "no", "SenderFault": true})
				continue
			}
			if e.MessageBody == q.silent {
				continue
			}
			m := q.add(name, e.MessageBody)
			good = append(good, object{"Id": e.ID, "MessageId": m.id})
			if q.sent != nil {
				q.sent(m)
			}
		}
	case "DeleteMessageBatch", "ChangeMessageVisibilityBatch":
		if op == "DeleteMessageBatch" && q.noDelete {
			return nil, false
		}
		for _, e := range entries {
			i := slices.IndexFunc(q.queues[name], func(m *queued) bool { return m.id == e.ReceiptHandle })
			if i < 0 {
				q.t.Errorf("%s of %q, which is not in %s", op, e.ReceiptHandle, name)
				continue
			}
			if op == "DeleteMessageBatch" {
				q.queues[name] = slices.Delete(q.queues[name], i, i+1)
			} else {
				q.queues[name][i].hidden = false
			}
			good = append(good, object{"Id": e.ID})
		}
	default:
		q.t.Errorf("request %q", op)
	}
	done["Successful"], done["Failed"] = good, bad
	return done, true
}

// deadEvents are n events as they lie in a queue.
func deadEvents(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf(`{"Records":[{"eventSource":"aws:s3","eventName":"ObjectCreated:Put","s3":{"bucket":{"name":"uploads"},"object":{"key":"clips/a+b%%2B%03d.tar","size":1}}}]}`, i))
	}
	return out
}

func (q *queueServer) replay(t *testing.T, args ...string) result {
	t.Helper()
	return runner{}.run(t, append([]string{"replay-dlq", "--queue", q.url + "dlq"}, args...)...)
}

func lastReport(t *testing.T, r result) (rep replayReport) {
	t.Helper()
	all := strings.Split(strings.TrimSpace(r.stdout), "\n")
	if err := json.Unmarshal([]byte(all[len(all)-1]), &rep); err != nil {
		t.Fatalf("exit %d: %v: %q %q", r.code, err, r.stdout, r.stderr)
	}
	return rep
}

// TestReplayQueue: every message reaches the queue that it came from. It is always in
// some queue, and if anything fails it stays where it was.
func TestReplayQueue(t *testing.T) {
	letters := append(deadEvents(23), "no event", `{"pad":"`+strings.Repeat("x", 200<<10)+`"}`, `{"pad":"`+strings.Repeat("y", 200<<10)+`"}`)
	slices.Sort(letters)
	q := newQueueServer(t, letters...)
	r := q.replay(t, "--dry-run")
	if r.code != 0 || strings.Count(r.stdout, "\n") != 27 || !strings.Contains(r.stdout, "uploads/clips/a b+007.tar") || !strings.HasSuffix(r.stdout, "26 letters to hand back, to "+q.url+"work\n") {
		t.Errorf("dry run: exit %d %s %q", r.code, r.stderr, r.stdout)
	}
	if got := q.bodiesIn("dlq"); !slices.Equal(got, letters) || slices.Contains(q.requests, "SendMessageBatch") {
		t.Errorf("a dry run left %d", len(got))
	}
	if rep := lastReport(t, q.replay(t, "--max", "7", "--json")); rep.Moved != 7 || len(q.bodiesIn("work")) != 7 || len(q.bodiesIn("dlq")) != 19 {
		t.Errorf("--max 7: %+v", rep)
	}
	r = q.replay(t, "--json")
	if rep := lastReport(t, r); r.code != 0 || rep.Moved != 19 || rep.Failed != 0 || rep.To != q.url+"work" {
		t.Errorf("exit %d %s %+v", r.code, r.stderr, rep)
	}
	if got := q.bodiesIn("work"); !slices.Equal(got, letters) || len(q.bodiesIn("dlq")) != 0 {
		t.Errorf("%d of %d arrived", len(got), len(letters))
	}
	if rep := lastReport(t, q.replay(t, "--json")); rep.Moved != 0 {
		t.Errorf("none left: %+v", rep)
	}
}

// TestReplayQueueTroubles: a message that cannot be sent stays. One that cannot be
// deleted is there twice. One that fails again ends the run.
func TestReplayQueueTroubles(t *testing.T) {
	letters := deadEvents(5)
	q := newQueueServer(t, letters...)
	q.refuse = letters[2]
	r := q.replay(t, "--json")
	if rep := lastReport(t, r); r.code != exitUnavailable || rep.Moved != 4 || rep.Failed == 0 || len(q.bodiesIn("work")) != 4 || !slices.Equal(q.bodiesIn("dlq"), letters[2:3]) {
		t.Errorf("refused: exit %d %+v %q", r.code, rep, q.bodiesIn("dlq"))
	}
	q = newQueueServer(t, letters...)
	q.silent = letters[3]
	r = q.replay(t, "--json")
	if rep := lastReport(t, r); r.code != exitUnavailable || rep.Moved != 4 || rep.Failed == 0 || len(q.bodiesIn("work")) != 4 || !slices.Equal(q.bodiesIn("dlq"), letters[3:4]) {
		t.Errorf("no answer: exit %d %+v %q", r.code, rep, q.bodiesIn("dlq"))
	}
	q = newQueueServer(t, letters...)
	q.noDelete = true
	if r := q.replay(t); r.code != exitUnavailable || len(q.bodiesIn("dlq")) != 5 || len(q.bodiesIn("work")) != 5 {
		t.Errorf("no delete: exit %d %s", r.code, r.stderr)
	}
	q = newQueueServer(t, letters...)
	q.sent = func(m *queued) { // it fails again, and comes back under its id
		q.queues["work"] = q.queues["work"][:len(q.queues["work"])-1]
		q.queues["dlq"] = append(q.queues["dlq"], m)
	}
	if rep := lastReport(t, q.replay(t, "--json")); rep.Moved != 5 || len(q.bodiesIn("dlq")) != 5 {
		t.Errorf("round and round: %+v", rep)
	}
	if slices.ContainsFunc(q.queues["dlq"], func(m *queued) bool { return m.hidden }) {
		t.Error("what came back is hidden still")
	}
	for name, c := range map[string]struct {
		sources []string
		args    []string
		code    int
	}{
		"of none":        {nil, []string{}, exitUsage},
		"of two":         {[]string{"work", "other"}, []string{}, exitUsage},
		"of two, with":   {[]string{"work", "other"}, []string{"--to", q.url + "work", "--dry-run"}, exitOK},
		"to itself":      {nil, []string{"--to", q.url + "dlq"}, exitUsage},
		"no such target": {nil, []string{"--to", q.url + "nowhere"}, exitNotFound},
	} {
		q.sources = c.sources
		if r := q.replay(t, c.args...); r.code != c.code || c.code != 0 && strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("%s: exit %d %q", name, r.code, r.stderr)
		}
	}
	for name, args := range map[string][]string{
		"none": {}, "two": {"--queue", q.url + "dlq", "--file", "x"}, "no URL": {"--queue", "dlq"}, "max": {"--queue", q.url + "dlq", "--max", "-1"},
		"rules of a queue": {"--queue", q.url + "dlq", "--rules", "x"}, "local, to": {"--local", q.url, "--to", q.url},
	} {
		if r := (runner{}).run(t, append([]string{"replay-dlq"}, args...)...); r.code != exitUsage {
			t.Errorf("%s: exit %d %q", name, r.code, r.stderr)
		}
	}
	if r := (runner{}).run(t, "replay-dlq", "--queue", q.url+"nowhere"); r.code != exitNotFound {
		t.Errorf("no such queue: exit %d %q", r.code, r.stderr)
	}
}

// TestReplayFile: letters of a file go to a queue, or through the handler here.
func TestReplayFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "dead-letters.jsonl")
	own := `{"function":"fn-pack","shape":"sqs","request_id":"r","tries":3,"error":"e","time":"2026-11-21T00:00:00Z","record":{"eventSource":"aws:s3","eventName":"ObjectCreated:Put","s3":{"bucket":{"name":"uploads"},"object":{"key":"clips/a+b.tar","size":1}}}}`
	write(t, file, []byte(own+"\n\n"+deadEvents(1)[0]+"\nno JSON\n"+`{"bucket":"uploads","key":"clips/a b.tar"}`+"\n"))
	q := newQueueServer(t)
	r := runner{}.run(t, "replay-dlq", "--file", file, "--to", q.url+"work", "--json")
	if rep := lastReport(t, r); r.code != exitUnavailable || rep.Moved != 3 || rep.Failed != 1 || len(q.bodiesIn("work")) != 3 || strings.Contains(strings.Join(q.bodiesIn("work"), ""), "fn-pack") {
		t.Errorf("exit %d %s %+v %q", r.code, r.stderr, rep, q.bodiesIn("work"))
	}
	if r := (runner{}).run(t, "replay-dlq", "--file", filepath.Join(dir, "none"), "--to", q.url+"work"); r.code != exitNotFound {
		t.Errorf("no file: exit %d %s", r.code, r.stderr)
	}
	stackEnv(t, teststack.Options{Buckets: []string{"uploads", "datasets"}})
	upload(t, "s3://uploads/clips/a b.tar", photosTar(t))
	rules := filepath.Join(dir, "rules.json")
	write(t, rules, []byte(fillRules))
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r = runner{stdin: string(text)}.run(t, "replay-dlq", "--file", "-", "--rules", rules)
	if r.code != exitUnavailable || !strings.HasSuffix(r.stdout, "3 letters handed back, to the handler; 1 failed and stay\n") {
		t.Errorf("exit %d %s %q", r.code, r.stderr, r.stdout)
	}
	run(t, "verify", "s3://datasets/made/clips/a b.tar.gulp")
}

// TestReplayRecorded: an event of any recorded shape, in a file of its own or in a
// line, is a letter: a queue gets messages that a function understands.
func TestReplayRecorded(t *testing.T) {
	files, err := filepath.Glob("../../functions/testdata/events/*.json")
	if err != nil || len(files) < 20 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var line bytes.Buffer
		if err := json.Compact(&line, want); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string][]byte{"file": want, "line": line.Bytes(), "lines": bytes.Join([][]byte{line.Bytes(), line.Bytes()}, []byte("\n"))} {
			q := newQueueServer(t)
			r := runner{stdin: string(text)}.run(t, "replay-dlq", "--file", "-", "--to", q.url+"work", "--json")
			n := 1
			if name == "lines" {
				n = 2
			}
			if rep := lastReport(t, r); r.code != 0 || rep.Moved != n || rep.Failed != 0 {
				t.Errorf("%s, %s: exit %d %s %+v", file, name, r.code, r.stderr, rep)
			}
			if got, want := saidOf(t, q.bodiesIn("work")...), saidBy(t, want, n); !slices.Equal(got, want) {
				t.Errorf("%s, %s:\n got %q\nwant %q", file, name, got, want)
			}
		}
	}
}

// saidOf are the objects that a function finds in messages with these bodies, sorted.
func saidOf(t *testing.T, bodies ...string) []string {
	t.Helper()
	type record struct {
		Source string `json:"eventSource"`
		ID     string `json:"messageId"`
		Body   string `json:"body"`
	}
	records := []record{}
	for i, b := range bodies {
		records = append(records, record{"aws:sqs", fmt.Sprint(i), b})
	}
	event, err := json.Marshal(object{"Records": records})
	if err != nil {
		t.Fatal(err)
	}
	return saidBy(t, event, 1)
}

// saidBy are the objects that a function finds in an event that comes n times, sorted.
func saidBy(t *testing.T, event []byte, n int) (out []string) {
	t.Helper()
	b, err := functions.Decode(event)
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		for _, m := range b.Messages {
			for _, u := range m.Uploads {
				out = append(out, fmt.Sprintf("%+v", u))
			}
			out = append(out, slices.Repeat([]string{"nothing to do"}, m.Ignored)...)
			if m.Err != nil {
				out = append(out, m.Err.Error())
			}
		}
	}
	slices.Sort(out)
	return out
}

// TestReplayLocal: a running local cloud delivers its dead letters again.
func TestReplayLocal(t *testing.T) {
	dir := t.TempDir()
	rules := filepath.Join(dir, "rules.json")
	write(t, rules, []byte(fillRules))
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o750); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(data, "dead-letters.jsonl"), []byte(strings.Repeat(`{"function":"fn-pack","shape":"s3","tries":3,"record":{"eventSource":"aws:s3","eventName":"ObjectCreated:Put","s3":{"bucket":{"name":"uploads"},"object":{"key":"clips/a.tar","size":1,"sequencer":"1"}}}}`+"\n", 3)))
	nothing := filepath.Join(dir, "bootstrap")
	write(t, nothing, []byte("#!/bin/sh\nexit 3\n"))
	if err := os.Chmod(nothing, 0o700); err != nil {
		t.Fatal(err)
	}
	s := stackEnv(t, teststack.Options{Dir: data, Args: []string{"--rules", rules, "--function", "fn-pack=" + nothing, "--function", "fn-zoom=" + nothing, "--tries", "1"}})
	for _, dry := range []bool{true, false} {
		args := []string{"replay-dlq", "--local", s.Endpoint, "--json"}
		if dry {
			args = append(args, "--dry-run")
		}
		r := runner{}.run(t, args...)
		if rep := lastReport(t, r); r.code != 0 || rep.Moved != 3 || rep.DryRun != dry {
			t.Errorf("exit %d %s %+v", r.code, r.stderr, rep)
		}
	}
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	if r := (runner{}).run(t, "replay-dlq", "--local", srv.URL); r.code != exitUsage || !strings.Contains(r.stderr, "no local cloud") {
		t.Errorf("exit %d %q", r.code, r.stderr)
	}
	if r := (runner{}).run(t, "replay-dlq", "--local", "http://127.0.0.1:1/"); r.code != exitUnavailable || strings.Contains(r.stderr, "no local cloud") {
		t.Errorf("exit %d %q", r.code, r.stderr)
	}
}
