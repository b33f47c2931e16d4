package httplimit

import "bytes"

// Limits of XML that a client will decode. A page of a listing has 1000 keys with about
// a dozen elements each, three levels deep.
const (
	maxDepth    = 32
	maxElements = 1 << 17
)

// nesting counts the open elements of XML while its bytes pass, before a decoder
// sees them, since a decoder keeps a record of each open element. If the text is
// not XML, the decoder returns an error.
type nesting struct {
	state    byte // see below
	quote    byte
	first    byte // byte after the <
	last     byte // last byte before the >
	tail     [2]byte
	depth    int
	elements int
	err      error
}

// The states of nesting.
const (
	inText    = iota
	inTag     // after <, before its >
	inBang    // after <!, before the bytes that tell its kind
	inComment // after <!--
	inData    // after <![
	inNote    // after <?
)

// feed looks at the next bytes.
func (x *nesting) feed(p []byte) error {
	for len(p) > 0 && x.err == nil {
		if x.state == inText {
			i := bytes.IndexByte(p, '<')
			if i < 0 {
				return nil
			}
			p = p[i+1:]
			x.state, x.first, x.last, x.quote = inTag, 0, 0, 0
			continue
		}
		x.step(p[0])
		p = p[1:]
	}
	return x.err
}

// step looks at one byte that is not text.
func (x *nesting) step(c byte) {
	switch x.state {
	case inBang:
		switch c {
		case '-':
			x.state = inComment
		case '[':
			x.state = inData
		default: // a document type, whose end is hard to find; stores do not send any
			x.err = badAnswer("XML with a document type, or no XML")
		}
		x.tail = [2]byte{}
		return
	case inComment, inData, inNote:
		if c == '>' && x.ends() {
			x.state = inText
		}
		x.tail = [2]byte{x.tail[1], c}
		return
	}
	switch {
	case x.first == 0:
		x.first = c
		x.tail = [2]byte{}
		switch c {
		case '!':
			x.state = inBang
		case '?':
			x.state = inNote
		case '>':
			x.state = inText
		}
	case x.quote != 0:
		if c == x.quote {
			x.quote = 0
		}
	case c == '\'' || c == '"':
		x.quote = c
	case c == '>':
		x.tag()
		x.state = inText
	}
	x.last = c
}

// ends reports whether a > ends a comment, CDATA or a processing instruction.
func (x *nesting) ends() bool {
	switch x.state {
	case inComment:
		return x.tail == [2]byte{'-', '-'}
	case inData:
		return x.tail == [2]byte{']', ']'}
	}
	return x.tail[1] == '?'
}

// tag counts a tag that has ended.
func (x *nesting) tag() {
	if x.first == '/' {
		x.depth--
		return
	}
	x.depth++
	x.elements++
	if x.depth > maxDepth {
		x.err = badAnswer("elements nest deeper than %d", maxDepth)
	}
	if x.last == '/' { // <a/> is open and closed at once
		x.depth--
	}
	if x.elements > maxElements {
		x.err = badAnswer("more than %d elements", maxElements)
	}
}
