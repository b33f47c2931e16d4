// Package machinetest runs state machines of AWS Step Functions in tests: what our own
// definitions use of the states language, and the calls that clients make. Functions and
// buckets are those of the test. Nothing waits: retries follow at once.
package machinetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// A Machine is a state machine.
type Machine struct {
	Invoke func(function string, payload []byte) (answer []byte, err *Error) // calls a function
	Read   func(bucket, key string) ([]byte, error)                          // reads an object
	Jobs   int                                                               // items of a map that run at the same time; 0: 1
	Enter  func(state string)                                                // told of what is paid: states, each try of them, and "" for each execution; nil: not told

	def states
}

// An Error is the error of a state.
type Error struct {
	Name  string `json:"Error"`
	Cause string `json:"Cause"`
}

func (e *Error) Error() string { return e.Name + ": " + e.Cause }

// states are a machine, or what a map does with each item.
type states struct {
	StartAt string
	States  map[string]*state
}

type state struct {
	Type           string
	Resource       string
	Parameters     any
	ResultSelector any
	ResultPath     *string
	resultPathNull bool
	Retry          []struct {
		ErrorEquals []string
		MaxAttempts *int
	}
	Catch []struct {
		ErrorEquals []string
		ResultPath  string
		Next        string
	}
	Next string
	End  bool

	ItemReader *struct {
		Resource     string
		ReaderConfig struct{ InputType string }
		Parameters   any
	}
	ItemSelector               any
	ItemProcessor              *processor
	ToleratedFailurePercentage float64
}

type processor struct {
	states
	ProcessorConfig struct{ Mode, ExecutionType string }
}

