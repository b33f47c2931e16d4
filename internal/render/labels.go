package render

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/farread/farread/formats/gulp"
)

// Labels is the JSON of the meta_data of ids of a gulp: an object from id to its list, a
// line each. each hands them over, in file order.
func Labels(each func(put func(id string, meta json.RawMessage) error) error) ([]byte, error) {
	var b bytes.Buffer
	sep := "{\n"
	err := each(func(id string, meta json.RawMessage) error {
		list, err := gulp.MetaList(meta)
		if err != nil || len(list) == 0 {
			return nil //nolint:nilerr // not a list: pack could not read it
		}
		name, err := json.Marshal(id)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s%s: ", sep, name)
		sep = ",\n"
		return json.Compact(&b, gulp.PlainJSON(meta))
	})
	if b.Len() == 0 {
		b.WriteString("{")
	}
	b.WriteString("\n}\n")
	return b.Bytes(), err
}
