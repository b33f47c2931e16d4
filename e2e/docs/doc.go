// Package docs runs what the project's pages show: the Go snippets, as a program of a
// module of its own, and with the build tag "docs" (make docs-check) the commands
// of the pages and of the commands' help, against a local cloud that the quickstart
// has filled. What a block is to a test says the page itself: internal/pages.
package docs
