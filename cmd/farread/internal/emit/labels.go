package emit

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/farread/farread/formats/gulp"
)

// Labels is the JSON of the meta_data of gulp chunks: an object from id to its list, a
// line each, in file order.
func Labels(chunks func(each func(c *gulp.Chunk) error) error) ([]byte, error) {
	var b bytes.Buffer
	sep := "{\n"
	err := chunks(func(c *gulp.Chunk) error {
		for it := range c.All() {
			list, err := gulp.MetaList(it.MetaData)
			if err != nil || len(list) == 0 {
				continue // no list: pack could not take it
			}
			id, err := json.Marshal(it.ID)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, "%s%s: ", sep, id)
			if err := json.Compact(&b, gulp.PlainJSON(it.MetaData)); err != nil {
				return err
			}
			sep = ",\n"
		}
		return nil
	})
	if b.Len() == 0 {
		b.WriteString("{")
	}
	b.WriteString("\n}\n")
	return b.Bytes(), err
}
