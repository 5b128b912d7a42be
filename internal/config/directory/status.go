package directory

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/meshd/meshd/internal/model"
)

// ProblemKind says what sort of problem it is.
type ProblemKind string

const (
	// BadFile is a file whose content is wrong. It is skipped, or keeps its last good content.
	BadFile ProblemKind = "bad file"
	// Unreadable is a file or directory that is there and cannot be read. What was read of it before stays.
	Unreadable ProblemKind = "unreadable"
	// Duplicate is an object that another place defines too. The first by path and place wins.
	Duplicate ProblemKind = "duplicate"
)

// Problem is something in the directory that is not as it should be.
type Problem struct {
	Kind ProblemKind `json:"kind"`
	File string      `json:"file"`
	// Document, Item of the document if it is a list, and Line of the file, each counted from 1; 0 if there is none.
	Document int    `json:"document,omitempty"`
	Item     int    `json:"item,omitempty"`
	Line     int    `json:"line,omitempty"`
	Object   string `json:"object,omitempty"`
	Error    string `json:"error"`
	// Kept reports that the file's last good content is still in use.
	Kept bool `json:"kept"`
	// Since is when this problem was first seen.
	Since time.Time `json:"since"`
}

// String gives the problem on one line, with file and line as editors and terminals link them.
func (p Problem) String() string {
	s := p.File
	if p.Line > 0 {
		s += fmt.Sprintf(":%d", p.Line)
	}
	if p.Document > 0 {
		s += fmt.Sprintf(": document %d", p.Document)
	}
	if p.Item > 0 {
		s += fmt.Sprintf(", item %d", p.Item)
	}
	if p.Object != "" {
		s += ": " + p.Object
	}
	return s + ": " + p.Error
}

func (p Problem) identity() Problem {
	p.Since, p.Kept = time.Time{}, false
	return p
}

func sortProblems(all []Problem) {
	slices.SortFunc(all, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Document, b.Document), cmp.Compare(a.Item, b.Item), cmp.Compare(a.Error, b.Error))
	})
}

// Status is the state of the directory source, for debug pages.
type Status struct {
	Directory string `json:"directory"`
	// Loaded reports that the first complete load is done.
	Loaded bool `json:"loaded"`
	// Watching says how changes are noticed.
	Watching string    `json:"watching"`
	Scans    uint64    `json:"scans"`
	LastScan time.Time `json:"lastScan"`
	// Files and Documents that are in use, and what they came to.
	Files     int                `json:"files"`
	Documents int                `json:"documents"`
	Objects   map[model.Kind]int `json:"objects"`
	// Skipped counts the documents of kinds that are not read, and as "no kind" those that are no manifests.
	Skipped map[string]int `json:"skipped,omitempty"`
	// Degraded says what cannot be read any more, so that its last good state is in use; empty if there is no such thing.
	Degraded      string     `json:"degraded,omitempty"`
	DegradedSince *time.Time `json:"degradedSince,omitempty"`
	Problems      []Problem  `json:"problems,omitempty"`
}
