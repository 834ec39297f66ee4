// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph

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
	"unicode"
	"unicode/utf8"

	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	cgplugin "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

const (
	minString        = 100
	minRow           = 10_000
	maxRow           = 9_000_000
	maxTags          = 64
	maxTagName       = 64
	maxTagValue      = 1024
	minArtifactQueue = 1 << 20
)

// checkStorage reports what is wrong with the journal and the record. The bounds of
// one depend on those of the other.
func (c Config) checkStorage(p *problems, root keyPath) {
	record := root.field("record")
	c.Record.checkLimits(p, record)
	row := int64(cmp.Or(c.Record.MaxRow, defaultMaxRow))
	if p.failed(record.field("max_row")) {
		row = defaultMaxRow
	}
	c.Journal.check(p, root.field("journal"), row)
	c.Record.check(p, record)
	c.Record.Artifacts.check(p, record.field("artifacts"), cmp.Or(c.Journal.Path, journal.DefaultPath))
}

func (c *RecordConfig) checkLimits(p *problems, k keyPath) {
	row, text := k.field("max_row"), k.field("max_string")
	checkSize(p, row, int64(c.MaxRow), minRow, maxRow)
	checkSize(p, text, int64(c.MaxString), minString, 0)
	if most := cmp.Or(c.MaxRow, defaultMaxRow); c.MaxString > most && !p.failed(row) {
		p.add(text, sizeText(int64(c.MaxString))+" is more than record.max_row ("+sizeText(int64(most))+")",
			"a text cannot be longer than its row: write a smaller size, or raise record.max_row")
	}
}

func (c *RecordConfig) check(p *problems, k keyPath) {
	for _, list := range []struct {
		name  string
		types []string
	}{{"allow", c.Allow}, {"deny", c.Deny}} {
		first := make(map[string]int)
		for i, t := range list.types {
			at := k.field(list.name).index(i)
			eventType(p, at, t)
			unique(p, at, first, t, i)
			if list.name == "deny" && required(t) {
				p.add(at, quote(t)+" is always recorded: an approval and its completeness are judged by it", "remove it from record.deny")
			}
		}
	}
	for _, t := range slices.Sorted(maps.Keys(c.Content)) {
		at := k.field("content").entry(shorten(t))
		eventType(p, at, t)
		if required(t) {
			p.add(at, quote(t)+" is always recorded whole: an approval and its completeness are judged by it", "remove it from record.content")
		}
		switch policy := c.Content[t]; policy {
		case "", cgplugin.ContentFull, cgplugin.ContentDigest, cgplugin.ContentNone:
		default:
			p.add(at, quote(string(policy))+" is not a content policy",
				choose(policy, cgplugin.ContentFull, cgplugin.ContentDigest, cgplugin.ContentNone))
		}
	}
	switch c.PromptHistory {
	case "", PromptFull, PromptDelta:
	default:
		p.add(k.field("prompt_history"), quote(string(c.PromptHistory))+" does not say how much of a prompt is written",
			choose(c.PromptHistory, PromptFull, PromptDelta))
	}
	checkTags(p, k.field("tags"), c.Tags)
	names(p, k.field("metadata"), c.Metadata, "a key of an event's CustomMetadata, or a prefix ending in *", func(at keyPath, s string) {
		if i := strings.IndexByte(s, '*'); i >= 0 && i < len(s)-1 {
			p.add(at, quote(s)+" has a * before its end", "write a key, or a prefix ending in *, for example a2a:*")
		}
	})
	names(p, k.field("final_response_tools"), c.FinalResponseTools, "the name of a tool", nil)
	c.Redact.check(p, k.field("redact"))
}

// names reports what is wrong with a list of names, each there once. A nil also
// means nothing else is wrong with one.
func names(p *problems, k keyPath, list []string, what string, also func(keyPath, string)) {
	first := make(map[string]int)
	for i, s := range list {
		at := k.index(i)
		name(p, at, s, what)
		unique(p, at, first, s, i)
		if also != nil {
			also(at, s)
		}
	}
}

// eventType reports a text that is not the type of an event.
func eventType(p *problems, k keyPath, s string) {
	types := record.EventTypes()
	if slices.Contains(types, s) {
		return
	}
	remedy := "known types: " + strings.Join(types, ", ")
	if meant := closest(strings.ToUpper(s), types); meant != "" {
		remedy = "did you mean " + quote(meant) + "?"
	}
	p.add(k, quote(s)+" is not an event type", remedy)
}

