package main

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// accessKey owns every bucket, so it stays the same over restarts.
const accessKey = "localcloud"

// folder is the data folder, held for this process alone.
type folder struct {
	path string
	temp bool
	lock *os.File
}

// openFolder makes the folder, a temporary one for "", and locks it.
func openFolder(path string) (*folder, error) {
	f := &folder{path: path}
	var err error
	if path == "" {
		f.temp = true
		f.path, err = os.MkdirTemp("", "localcloud-")
	} else if f.path, err = filepath.Abs(path); err == nil {
		err = os.MkdirAll(f.path, 0o750)
	}
	if err != nil {
		return nil, err
	}
	f.lock, err = os.OpenFile(filepath.Join(f.path, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.lock.Close()
		return nil, fmt.Errorf("folder %s is in use by another localcloud", f.path)
	}
	return f, nil
}

// secret is the secret key of the folder, made at random the first time.
func (f *folder) secret() (string, error) {
	name := filepath.Join(f.path, "secret")
	b, err := os.ReadFile(name)
	if err == nil && len(strings.TrimSpace(string(b))) > 0 {
		return strings.TrimSpace(string(b)), nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	key := make([]byte, 20) // 40 characters in hex, as long as keys of AWS
	_, _ = rand.Read(key)   // rand.Read never fails
	s := hex.EncodeToString(key)
	return s, os.WriteFile(name, []byte(s+"\n"), 0o600)
}

// close removes a temporary folder. A request that outlived the server may still write
// a last file, so close tries a few times.
func (f *folder) close() error {
	var err error
	for range 5 {
		if !f.temp {
			break
		}
		if err = os.RemoveAll(f.path); err == nil {
			break
		}
	}
	return errors.Join(err, f.lock.Close())
}
