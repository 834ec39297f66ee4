// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"errors"
	"math"
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
func (c *Config) checkStorage(p *problems) {
	row := cmp.Or(c.Record.MaxRow, Default().Record.MaxRow)
	if row < minRow || row > maxRow { // which is reported
		row = Default().Record.MaxRow
	}
	c.Journal.check(p, row)
	c.checkStore(p)
	c.Record.check(p, row)
	c.Record.Artifacts.check(p, cmp.Or(c.Journal.Path, Default().Journal.Path))
}

// check reports what is wrong with c. The largest row has the size row.
func (c *Journal) check(p *problems, row Size) {
	p.when(strings.ContainsFunc(c.Path, unicode.IsControl), "journal.path", Quote(c.Path)+" holds a control character", "write the path of a file")
	p.when(c.Path == ":memory:" || strings.HasPrefix(c.Path, "file:"), "journal.path", Quote(c.Path)+" is not a file that outlives the process",
		"write the path of a file, for example "+Default().Journal.Path)
	word(p, "journal.durability", c.Durability, "is not a level of durability", DurabilityMemory, DurabilityJournal, DurabilitySync)
	word(p, "journal.on_full", c.OnFull, "does not say what a full queue does", DropOldest, Block)
	interval := maxMemoryInterval
	if slices.Contains([]Durability{"", DurabilityJournal, DurabilitySync}, c.Durability) {
		interval = maxCommitInterval
	}
	p.duration("journal.commit_interval", c.CommitInterval, 0, interval)
	p.size("journal.queue_bytes", c.QueueBytes, minQueue, math.MaxInt64)
	p.when(c.QueueBytes != 0 && c.QueueBytes < rowsInQueue*row, "journal.queue_bytes", c.QueueBytes.String()+" is less than four rows of record.max_row ("+row.String()+")",
		"write at least "+(rowsInQueue*row).String()+", or lower record.max_row")
	p.duration("journal.retention.max_age", c.Retention.MaxAge, minRetentionAge, maxRetentionAge)
	p.size("journal.retention.max_size", c.Retention.MaxSize, minRetentionSize, math.MaxInt64)
}

func (c *Record) check(p *problems, row Size) {
	p.size("record.max_row", c.MaxRow, minRow, maxRow)
	p.size("record.max_string", c.MaxString, minString, math.MaxInt64)
	p.when(c.MaxString > row, "record.max_string", c.MaxString.String()+" is more than record.max_row ("+row.String()+")",
		"a text cannot be longer than its row: write a smaller size, or raise record.max_row")
	p.unique("record.allow", "", c.Allow)
	p.unique("record.deny", "", c.Deny)
	sorted("record.content", c.Content, func(at, _ string, policy ContentPolicy) {
		word(p, at, policy, "is not a content policy", ContentFull, ContentDigest, ContentNone)
	})
	word(p, "record.prompt_history", c.PromptHistory, "does not say how much of a prompt is written", PromptFull, PromptDelta)
	p.tags(c.Tags)
	p.names("record.metadata", c.Metadata, "a key of an event's CustomMetadata, or a prefix ending in *")
	for i, s := range c.Metadata {
		p.when(strings.Contains(s[:max(len(s)-1, 0)], "*"), Index("record.metadata", i), Quote(s)+" has a * before its end", "write a key, or a prefix ending in *, for example a2a:*")
	}
	p.names("record.final_response_tools", c.FinalResponseTools, "the name of a tool")
	c.Redact.check(p)
}

