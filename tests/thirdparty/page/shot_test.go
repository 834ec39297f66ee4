// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
)

// maxPicture is how many bytes the picture of the README may have.
const maxPicture = 150_000

// TestScreenshot writes the picture of the README, and without the flag one that nobody keeps: the
// approval of the demo that the changed world has blocked, and what it rests on.
//
//	go test ./page -run TestScreenshot -screenshot ../../../docs/images/page.png
func TestScreenshot(t *testing.T) {
	file := *screenshot
	if file == "" {
		file = filepath.Join(t.TempDir(), "page.png")
	}
	p := openDemo(t, "s=nike&v=graph&why=0")
	p.wait(`document.querySelectorAll("#panel-graph .gn.on").length > 5`)
	p.view("approvals")
	eval[any](p, `__t.frame()`)
	data, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		t.Fatal(err)
	}
	if data, err = fewColours(data); err != nil {
		t.Fatal(err)
	}
	if len(data) > maxPicture {
		t.Errorf("the picture has %d bytes, more than %d", len(data), maxPicture)
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// fewColours writes a picture with the 256 colours that it has most of.
func fewColours(data []byte) ([]byte, error) {
	full, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	b := full.Bounds()
	counts := map[color.RGBA]int{}
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			counts[color.RGBAModel.Convert(full.At(x, y)).(color.RGBA)]++
		}
	}
	var all []color.RGBA
	for c := range counts {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b color.RGBA) int {
		return cmp.Or(counts[b]-counts[a], cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	var palette color.Palette
	for _, c := range all[:min(256, len(all))] {
		palette = append(palette, c)
	}
	few := image.NewPaletted(b, palette)
	draw.Draw(few, b, full, b.Min, draw.Src)
	var out bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, few)
	return out.Bytes(), err
}
