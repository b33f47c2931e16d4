// Package soak holds the functions, as they are deployed, against what goes
// wrong in a cloud: processes that are killed, a store that fails, archives that
// are huge or hostile. Everything runs on this machine: the real binaries, a real
// S3 server, a proxy before it. Its tests run on a small scale with all others,
// and on the scale of docs/reliability.md with `make soak`.
package soak
