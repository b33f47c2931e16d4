// Package deadletters hands back what was given up after all of its tries: messages of a
// dead-letter queue of SQS to the queue that they came from, events of a file to a queue
// or to a handler, and those of a local cloud that runs to its own functions. Each letter
// is told to the caller. None is lost: a message is deleted only after an answer says
// that it was sent, and is visible again if it was not.
package deadletters

// A Letter is a dead letter that was handed back, or was not.
type Letter struct {
	ID    string // of the message, or "line 3" of a file
	Event []byte // as a function gets it
	Err   error  // why the letter stays where it is
}

// Options bound a replay.
type Options struct {
	Most   int                // letters; 0: all
	DryRun bool               // only tell what there is
	Tell   func(Letter) error // hears of each letter, one after the other; its error ends the replay
}

// An ArgumentError is about what the caller gave: a URL, or a line of a file.
type ArgumentError struct{ Text string }

// Error implements error.
func (e *ArgumentError) Error() string { return e.Text }

// A teller counts the letters that it tells.
type teller struct {
	Options

	told int
	why  error // of the first letter that was not handed back
}

func (t *teller) tell(l Letter) error {
	t.told++
	if t.why == nil {
		t.why = l.Err
	}
	return t.Tell(l)
}

// full says that no more letters are wanted.
func (t *teller) full() bool { return t.Most > 0 && t.told >= t.Most }
