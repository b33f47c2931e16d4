// Package viewer is the page of the gateway: plain ES modules, a style sheet and one
// HTML document, embedded, without a build step and without anything from elsewhere.
//
// The document names its modules below ui/HASH/, where HASH is of all files. They may be
// kept for ever; only the document is asked for again.
package viewer
