// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"errors"
	"maps"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// The bounds of a Journal and of a Record.
const (
	maxCommitInterval = time.Second
	maxMemoryInterval = 10 * time.Second
	minQueue          = 1 << 20
	// rowsInQueue is how many of the largest rows a queue has room for.
	rowsInQueue      = 4
	minRetentionAge  = time.Hour
	maxRetentionAge  = 100 * 365 * 24 * time.Hour
	minRetentionSize = 10 << 20

	minString   = 100
	minRow      = 10_000
	maxRow      = 9_000_000
	maxTags     = 64
	maxTagName  = 64
	maxTagValue = 1024
)

// checkStorage reports faults of the journal and the record. The bounds of one depend on those of
// the other.
func (c *Config) checkStorage(root Key) {
	d := Default()
	record := root.Of(&c.Record)
	c.Record.checkLimits(record, d.Record.MaxRow)
	row := cmp.Or(c.Record.MaxRow, d.Record.MaxRow)
	if record.Of(&c.Record.MaxRow).Failed() {
		row = d.Record.MaxRow
	}
	c.Journal.check(root.Of(&c.Journal), row)
	c.Record.check(record)
	c.Record.Artifacts.check(record.Of(&c.Record.Artifacts), cmp.Or(c.Journal.Path, d.Journal.Path))
}

// check reports what is wrong with c. The largest row has the size row.
func (c *Journal) check(k Key, row Size) {
	switch path := k.Of(&c.Path); {
	case strings.ContainsFunc(c.Path, unicode.IsControl):
		path.Wrong(Quote(c.Path)+" holds a control character", "write the path of a file")
	case c.Path == ":memory:" || strings.HasPrefix(c.Path, "file:"):
		path.Wrong(Quote(c.Path)+" is not a file that outlives the process", "write the path of a file, for example "+Default().Journal.Path)
	}
	interval := maxCommitInterval
	if c.Durability == DurabilityMemory || k.Of(&c.Durability).Failed() {
		interval = maxMemoryInterval
	}
	checkDuration(k.Of(&c.CommitInterval), c.CommitInterval, interval)

	queue := k.Of(&c.QueueBytes)
	checkSize(queue, c.QueueBytes, minQueue, 0)
	if c.QueueBytes != 0 && c.QueueBytes < rowsInQueue*row {
		queue.Wrong(c.QueueBytes.String()+" is less than four rows of record.max_row ("+row.String()+")",
			"write at least "+(rowsInQueue*row).String()+", or lower record.max_row")
	}

	age := k.Of(&c.Retention.MaxAge)
	checkDuration(age, c.Retention.MaxAge, maxRetentionAge)
	if v := c.Retention.MaxAge; v != 0 && v < minRetentionAge {
		age.Wrong(FormatDuration(v)+" is too short", "write at least "+FormatDuration(minRetentionAge)+", or leave it out to keep everything")
	}
	checkSize(k.Of(&c.Retention.MaxSize), c.Retention.MaxSize, minRetentionSize, 0)
}

func (c *Record) checkLimits(k Key, usual Size) {
	row, text := k.Of(&c.MaxRow), k.Of(&c.MaxString)
	checkSize(row, c.MaxRow, minRow, maxRow)
	checkSize(text, c.MaxString, minString, 0)
	if most := cmp.Or(c.MaxRow, usual); c.MaxString > most && !row.Failed() {
		text.Wrong(c.MaxString.String()+" is more than record.max_row ("+most.String()+")",
			"a text cannot be longer than its row: write a smaller size, or raise record.max_row")
	}
}

func (c *Record) check(k Key) {
	for _, list := range []*[]string{&c.Allow, &c.Deny} {
		first := make(map[string]int)
		for i, t := range *list {
			unique(k.Of(list).Index(i), first, t, i)
		}
	}
	checkTags(k.Of(&c.Tags), c.Tags)
	names(k.Of(&c.Metadata), c.Metadata, "a key of an event's CustomMetadata, or a prefix ending in *", func(at Key, s string) {
		if i := strings.IndexByte(s, '*'); i >= 0 && i < len(s)-1 {
			at.Wrong(Quote(s)+" has a * before its end", "write a key, or a prefix ending in *, for example a2a:*")
		}
	})
	names(k.Of(&c.FinalResponseTools), c.FinalResponseTools, "the name of a tool", nil)
	c.Redact.check(k.Of(&c.Redact))
}

func checkTags(k Key, tags map[string]string) {
	if len(tags) > maxTags {
		k.Wrong(strconv.Itoa(len(tags))+" tags are too many", "write at most "+strconv.Itoa(maxTags))
		return
	}
	const remedy = "write a short name, for example team"
	for _, tag := range slices.Sorted(maps.Keys(tags)) {
		at := k.Entry(tag, nil)
		switch value := tags[tag]; {
		case strings.TrimSpace(tag) == "":
			at.Wrong("the name of the tag is empty", remedy)
		case strings.ContainsFunc(tag, unicode.IsControl):
			at.Wrong("the name of the tag holds a control character", remedy)
		case utf8.RuneCountInString(tag) > maxTagName:
			at.Wrong("the name of the tag is longer than "+strconv.Itoa(maxTagName)+" characters", remedy)
		case len(value) > maxTagValue:
			at.Wrong(Quote(value)+" is longer than "+strconv.Itoa(maxTagValue)+" bytes", "write a shorter value")
		}
	}
}