func checkTags(p *problems, k keyPath, tags map[string]string) {
	if len(tags) > maxTags {
		p.add(k, strconv.Itoa(len(tags))+" tags are too many", "write at most "+strconv.Itoa(maxTags))
		return
	}
	const remedy = "write a short name, for example team"
	for _, tag := range slices.Sorted(maps.Keys(tags)) {
		at := k.entry(shorten(tag))
		switch value := tags[tag]; {
		case strings.TrimSpace(tag) == "":
			p.add(at, "the name of the tag is empty", remedy)
		case strings.ContainsFunc(tag, unicode.IsControl):
			p.add(at, "the name of the tag holds a control character", remedy)
		case utf8.RuneCountInString(tag) > maxTagName:
			p.add(at, "the name of the tag is longer than "+strconv.Itoa(maxTagName)+" characters", remedy)
		case len(value) > maxTagValue:
			p.add(at, quote(value)+" is longer than "+strconv.Itoa(maxTagValue)+" bytes", "write a shorter value")
		}
	}
}

func (c *RedactConfig) check(p *problems, k keyPath) {
	names(p, k.field("keys"), c.Keys, "the name of a key, for example account_number", func(at keyPath, s string) {
		if utf8.RuneCountInString(s) < 2 {
			p.add(at, quote(s)+" is shorter than two characters", "write the name of a key, for example account_number")
		}
	})
	const example = `for example 'sk-[A-Za-z0-9]{20,}'`
	first := make(map[string]int)
	for i, s := range c.Patterns {
		at := k.field("patterns").index(i)
		if s == "" {
			p.add(at, "missing", "write a regular expression, "+example)
			continue
		}
		unique(p, at, first, s, i)
		if _, err := regexp.Compile(s); err != nil {
			problem := err.Error()
			var syntaxErr *syntax.Error
			if errors.As(err, &syntaxErr) {
				problem = syntaxErr.Code.String() + ": " + quote(syntaxErr.Expr)
			}
			p.add(at, quote(s)+" is not a regular expression (RE2): "+problem, "write "+example)
		} else if re, err := syntax.Parse(s, syntax.Perl); err == nil && matchesEmpty(re) {
			p.add(at, quote(s)+" matches the empty text, which stands between any two characters", "make it match at least one character, "+example)
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

func (c *ArtifactsConfig) check(p *problems, k keyPath, journalPath string) {
	store := k.field("store")
	if problem, remedy := c.checkStore(journalPath); problem != "" {
		p.add(store, problem, remedy)
	}
	if at := k.field("connection"); c.Connection != "" {
		if !strings.HasPrefix(c.Store, bucketScheme) && !p.failed(store) {
			p.add(at, "given for a store that is not a bucket", "write the bucket in record.artifacts.store, for example gs://bucket/prefix, or remove the connection")
		}
		if !connection.MatchString(c.Connection) {
			p.add(at, quote(c.Connection)+" is not a BigQuery connection", "write its region and its name, for example us.my-connection")
		}
	}
	part, queue := k.field("max_bytes"), k.field("queue_bytes")
	checkSize(p, part, c.MaxBytes, 1, 0)
	checkSize(p, queue, c.QueueBytes, minArtifactQueue, 0)
	if c.QueueBytes != 0 && c.MaxBytes > c.QueueBytes && !p.failed(queue) {
		p.add(part, sizeText(c.MaxBytes)+" is more than queue_bytes ("+sizeText(c.QueueBytes)+")",
			"a part that does not fit into the queue is never stored: write a smaller size, or raise record.artifacts.queue_bytes")
	}
}

// checkStore says what is wrong with the store.
func (c *ArtifactsConfig) checkStore(journalPath string) (problem, remedy string) {
	path, isBucket := strings.CutPrefix(c.Store, bucketScheme)
	switch {
	case c.Store == "" || c.Store == StoreOff:
		return "", ""
	case strings.ContainsFunc(c.Store, unicode.IsControl):
		return quote(c.Store) + " holds a control character", storeRemedy
	case isBucket:
		bucket, prefix, _ := strings.Cut(path, "/")
		switch {
		case !bucketName.MatchString(bucket):
			return quote(bucket) + " is not the name of a bucket", "write for example gs://bucket/prefix"
		case strings.HasPrefix(prefix, "/") || strings.Contains(prefix, "//") || strings.ContainsAny(prefix, "?#"):
			return quote(prefix) + " is not a prefix of object names", "write for example gs://bucket/prefix"
		}
		return "", ""
	case schemeName.MatchString(c.Store):
		return quote(c.Store) + " is neither a folder nor a bucket", storeRemedy
	case slices.Contains([]string{"off", "none", "false", "no", "disabled"}, strings.ToLower(c.Store)):
		return quote(c.Store) + " would be a folder of that name", "write off to keep no part, or ./" + c.Store + " for the folder"
	case filepath.Clean(c.Store) == filepath.Clean(journalPath):
		return quote(c.Store) + " is the file of the journal", "write a folder, or leave it out for " + quote(journalPath+".artifacts")
	}
	return "", ""
}

// required reports whether rows of the type are always written, whole.
func required(eventType string) bool {
	return cgplugin.Required(eventType) || schema.IsApproval(eventType)
}
