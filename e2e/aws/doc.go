// Package aws runs the scenarios of e2e/scenario, and what only a cloud can do,
// against AWS's own interfaces: on LocalStack in a container (make e2e), or
// anywhere that E2E_ENDPOINT names.
//
// It is a module of its own, so that nobody who imports farread downloads what
// starts containers.
package aws
