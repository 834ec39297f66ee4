// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package index

import (
	"errors"
	"io/fs"
	"os"
)

// checkOwner returns an error unless the index is a file. Its folder says who may read and write it.
func checkOwner(index, _ fs.FileInfo) error {
	if !index.Mode().IsRegular() {
		return errors.New("is no regular file: move it away")
	}
	return nil
}

// adopt does nothing: a new file has the permissions of its folder, as the journal has.
func adopt(*os.File, fs.FileInfo) error { return nil }