func (p *problems) tags(tags map[string]string) {
	const remedy = "write a short name, for example team"
	p.when(len(tags) > maxTags, "record.tags", strconv.Itoa(len(tags))+" tags are too many", "write at most "+strconv.Itoa(maxTags))
	sorted("record.tags", tags, func(at, tag, value string) {
		p.when(strings.TrimSpace(tag) == "", at, "the name of the tag is empty", remedy)
		p.when(strings.ContainsFunc(tag, unicode.IsControl), at, "the name of the tag holds a control character", remedy)
		p.when(utf8.RuneCountInString(tag) > maxTagName, at, "the name of the tag is longer than "+strconv.Itoa(maxTagName)+" characters", remedy)
		p.when(len(value) > maxTagValue, at, Quote(value)+" is longer than "+strconv.Itoa(maxTagValue)+" bytes", "write a shorter value")
	})
}

func (c *Redact) check(p *problems) {
	const key, example = "the name of a key, for example account_number", "for example 'sk-[A-Za-z0-9]{20,}'"
	p.names("record.redact.keys", c.Keys, key)
	for i, s := range c.Keys {
		p.when(utf8.RuneCountInString(s) < 2, Index("record.redact.keys", i), Quote(s)+" is shorter than two characters", "write "+key)
	}
	for i, s := range c.Patterns {
		at := Index("record.redact.patterns", i)
		p.when(s == "", at, "missing", "write a regular expression, "+example)
		re, err := syntax.Parse(s, syntax.Perl)
		var wrong *syntax.Error
		if errors.As(err, &wrong) {
			p.when(true, at, Quote(s)+" is not a regular expression (RE2): "+wrong.Code.String()+": "+Quote(wrong.Expr), "write "+example)
			continue
		}
		p.when(matchesEmpty(re), at, Quote(s)+" matches the empty text, which stands between any two characters", "make it match at least one character, "+example)
	}
	p.unique("record.redact.patterns", "", c.Patterns)
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

var (
	bucketName   = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]$`)
	bucketPrefix = regexp.MustCompile(`^([^/?#]+/)*[^/?#]*$`)
	schemeName   = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]+:/`)
	connection   = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9:._-]*\.)?[A-Za-z0-9-]+\.[A-Za-z0-9_-]+$`)
)

func (c *Artifacts) check(p *problems, journalPath string) {
	const store = "record.artifacts.store"
	before := len(*p)
	path, isBucket := strings.CutPrefix(c.Store, "gs://")
	bucket, prefix, _ := strings.Cut(path, "/")
	const remedy, example = "write a folder, a bucket such as gs://bucket/prefix, or off", "write for example gs://bucket/prefix"
	p.when(strings.ContainsFunc(c.Store, unicode.IsControl), store, Quote(c.Store)+" holds a control character", remedy)
	p.when(isBucket && (!bucketName.MatchString(bucket) || len(bucket) > 63 && !strings.Contains(bucket, ".")), store, Quote(bucket)+" is not the name of a bucket", example)
	p.when(isBucket && !bucketPrefix.MatchString(prefix), store, Quote(prefix)+" is not a prefix of object names", example)
	p.when(!isBucket && schemeName.MatchString(c.Store), store, Quote(c.Store)+" is neither a folder nor a bucket", remedy)
	looksOff := slices.Contains([]string{"off", "none", "false", "no", "disabled"}, strings.ToLower(c.Store))
	p.when(looksOff && c.Store != StoreOff, store, Quote(c.Store)+" would be a folder of that name", "write off to keep no part, or ./"+c.Store+" for the folder")
	p.when(c.Store != "" && filepath.Clean(c.Store) == filepath.Clean(journalPath), store, Quote(c.Store)+" is the file of the journal", "write a folder, or leave it out for "+Quote(journalPath+".artifacts"))
	sound := len(*p) == before
	if at := "record.artifacts.connection"; c.Connection != "" {
		p.when(!connection.MatchString(c.Connection), at, Quote(c.Connection)+" is not a BigQuery connection", "write its region and its name, for example us.my-connection")
		p.when(!isBucket && sound, at, "given for a store that is not a bucket", "write the bucket in "+store+", for example gs://bucket/prefix, or remove the connection")
	}
	p.size("record.artifacts.max_bytes", c.MaxBytes, 1, MaxPart)
}
