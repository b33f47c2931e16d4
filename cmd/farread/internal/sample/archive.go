package sample

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// A File is a named part of an upload.
type File struct {
	Name string // with slashes
	Data []byte
}

// made is the date of every file in an archive: the same clip gives the same archive.
func made() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// FrameName is the name of frame i in a folder of frames.
func FrameName(i int) string { return fmt.Sprintf("%04d.jpg", i) }

// Files are the clip's frames as ID/0000.jpg, ID/0001.jpg … They share the
// memory of the clip.
func (c Clip) Files() []File {
	files := make([]File, len(c.Frames))
	for i, f := range c.Frames {
		files[i] = File{Name: c.ID + "/" + FrameName(i), Data: f}
	}
	return files
}

// LabelsCSV is a labels.csv that names the clip's label and title.
func (c Clip) LabelsCSV() (File, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	err := w.WriteAll([][]string{{"id", "label", "title"}, {c.ID, c.Label, c.Title}})
	return File{Name: "labels.csv", Data: b.Bytes()}, err
}

// LabelsJSON is a labels.json that says the same.
func (c Clip) LabelsJSON() (File, error) {
	b, err := json.Marshal(map[string]map[string]string{c.ID: {"label": c.Label, "title": c.Title}})
	return File{Name: "labels.json", Data: append(b, '\n')}, err
}

// WriteTar writes the files as a tar archive. The same files give the same bytes.
func WriteTar(w io.Writer, files []File) error {
	t := tar.NewWriter(w)
	for _, f := range files {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: f.Name, Size: int64(len(f.Data)), Mode: 0o644, ModTime: made()}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(f.Data); err != nil {
			return err
		}
	}
	return t.Close()
}

// WriteZip writes the files as a zip archive, stored, since JPEG does not get
// smaller. The same files give the same bytes.
func WriteZip(w io.Writer, files []File) error {
	z := zip.NewWriter(w)
	for _, f := range files {
		p, err := z.CreateHeader(&zip.FileHeader{Name: f.Name, Method: zip.Store, Modified: made()})
		if err != nil {
			return err
		}
		if _, err := p.Write(f.Data); err != nil {
			return err
		}
	}
	return z.Close()
}
