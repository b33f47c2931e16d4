package lambda

import (
	"bytes"
	"log/slog"
	"sync"
	"sync/atomic"
)

// maxLine is the longest log line kept in one piece; CloudWatch's is 256 KB too.
const maxLine = 256 << 10

// logWriter turns the output of a process into log records, one a line, with the id of
// the request that the process works on.
type logWriter struct {
	log *slog.Logger
	id  *atomic.Pointer[string]

	mu  sync.Mutex
	buf []byte
}

// Write never fails.
func (w *logWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf = append(w.buf, p...)
	for {
		i := bytes.IndexByte(w.buf, '\n')
		if i < 0 && len(w.buf) < maxLine {
			return len(p), nil
		}
		if i < 0 || i > maxLine {
			w.line(w.buf[:maxLine])
			w.buf = w.buf[maxLine:]
			continue
		}
		w.line(w.buf[:i])
		w.buf = w.buf[i+1:]
	}
}

// flush logs a last line without an end.
func (w *logWriter) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.line(w.buf)
	w.buf = nil
}

func (w *logWriter) line(b []byte) {
	if len(b) == 0 {
		return
	}
	id := "init"
	if p := w.id.Load(); p != nil {
		id = *p
	}
	w.log.Info(string(b), "request_id", id)
}
