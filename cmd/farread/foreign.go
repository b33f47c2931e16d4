package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/all"
	"github.com/farread/farread/formats/zarr"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/objstore"
)

// fileKind returns the kind of file that a name promises, if a plain payload is not
// such a file. For other names it returns "".
func fileKind(name string) string {
	name = strings.TrimRight(filepath.ToSlash(name), "/")
	if kind := all.Foreign(name); kind != "" {
		return kind
	}
	switch ext := strings.ToLower(filepath.Ext(name)); ext {
	case ".npz":
		return "an archive of NumPy arrays"
	case ".zip", ".tar", ".tgz", ".gz", ".bz2", ".xz", ".zst", ".7z":
		return "an archive"
	case ".png", ".webp", ".gif", ".bmp", ".avif", ".heic":
		return "an image of another kind than JPEG"
	case ".mp4", ".mkv", ".webm", ".avi", ".mov":
		return "a film"
	case ".wav", ".flac", ".mp3", ".ogg", ".aiff":
		return "sound"
	}
	if format := all.ByName(name); format != "" {
		return format
	}
	return ""
}

// notNamed refuses the name out if it promises a kind of file that is not written here.
// instead says which file is written.
func notNamed(out, instead string) error {
	if kind := fileKind(out); kind != "" {
		return usagef("%s names %s, which is not written here: %s", human.Printable(out), kind, instead)
	}
	return nil
}

// notForeign refuses the name of an output that promises a foreign format, whatever --format says: what is written would not
// be of it, and nobody could tell. Arrow and Zarr are refused where they are not written.
func notForeign(out, instead string) error {
	kind := all.Foreign(filepath.ToSlash(out))
	if kind == "" || kind == "Arrow" {
		return nil
	}
	return usagef("%s names %s, which is not written here: %s", human.Printable(out), kind, instead)
}

// packGoes says what pack writes in place of a foreign format.
func packGoes(dst string) string {
	if all.Foreign(dst) == "Zarr" {
		return "pack makes a .b2nd, or a folder of them, and farread unpack makes Zarr of these"
	}
	return "arrays become a .b2nd, or a folder of them, series a .zoom, images a .gulp, all else a .blp"
}

// notRaw refuses to take a SRC for raw bytes whose name says that it is of a foreign format: its items lie
// somewhere in it, compressed or not.
func notRaw(src string) error {
	name := src
	if strings.Contains(src, "://") {
		name, _, _ = strings.Cut(src, "?")
	}
	if kind := all.Foreign(name); kind != "" {
		return usagef("%s names %s, and its bytes are not raw items: %s; rename it if they are", human.Printable(src), kind, instead(kind))
	}
	return nil
}

// notArrayNamed refuses a name for an array, or for its bytes, if the name promises
// another kind of file, text or a picture.
func notArrayNamed(out string) error {
	switch ext := strings.ToLower(filepath.Ext(out)); ext {
	case ".csv", ".tsv", ".json", ".jsonl", ".ndjson":
		return usagef("%s names text, which is not written here: %s; farread slice writes .csv and .json", human.Printable(out), arrayGoes)
	case ".jpg", ".jpeg", ".svg":
		return usagef("%s names a picture, which is not written here: %s; farread slice writes .png", human.Printable(out), arrayGoes)
	}
	return notNamed(out, arrayGoes)
}

// Texts for messages: which output is written.
const (
	arrayGoes  = "an array becomes a .npy, or its items alone under a name such as .raw"
	linesGo    = "lines become a text file, such as .jsonl or .txt"
	frameGoes  = "a frame is a .jpg"
	folderGoes = "what is here becomes a folder of files"
)

// notFolder refuses the name of a file for a folder. A slash at the end of a name says
// that a folder is meant. Names of foreign formats are refused even with a slash, since
// some of these formats are folders. A folder may have the name of the dataset that it
// comes from.
func notFolder(out string) error {
	slash := filepath.ToSlash(out)
	if all.ByName(slash) != "" || os.IsPathSeparator(out[len(out)-1]) && all.Foreign(slash) == "" {
		return nil
	}
	return notNamed(out, folderGoes)
}

// notRead adds the format of SRC to an error about SRC, if this format is a foreign
// one.
func notRead(srcs []string, err error) error {
	if !errors.Is(err, formats.ErrUnsupported) && !errors.Is(err, objstore.ErrInvalid) {
		return err
	}
	for _, src := range srcs {
		kind := all.Foreign(src)
		if kind == "Zarr" {
			if e, ok := errors.AsType[*formats.Error](err); ok && e.Format == zarr.Format {
				return err
			}
			return fmt.Errorf("%w (Zarr becomes a .b2nd, or a folder/ of them)", err)
		}
		if kind == "Parquet" {
			if e, ok := errors.AsType[*formats.Error](err); ok && e.Format == "parquet" {
				return err
			}
			return fmt.Errorf("%w (the columns of Parquet become a series: a .zoom)", err)
		}
		if kind != "" {
			return fmt.Errorf("%w (%s is not read: %s)", err, kind, instead(kind))
		}
	}
	return err
}

// instead says what to do with a file of a kind that is not read.
func instead(kind string) string {
	switch kind {
	case "NetCDF", "GRIB":
		return "xarray makes Zarr of it, xarray.open_dataset(file).to_zarr(\"x.zarr\"), which pack takes"
	case "HDF5":
		return "save its arrays with numpy.save, or as Zarr by xarray, and pack these"
	case "Excel":
		return "save the sheet as CSV, and pack that"
	case "Arrow", "Avro", "ORC":
		return "write it as Parquet, which pack takes"
	case "TIFF":
		return "save it as PNG, or its pixels with numpy.save, and pack these"
	}
	return "save its arrays with numpy.save, or tables as CSV, and pack these"
}

// whatToDo adds to an error about what info looks at what can be done with it.
func whatToDo(uri string, err error) error {
	if !errors.Is(err, formats.ErrUnsupported) {
		return err
	}
	switch kind := all.Foreign(uri); {
	case kind == "Parquet" || kind == "Zarr":
		return fmt.Errorf("%w (but called so: what is in it is no %s)", err, kind)
	case kind != "":
		return fmt.Errorf("%w (%s)", err, instead(kind))
	}
	return err
}
