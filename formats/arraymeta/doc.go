// Package arraymeta says what the items of an array mean: names of its dimensions, attributes, the
// fill value and coordinates. They are one vlmetalayer of a b2nd frame, in msgpack; its
// bytes are described in docs/formats/b2nd.md.
//
// Errors of Decode are *formats.Error and match formats.ErrCorrupt, ErrUnsupported or
// ErrTooLarge. No function makes a request, and all are safe for concurrent use.
package arraymeta
