// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package offload

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	// tmpDir holds files being written, and says that the folder is ours. It is in the store's folder, so that a
	// file moves to its name within one file system.
	tmpDir = ".contextgraph"
	// leftoverAge is how old a file in tmpDir is when whoever wrote it is gone.
	leftoverAge = time.Hour
	// writeSlice is how much is written between two looks at the context.
	writeSlice = 1 << 20

	dirMode  = 0o700
	fileMode = 0o600
)

// Dir is a [Store] in a folder, which several processes may share.
type Dir struct {
	path string
	base string // the URI of path, with a slash at its end
	sync bool
	root *os.Root
	// link makes a second name for a file and fails when there is one; os.Root.Link.
	link func(oldname, newname string) error
}

// OpenDir opens the folder at path and creates it when there is none. It closes to
// others a folder that is empty or was created by OpenDir, and refuses any other that
// they can read. It deletes what killed processes left half-written more than an hour
// ago. With sync, Create returns only when the part would survive a power loss.
func OpenDir(path string, sync bool) (*Dir, error) {
	root, err := openRoot(path)
	if err != nil {
		return nil, fmt.Errorf("offload: folder %q: %w", path, err)
	}
	d := &Dir{path: root.Name(), base: fileURL(root.Name()) + "/", sync: sync, root: root, link: root.Link}
	if err := d.prepareTmp(); err != nil {
		return nil, errors.Join(fmt.Errorf("offload: folder %q: %w: choose another folder or change its permissions", path, err), root.Close())
	}
	return d, nil
}

// prepareTmp shows that files can be written and removes old leftovers.
func (d *Dir) prepareTmp() error {
	if err := d.root.MkdirAll(tmpDir, dirMode); err != nil {
		return err
	}
	probe, err := d.writeTmp(context.Background(), nil)
	if err != nil {
		return err
	}
	if err := d.root.Remove(probe); err != nil {
		return err
	}
	entries, err := fs.ReadDir(d.root.FS(), tmpDir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && time.Since(info.ModTime()) > leftoverAge {
			// Another process may have removed it; the next opening tries again.
			_ = d.root.Remove(path.Join(tmpDir, e.Name()))
		}
	}
	return nil
}

// Path returns the absolute path of the folder.
func (d *Dir) Path() string { return d.path }

// URI returns the file URL of the part, percent-encoded where it must be.
func (d *Dir) URI(name string) string { return d.base + escapePath(name) }

// Close closes the folder.
func (d *Dir) Close() error { return d.root.Close() }

// Create writes data to a new file. The content type is not kept.
func (d *Dir) Create(ctx context.Context, name, _ string, data []byte) error {
	err := CheckName(name)
	if err != nil {
		return Permanent(fmt.Errorf("offload: %w", err))
	}
	if err := d.create(ctx, name, data); err != nil {
		err = fmt.Errorf("offload: folder %s: part %s: %w", d.path, name, err)
		if isHopeless(err) {
			return Permanent(err)
		}
		return err
	}
	return nil
}

// isHopeless reports whether err stays until somebody changes the folder. "Exists" means here that
// a file stands in the place of a sub-folder.
func isHopeless(err error) bool {
	hopeless := []error{fs.ErrPermission, fs.ErrExist, fs.ErrClosed, syscall.EROFS, syscall.ENOTDIR, syscall.ENAMETOOLONG}
	return slices.ContainsFunc(hopeless, func(target error) bool { return errors.Is(err, target) })
}

func (d *Dir) create(ctx context.Context, name string, data []byte) error {
	tmp, err := d.writeTmp(ctx, data)
	if err != nil {
		return err
	}
	// After a rename there is nothing to remove; what stays is removed by OpenDir.
	defer func() { _ = d.root.Remove(tmp) }()
	if err := d.root.MkdirAll(path.Dir(name), dirMode); err != nil {
		return err
	}
	if err := d.publish(tmp, name); err != nil {
		return err
	}
	if d.sync {
		return d.syncDirs(path.Dir(name))
	}
	return nil
}

// writeTmp writes data to a new file in tmpDir and returns its name.
func (d *Dir) writeTmp(ctx context.Context, data []byte) (string, error) {
	name := path.Join(tmpDir, rand.Text())
	f, err := d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return "", err
	}
	err = write(ctx, f, data)
	if err == nil && d.sync {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = d.root.Remove(name) // why the write failed matters more
		return "", err
	}
	return name, nil
}

