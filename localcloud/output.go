package main

import (
	"encoding/json"
	"io"
	"sync"
)

// ready is the first line of standard output.
type ready struct {
	Endpoint  string   `json:"endpoint"`
	AccessKey string   `json:"access_key"`
	SecretKey string   `json:"secret_key"`
	Region    string   `json:"region"`
	Buckets   []string `json:"buckets"`
	Dir       string   `json:"dir"`

	URLs map[string]string `json:"urls,omitempty"` // where functions answer HTTP
}

// output writes lines of JSON, those from before ready after it. It is safe for
// concurrent use.
type output struct {
	w      io.Writer
	broken func() // called when the reader has closed the pipe

	mu    sync.Mutex
	ready bool
	early []any
}

// start writes the ready line.
func (o *output) start(r ready) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ready = true
	o.write(r)
	for _, v := range o.early {
		o.write(v)
	}
	o.early = nil
}

// line writes one more line.
func (o *output) line(v any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.ready {
		o.early = append(o.early, v)
		return
	}
	o.write(v)
}

func (o *output) write(v any) {
	b, err := json.Marshal(v)
	if err == nil {
		_, err = o.w.Write(append(b, '\n'))
	}
	if err != nil {
		o.broken()
	}
}
