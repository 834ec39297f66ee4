// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package offload stores what is too large or too binary for a row: images, audio,
// files, long texts. A row holds the URI of such a part, and the part stands in a
// [Store]: a folder ([Dir]) or a bucket (package gcs).
//
// # Contract
//
// An [Uploader] takes parts on the caller's goroutine and stores them in the
// background. [Uploader.Put] does no I/O and waits for nothing but a short lock; it
// returns the URI that the part will have. That URI is final, but the part stands
// there only once it was stored: [Uploader.Flush] waits for that. Nothing that a
// store does, be it slow, failing, hanging or panicking, reaches the caller of Put.
// What Put refuses and what is lost later is counted by reason in [Stats]: every part
// that was accepted is stored, lost or queued.
//
// Names are created, never overwritten: whoever calls Put makes them unique, and a
// store answers [ErrExists] to a name that is taken. A part may be put again under a name
// with its SHA-256 in hexadecimal digits: it counts as stored. By convention a name begins
// with the date in UTC and the trace, "2026-07-31/<trace>/<part>.png", so that parts of
// old days can be found and deleted.
//
// # The folder
//
// A [Dir] holds each part in a file at its name, in sub-folders where the name has
// slashes, and nothing but the bytes: the content type is in the row. The folder
// ".contextgraph" in it holds files being written, and says that the folder is ours. A file
// appears under its name whole or not at all, also when the process is killed.
//
// Folders have mode 0700 and files 0600, whatever the umask: their owner may read
// them, and root, and nobody else. A folder of ours that was opened to others is
// closed to them again by [OpenDir]. On Windows a folder has the access list of the
// folder it stands in.
//
// Parts survive the end of the process as soon as they are stored. They survive a
// power loss only if [OpenDir] was told so.
//
// # Retention
//
// Nothing deletes parts by itself. The retention of the journal deletes rows, not
// the parts they name, and a bucket keeps its objects until a lifecycle rule of its
// own deletes them. Who keeps parts in a folder deletes the folders of old days. Rows that
// were kept longer, such as those of a session with an open approval, then name parts that
// are gone.
package offload