func write(ctx context.Context, f *os.File, data []byte) error {
	for len(data) > 0 && ctx.Err() == nil {
		n, err := f.Write(data[:min(len(data), writeSlice)])
		if err != nil {
			return err
		}
		data = data[n:]
	}
	return context.Cause(ctx)
}

// publish gives the file tmp its name, unless that is taken.
func (d *Dir) publish(tmp, name string) error {
	err := d.link(tmp, name)
	if errors.Is(err, fs.ErrExist) {
		return ErrExists
	}
	if err == nil {
		return nil
	}
	// A file system without hard links: two processes that write one name at once both come here, and the later one
	// wins. Whoever calls Put makes names unique, so both have the same part.
	if _, statErr := d.root.Lstat(name); statErr == nil {
		return ErrExists
	}
	if renameErr := d.root.Rename(tmp, name); renameErr != nil {
		return errors.Join(err, renameErr)
	}
	return nil
}

// syncDirs makes the entries of dir, and of all folders above it, survive a power
// loss.
func (d *Dir) syncDirs(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // NTFS logs its folders, and has no call for this
	}
	for ; ; dir = path.Dir(dir) {
		f, err := d.root.Open(dir)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
		if dir == "." {
			return nil
		}
	}
}

// othersMode are the permission bits of everybody but the owner.
const othersMode = 0o077

// openRoot opens the folder at path, creates it when there is none, and makes sure
// that only its owner can read what is in it.
func openRoot(path string) (_ *os.Root, err error) {
	if path == "" || strings.Contains(path, "://") {
		return nil, errors.New("not a path: give the path of a folder")
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(abs); err == nil && !info.IsDir() {
		return nil, errors.New("not a folder: give the path of a folder")
	}
	if err := os.MkdirAll(abs, dirMode); err != nil {
		return nil, fmt.Errorf("create it: %w: choose another folder", err)
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil, fmt.Errorf("%w: choose another folder or change its permissions", err)
	}
	if err := closeToOthers(root); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
}

// closeToOthers takes permissions from everybody but the owner where the folder is ours to change: it is empty, or has
// our folder. A folder that holds anything else may be shared for a reason.
func closeToOthers(root *os.Root) error {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return err
	}
	// Looked for last: another process may be opening the folder, and makes our folder first.
	_, missing := root.Lstat(tmpDir)
	mode, err := openTo(root)
	switch {
	case err != nil || mode == 0:
		return err
	case len(entries) > 0 && missing != nil:
		return fmt.Errorf("mode %v lets others read it, and it holds files that are not ours: choose an empty folder, or run chmod 700 on it", mode)
	}
	if err := root.Chmod(".", dirMode); err != nil {
		return fmt.Errorf("mode %v lets others read it: %w: run chmod 700 on it as its owner or choose another folder", mode, err)
	}
	if mode, err = openTo(root); err == nil && mode != 0 {
		return fmt.Errorf("mode stays %v after chmod 700: its file system does not keep permissions: mount it with umask=077 or choose another folder", mode)
	}
	return err
}

// openTo returns the mode of the folder if others than its owner have permissions.
func openTo(root *os.Root) (fs.FileMode, error) {
	info, err := root.Stat(".")
	if err != nil || runtime.GOOS == "windows" || info.Mode()&othersMode == 0 {
		return 0, err
	}
	return info.Mode().Perm(), nil
}

// fileURL returns the file URL of an absolute path, of this system or of Windows:
// "/a b" is file:///a%20b, `C:\a` is file:///C:/a, `\\host\share` is
// file://host/share. No path of another system looks like the latter two.
func fileURL(path string) string {
	drive := len(path) >= 3 && path[1] == ':' && (path[2] == '\\' || path[2] == '/')
	share, isShare := strings.CutPrefix(path, `\\`)
	switch {
	case drive:
		path = "/" + strings.ReplaceAll(path, `\`, "/")
	case isShare:
		path = strings.ReplaceAll(share, `\`, "/")
	}
	return "file://" + escapePath(strings.TrimSuffix(path, "/"))
}

// escapePath encodes path for a URL; slashes stay.
func escapePath(path string) string { return (&url.URL{Path: path}).EscapedPath() }
