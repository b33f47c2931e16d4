package delivery

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/farread/farread/localcloud/notify"
)

// A Letter is an event that no try could deliver: one JSON line of the file.
type Letter struct {
	Function  string        `json:"function"`
	Shape     string        `json:"shape"`
	RequestID string        `json:"request_id"` // request id of the last try
	Tries     int           `json:"tries"`
	Error     string        `json:"error"` // error of the last try
	Time      time.Time     `json:"time"`
	Record    notify.Record `json:"record"`
}

// deadLetters is the file of letters. It is safe for concurrent use.
type deadLetters struct {
	path string
	mu   sync.Mutex
}

// openDeadLetters cuts off an incomplete last line, which a crash has left: the event
// of that line is not marked as done and comes again.
func openDeadLetters(path string) (*deadLetters, error) {
	d := &deadLetters{path: path}
	var whole int64
	err := d.each(func(_ Letter, end int64) error { whole = end; return nil })
	if err != nil {
		return nil, err
	}
	if err := os.Truncate(path, whole); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return d, nil
}

func (d *deadLetters) add(l Letter) error {
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	f, err := os.OpenFile(d.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	return errors.Join(err, f.Close())
}

func (d *deadLetters) count() (n int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	err = d.each(func(Letter, int64) error { n++; return nil })
	return n, err
}

// drain gives every letter to f and removes the file if f took them all.
func (d *deadLetters) drain(f func(Letter) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.each(func(l Letter, _ int64) error { return f(l) }); err != nil {
		return err
	}
	if err := os.Remove(d.path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// each calls f for each whole line with the offset of its end.
func (d *deadLetters) each(f func(l Letter, end int64) error) error {
	r, err := os.Open(d.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer r.Close() //nolint:errcheck // only read
	br := bufio.NewReader(r)
	for end := int64(0); ; {
		b, err := br.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		end += int64(len(b))
		var l Letter
		if err := json.Unmarshal(b, &l); err != nil {
			return fmt.Errorf("%s: %w", d.path, err)
		}
		if err := f(l, end); err != nil {
			return err
		}
	}
}
