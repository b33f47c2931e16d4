// Package deadletters gives events back after all of their tries have failed: messages
// of a dead-letter queue of SQS to the queue that they came from, events of a file to a
// queue or to a handler, and events of a running local cloud to its own functions. It
// reports each letter to the caller. No letter is lost: a message is deleted only after
// an answer says that it was sent; otherwise it becomes visible again.
package deadletters

// A Letter is a dead letter that was given back, or could not be given back.
type Letter struct {
	ID    string // id of the message, or "line 3" of a file
	Event []byte // the event as a function gets it
	Err   error  // reason why the letter was not given back; nil: it was
}

// Options bound a replay.
type Options struct {
	Most   int                // most letters to give back; 0: all
	DryRun bool               // report the letters, but give none back
	Tell   func(Letter) error // called with each letter, one after the other; its error ends the replay
}

// An ArgumentError is about input of the caller: a URL, or a line of a file.
type ArgumentError struct{ Text string }

// Error implements error.
func (e *ArgumentError) Error() string { return e.Text }

// A teller counts the letters that it tells.
type teller struct {
	Options

	told int
	why  error // error of the first letter that was not moved
}

func (t *teller) tell(l Letter) error {
	t.told++
	if t.why == nil {
		t.why = l.Err
	}
	return t.Tell(l)
}

// full reports whether Most letters are done.
func (t *teller) full() bool { return t.Most > 0 && t.told >= t.Most }