func (s *state) UnmarshalJSON(text []byte) error {
	type plain state
	if err := json.Unmarshal(text, (*plain)(s)); err != nil {
		return err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	s.resultPathNull = string(all["ResultPath"]) == "null"
	return nil
}

// Parse reads a definition, in which values stand for ${name}.
func Parse(definition string, values map[string]string) (*Machine, error) {
	for name, v := range values {
		definition = strings.ReplaceAll(definition, "${"+name+"}", v)
	}
	m := &Machine{}
	if err := json.Unmarshal([]byte(definition), &m.def); err != nil {
		return nil, err
	}
	if len(m.def.States) == 0 {
		return nil, fmt.Errorf("no states")
	}
	return m, nil
}

// A scope is what paths mean.
type scope struct{ input, context any }

// Run runs an execution.
func (m *Machine) Run(name string, input any) (any, *Error) {
	return m.run(&m.def, scope{input, map[string]any{"Execution": map[string]any{"Name": name}}})
}

func (m *Machine) enter(state string) {
	if m.Enter != nil {
		m.Enter(state)
	}
}

func (m *Machine) run(def *states, in scope) (any, *Error) {
	m.enter("")
	for at := def.StartAt; ; {
		s := def.States[at]
		if s == nil {
			return nil, &Error{"States.Runtime", "no state " + at}
		}
		out, err := m.state(at, s, in)
		switch {
		case err != nil:
			k := slices.IndexFunc(s.Catch, func(c struct {
				ErrorEquals []string
				ResultPath  string
				Next        string
			},
			) bool {
				return matches(c.ErrorEquals, err)
			})
			if k < 0 {
				return nil, err
			}
			in.input = put(in.input, s.Catch[k].ResultPath, map[string]any{"Error": err.Name, "Cause": err.Cause})
			at = s.Catch[k].Next
			continue
		case s.resultPathNull:
		case s.ResultPath != nil:
			in.input = put(in.input, *s.ResultPath, out)
		default:
			in.input = out
		}
		if s.End {
			return in.input, nil
		}
		at = s.Next
	}
}

func matches(names []string, err *Error) bool {
	return slices.Contains(names, "States.ALL") || slices.Contains(names, err.Name)
}

// state runs a state, with its retries.
func (m *Machine) state(name string, s *state, in scope) (any, *Error) {
	tries := make([]int, len(s.Retry))
	for {
		m.enter(name)
		out, err := m.once(s, in)
		if err == nil && s.ResultSelector != nil {
			return m.fill(s.ResultSelector, scope{out, in.context})
		}
		if err == nil {
			return out, nil
		}
		k := slices.IndexFunc(s.Retry, func(r struct {
			ErrorEquals []string
			MaxAttempts *int
		},
		) bool {
			return matches(r.ErrorEquals, err)
		})
		if k < 0 {
			return nil, err
		}
		most := 3
		if s.Retry[k].MaxAttempts != nil {
			most = *s.Retry[k].MaxAttempts
		}
		if tries[k]++; tries[k] > most {
			return nil, err
		}
	}
}

func (m *Machine) once(s *state, in scope) (any, *Error) {
	switch {
	case s.Type == "Map":
		return m.each(s, in)
	case s.Type == "Task" && s.Resource == "arn:aws:states:::lambda:invoke":
		p, err := m.fill(s.Parameters, in)
		if err != nil {
			return nil, err
		}
		args, _ := p.(map[string]any)
		name, _ := args["FunctionName"].(string)
		payload, merr := json.Marshal(args["Payload"])
		if merr != nil {
			return nil, &Error{"States.Runtime", merr.Error()}
		}
		answer, err := m.Invoke(name, payload)
		if err != nil {
			return nil, err
		}
		var out any
		if err := json.Unmarshal(answer, &out); err != nil {
			return nil, &Error{"States.Runtime", err.Error()}
		}
		return map[string]any{"StatusCode": 200, "Payload": out}, nil
	}
	return nil, &Error{"States.Runtime", "a state of type " + s.Type + ", " + s.Resource}
}

// each runs a map over the items of a list.
func (m *Machine) each(s *state, in scope) (any, *Error) {
	if s.ItemReader == nil || s.ItemReader.Resource != "arn:aws:states:::s3:getObject" || s.ItemReader.ReaderConfig.InputType != "JSON" || s.ItemProcessor.ProcessorConfig.Mode != "DISTRIBUTED" {
		return nil, &Error{"States.Runtime", "another map than one over a list in an object"}
	}
	p, err := m.fill(s.ItemReader.Parameters, in)
	if err != nil {
		return nil, err
	}
	args, _ := p.(map[string]any)
	text, rerr := m.Read(fmt.Sprint(args["Bucket"]), fmt.Sprint(args["Key"]))
	if rerr != nil {
		return nil, &Error{"States.ItemReaderFailed", rerr.Error()}
	}
	var items []any
	if err := json.Unmarshal(text, &items); err != nil {
		return nil, &Error{"States.ItemReaderFailed", err.Error()}
	}
	out, errs := make([]any, len(items)), make([]*Error, len(items))
	room := make(chan struct{}, max(m.Jobs, 1))
	var wg sync.WaitGroup
	for i, item := range items {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			c := map[string]any{"Map": map[string]any{"Item": map[string]any{"Value": item, "Index": i}}}
			if outer, ok := in.context.(map[string]any); ok {
				c["Execution"] = outer["Execution"]
			}
			var one any
			if one, errs[i] = m.fill(s.ItemSelector, scope{in.input, c}); errs[i] == nil {
				out[i], errs[i] = m.run(&s.ItemProcessor.states, scope{one, nil}) // a child is an execution of its own
			}
		})
	}
	wg.Wait()
	failed := 0
	for _, err := range errs {
		if err != nil {
			failed++
		}
	}
	if float64(failed) > s.ToleratedFailurePercentage/100*float64(len(items)) {
		return nil, &Error{"States.ExceedToleratedFailureThreshold", "The specified tolerated failure threshold was exceeded"}
	}
	return out, nil
}

// fill puts what paths mean into a template.
func (m *Machine) fill(template any, in scope) (any, *Error) {
	object, ok := template.(map[string]any)
	if !ok {
		return template, nil
	}
	out := map[string]any{}
	for name, v := range object {
		short, path := strings.CutSuffix(name, ".$")
		var err *Error
		if !path {
			out[name], err = m.fill(v, in)
		} else if text, ok := v.(string); ok {
			out[short], err = get(in, text)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// get returns what a path means.
func get(in scope, path string) (any, *Error) {
	at, rest, ok := in.input, "", false
	if rest, ok = strings.CutPrefix(path, "$$"); ok {
		at = in.context
	} else {
		rest = strings.TrimPrefix(path, "$")
	}
	for name := range strings.SplitSeq(strings.TrimPrefix(rest, "."), ".") {
		if name == "" {
			continue
		}
		object, _ := at.(map[string]any)
		if at, ok = object[name]; !ok {
			return nil, &Error{"States.ParameterPathFailure", "nothing at " + path}
		}
	}
	return at, nil
}

// put returns a copy of an object with one more member. The path has one name.
func put(object any, path string, v any) any {
	name := strings.TrimPrefix(path, "$.")
	if name == "" || name == "$" {
		return v
	}
	out := map[string]any{}
	if old, ok := object.(map[string]any); ok {
		for k, v := range old {
			out[k] = v
		}
	}
	out[name] = v
	return out
}
