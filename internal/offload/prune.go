// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package offload

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"time"
)

// Pruned is what [Dir.Prune] deleted.
type Pruned struct {
	Files int
	Bytes int64
}

// Prune deletes the parts of days that ended before the given time: everything in
// the folders whose name is their date in UTC, such as 2026-07-31. Parts whose name
// does not begin with a date stay. When ctx ends, or something cannot be deleted, the
// rest stays and the result says what is gone.
func (d *Dir) Prune(ctx context.Context, before time.Time) (Pruned, error) {
	var gone Pruned
	if err := d.prune(ctx, before, &gone); err != nil {
		return gone, fmt.Errorf("offload: folder %s: prune: %w", d.path, err)
	}
	return gone, nil
}

func (d *Dir) prune(ctx context.Context, before time.Time, gone *Pruned) error {
	entries, err := d.readDir(".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		day, err := time.Parse(time.DateOnly, e.Name())
		if err != nil || !e.IsDir() || day.AddDate(0, 0, 1).After(before) {
			continue
		}
		if err := d.removeTree(ctx, e.Name(), gone); err != nil {
			return err
		}
	}
	return nil
}

// removeTree deletes the folder dir and counts the files in it. It does not follow
// links.
func (d *Dir) removeTree(ctx context.Context, dir string, gone *Pruned) error {
	entries, err := d.readDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // another process prunes too
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		name := path.Join(dir, e.Name())
		if e.IsDir() {
			err = d.removeTree(ctx, name, gone)
		} else {
			err = d.removeFile(name, e, gone)
		}
		if err != nil {
			return err
		}
	}
	if err := d.root.Remove(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (d *Dir) removeFile(name string, e os.DirEntry, gone *Pruned) error {
	info, err := e.Info()
	if err == nil {
		err = d.root.Remove(name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	gone.Files++
	gone.Bytes += info.Size()
	return nil
}
