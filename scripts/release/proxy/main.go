// Command proxy makes a module proxy of files that has one version of the module, as Go
// would pack it out of git: what go install …@v0.1.0 gets.
//
//	proxy -root . -version v0.1.0 -out DIR; GOPROXY=file://DIR go install …
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

func main() {
	root := flag.String("root", ".", "`folder` of the checkout")
	version := flag.String("version", "", "`vX.Y.Z`")
	out := flag.String("out", "", "`folder` of the proxy")
	flag.Parse()
	if err := proxy(*root, *version, *out); err != nil {
		fmt.Fprintln(os.Stderr, "proxy:", err)
		os.Exit(1)
	}
}

// proxy writes the files of https://go.dev/ref/mod#goproxy-protocol.
func proxy(root, version, out string) error {
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return err
	}
	path := modfile.ModulePath(mod)
	escaped, err := module.EscapePath(path)
	if err != nil {
		return err
	}
	dir := filepath.Join(out, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	info, err := json.Marshal(map[string]string{"Version": version})
	if err != nil {
		return err
	}
	for name, b := range map[string][]byte{"list": []byte(version + "\n"), version + ".info": info, version + ".mod": mod} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			return err
		}
	}
	f, err := os.Create(filepath.Join(dir, version+".zip"))
	if err != nil {
		return err
	}
	return errors.Join(zip.CreateFromVCS(f, module.Version{Path: path, Version: version}, root, "HEAD", ""), f.Close())
}