func (c *Redact) check(k Key) {
	names(k.Of(&c.Keys), c.Keys, "the name of a key, for example account_number", func(at Key, s string) {
		if utf8.RuneCountInString(s) < 2 {
			at.Wrong(Quote(s)+" is shorter than two characters", "write the name of a key, for example account_number")
		}
	})
	const example = `for example 'sk-[A-Za-z0-9]{20,}'`
	first := make(map[string]int)
	for i, s := range c.Patterns {
		at := k.Of(&c.Patterns).Index(i)
		if s == "" {
			at.Wrong("missing", "write a regular expression, "+example)
			continue
		}
		unique(at, first, s, i)
		if _, err := regexp.Compile(s); err != nil {
			problem := err.Error()
			var syntaxErr *syntax.Error
			if errors.As(err, &syntaxErr) {
				problem = syntaxErr.Code.String() + ": " + Quote(syntaxErr.Expr)
			}
			at.Wrong(Quote(s)+" is not a regular expression (RE2): "+problem, "write "+example)
		} else if re, err := syntax.Parse(s, syntax.Perl); err == nil && matchesEmpty(re) {
			at.Wrong(Quote(s)+" matches the empty text, which stands between any two characters", "make it match at least one character, "+example)
		}
	}
}

// matchesEmpty reports whether re matches an empty text, perhaps only between
// certain characters.
func matchesEmpty(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary, syntax.OpStar, syntax.OpQuest:
		return true
	case syntax.OpRepeat:
		return re.Min == 0 || matchesEmpty(re.Sub[0])
	case syntax.OpCapture, syntax.OpPlus:
		return matchesEmpty(re.Sub[0])
	case syntax.OpConcat:
		return !slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return !matchesEmpty(sub) })
	case syntax.OpAlternate:
		return slices.ContainsFunc(re.Sub, matchesEmpty)
	default:
		return false
	}
}

const (
	bucketScheme = "gs://"
	storeRemedy  = "write a folder, a bucket such as gs://bucket/prefix, or off"
)

var (
	bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]$`)
	schemeName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]+:/`)
	connection = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9:._-]*\.)?[A-Za-z0-9-]+\.[A-Za-z0-9_-]+$`)
)

func (c *Artifacts) check(k Key, journalPath string) {
	store := k.Of(&c.Store)
	if problem, remedy := c.checkStore(journalPath); problem != "" {
		store.Wrong(problem, remedy)
	}
	if at := k.Of(&c.Connection); c.Connection != "" {
		if !strings.HasPrefix(c.Store, bucketScheme) && !store.Failed() {
			at.Wrong("given for a store that is not a bucket", "write the bucket in record.artifacts.store, for example gs://bucket/prefix, or remove the connection")
		}
		if !connection.MatchString(c.Connection) {
			at.Wrong(Quote(c.Connection)+" is not a BigQuery connection", "write its region and its name, for example us.my-connection")
		}
	}
	checkSize(k.Of(&c.MaxBytes), c.MaxBytes, 1, MaxPart)
}

// checkStore returns the fault of the store.
func (c *Artifacts) checkStore(journalPath string) (problem, remedy string) {
	path, isBucket := strings.CutPrefix(c.Store, bucketScheme)
	switch {
	case c.Store == "" || c.Store == StoreOff:
		return "", ""
	case strings.ContainsFunc(c.Store, unicode.IsControl):
		return Quote(c.Store) + " holds a control character", storeRemedy
	case isBucket:
		bucket, prefix, _ := strings.Cut(path, "/")
		switch {
		case !bucketName.MatchString(bucket):
			return Quote(bucket) + " is not the name of a bucket", "write for example gs://bucket/prefix"
		case strings.HasPrefix(prefix, "/") || strings.Contains(prefix, "//") || strings.ContainsAny(prefix, "?#"):
			return Quote(prefix) + " is not a prefix of object names", "write for example gs://bucket/prefix"
		}
		return "", ""
	case schemeName.MatchString(c.Store):
		return Quote(c.Store) + " is neither a folder nor a bucket", storeRemedy
	case slices.Contains([]string{"off", "none", "false", "no", "disabled"}, strings.ToLower(c.Store)):
		return Quote(c.Store) + " would be a folder of that name", "write off to keep no part, or ./" + c.Store + " for the folder"
	case filepath.Clean(c.Store) == filepath.Clean(journalPath):
		return Quote(c.Store) + " is the file of the journal", "write a folder, or leave it out for " + Quote(journalPath+".artifacts")
	}
	return "", ""
}
