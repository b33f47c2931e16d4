package s3srv

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v3"
	"github.com/versity/versitygw/s3err"
)

// Limits of keys.
const (
	maxKey     = 1024      // S3's
	maxSegment = 255       // NAME_MAX of the file systems that this runs on
	tempDir    = ".sgwtmp" // folder for the backend's parts and temporary files
)

// refuse is the error of a key that the store cannot hold.
func refuse(code, format string, a ...any) error {
	return s3err.APIError{Code: code, HTTPStatusCode: http.StatusBadRequest,
		Description: "This local store cannot hold the key: " + fmt.Sprintf(format, a...) + "."}
}

// checkKey returns an error if the store cannot hold a key. Keys are paths of files
// here. A key that a file system would read as another path, or not at all, is refused
// rather than stored under another name.
func checkKey(key string) error {
	if key == "" {
		return refuse("InvalidArgument", "it is empty")
	}
	if len(key) > maxKey {
		return refuse("KeyTooLongError", "it has %d bytes, more than %d", len(key), maxKey)
	}
	if strings.ContainsRune(key, 0) {
		return refuse("InvalidArgument", "it contains a zero byte")
	}
	if i := strings.IndexFunc(key, unlisted); i >= 0 {
		return refuse("InvalidArgument", "it contains %q, which no listing can carry", []rune(key[i:])[0])
	}
	if strings.HasPrefix(key, "/") {
		return refuse("InvalidArgument", "it begins with \"/\"")
	}
	if strings.Contains(key, "//") {
		return refuse("InvalidArgument", "it contains \"//\"")
	}
	for i, seg := range strings.Split(key, "/") {
		switch {
		case seg == "." || seg == "..":
			return refuse("InvalidArgument", "%q is one of its segments", seg)
		case len(seg) > maxSegment:
			return refuse("KeyTooLongError", "a segment has %d bytes, more than %d", len(seg), maxSegment)
		case i == 0 && seg == tempDir:
			return refuse("InvalidArgument", "%q is a name of the store's own", seg)
		}
	}
	return nil
}

// unlisted: XML cannot spell the character, and this server has no listings but XML:
// https://www.w3.org/TR/xml/#charsets
func unlisted(r rune) bool {
	return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == '\ufffe' || r == '\uffff'
}

// beside gives a better text to the backend's two errors about a key that is a folder
// of another key.
func beside(err error) error {
	if e, ok := err.(s3err.APIError); ok { //nolint:errorlint // the server looks at the type as well
		switch e.Code {
		case "ObjectParentIsFile":
			return refuseBeside("a part of it before a \"/\" is the key of another object")
		case "ExistingObjectIsDirectory":
			return refuseBeside("other keys begin with it and \"/\"")
		}
	}
	return err
}

func refuseBeside(why string) error { return refuse("InvalidArgument", "%s", why) }

// refuseKeys answers requests whose path names a key that the store cannot hold,
// before the server would read the path as another key. For reads such a key does not
// exist.
func refuseKeys(c fiber.Ctx) error {
	path, err := url.PathUnescape(string(c.Request().URI().PathOriginal()))
	if err != nil {
		return c.Next()
	}
	_, key, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if key == "" { // a request about a bucket
		return c.Next()
	}
	refused := checkKey(key)
	if refused == nil {
		return c.Next()
	}
	var e s3err.APIError
	if c.Method() == fiber.MethodGet || c.Method() == fiber.MethodHead || !errors.As(refused, &e) {
		e = s3err.GetAPIError(s3err.ErrNoSuchKey)
	}
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationXML)
	return c.Status(e.HTTPStatusCode).Send(e.XMLBody("", ""))
}
