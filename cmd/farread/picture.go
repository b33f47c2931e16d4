package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
)

// pictureFlags say how numbers become colours.
type pictureFlags struct {
	colors   string
	min, max string
}

func registerPicture(c *cobra.Command, s *selector) {
	c.Flags().StringVar(&s.picture.colors, "colors", "viridis", "colour map of a .png: viridis, gray")
}

func newPicture(dtype.DType, []int64, selector) (encoder, error) {
	return nil, fmt.Errorf("pictures: %w", formats.ErrUnsupported)
}
