package machinetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// A Server answers the calls of Step Functions for one machine. An execution has ended when
// the answer to its start comes, unless Hold is set.
type Server struct {
	Machine *Machine
	Hold    chan struct{} // executions begin when it is closed; nil: at once

	mu    sync.Mutex
	runs  map[string]*execution
	calls []string
	wake  chan struct{}
}

type execution struct {
	input, status string
	err           *Error
}

// Calls returns the calls so far, as "StartExecution NAME".
func (s *Server) Calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.calls...)
}

// Await waits until so many calls of a kind were answered, or done is closed.
func (s *Server) Await(kind string, n int, done <-chan struct{}) {
	for {
		s.mu.Lock()
		if s.wake == nil {
			s.wake = make(chan struct{})
		}
		wake, have := s.wake, 0
		for _, c := range s.calls {
			if strings.HasPrefix(c, kind+" ") {
				have++
			}
		}
		s.mu.Unlock()
		if have >= n {
			return
		}
		select {
		case <-wake:
		case <-done:
			return
		}
	}
}

// ServeHTTP answers a call.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct {
		StateMachineArn, Name, Input, ExecutionArn string
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	op := strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "AWSStepFunctions.")
	name := in.Name
	if name == "" {
		name = in.ExecutionArn[strings.LastIndexByte(in.ExecutionArn, ':')+1:]
	}
	status, answer := http.StatusOK, map[string]any{}
	refuse := func(code string) {
		status, answer = http.StatusBadRequest, map[string]any{"__type": code, "message": name}
	}
	s.mu.Lock()
	if s.runs == nil {
		s.runs = map[string]*execution{}
	}
	x := s.runs[name]
	other := x != nil && (x.status != "RUNNING" || x.input != in.Input)
	s.mu.Unlock()
	switch {
	case op == "StartExecution" && other:
		refuse("ExecutionAlreadyExists")
	case op == "StartExecution":
		if x == nil {
			s.start(name, in.Input)
		}
		answer["executionArn"] = strings.Replace(in.StateMachineArn, ":stateMachine:", ":execution:", 1) + ":" + name
		answer["startDate"] = 1
	case x == nil:
		refuse("ExecutionDoesNotExist")
	case op == "DescribeExecution":
		s.mu.Lock()
		answer["status"] = x.status
		if x.err != nil {
			answer["error"], answer["cause"] = x.err.Name, x.err.Cause
		}
		s.mu.Unlock()
	case op == "StopExecution":
		s.mu.Lock()
		x.status = "ABORTED"
		s.mu.Unlock()
		answer["stopDate"] = 1
	default:
		refuse("UnknownOperationException")
	}
	text, _ := json.Marshal(answer)
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.WriteHeader(status)
	fmt.Fprintf(w, "%s", text)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, op+" "+name)
	if s.wake != nil {
		close(s.wake)
		s.wake = nil
	}
}

// start starts an execution.
func (s *Server) start(name, input string) {
	x := &execution{input: input, status: "RUNNING"}
	s.mu.Lock()
	s.runs[name] = x
	hold := s.Hold
	s.mu.Unlock()
	run := func() {
		var in any
		err := (*Error)(nil)
		if jerr := json.Unmarshal([]byte(input), &in); jerr != nil {
			err = &Error{"States.Runtime", jerr.Error()}
		} else {
			_, err = s.Machine.Run(name, in)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if x.status != "RUNNING" {
			return
		}
		if x.status = "SUCCEEDED"; err != nil {
			x.status, x.err = "FAILED", err
		}
	}
	if hold == nil {
		run()
		return
	}
	go func() {
		<-hold
		run()
	}()
}
