// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package journal

import (
	"io/fs"
	"syscall"
)

// checkWritable returns an error unless the file at path can be opened for writing.
// It does not open it, see createFile.
func checkWritable(path string) error {
	const readAndWrite = 4 | 2 // R_OK | W_OK
	if err := syscall.Access(path, readAndWrite); err != nil {
		return &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return nil
}
