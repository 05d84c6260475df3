package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Ranger is a store that can read a part of an object.
type Ranger interface {
	// OpenRange reads length bytes from offset on; ErrNotFound.
	OpenRange(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error)
}

// Ruled is a store whose provider may delete by rules.
type Ruled interface {
	// Lifecycle reads the rules that touch this store.
	Lifecycle(ctx context.Context) (Lifecycle, error)
}

// Clocked is a store that tells the time.
type Clocked interface {
	// Skew is how far this host's clock is ahead of the store's; false if not known.
	Skew() (time.Duration, bool)
}

var (
	_ Ranger  = (*S3)(nil)
	_ Ruled   = (*S3)(nil)
	_ Clocked = (*S3)(nil)
)

// Finding is the verdict of one check on a store.
type Finding struct {
	Check string // what was tried
	Err   error  // nil where the store did as it has to; a hint says what to do
	Note  string // what else an operator should know; may be empty
}

// Probe tries on a store whatever a backup will ask of it, below a prefix of its own,
// and cleans up after itself. It ends early where nothing can be written.
func Probe(ctx context.Context, st Store, prefix string) []Finding {
	p := &probe{ctx: ctx, st: st, part: 1 << 20}
	if s, ok := st.(*S3); ok {
		p.st, p.part = s.probing()
	}
	p.at = strings.TrimSuffix(prefix, "/") + "/probe-" + strings.ToLower(rand.Text()) + "/"
	defer p.clean()
	if !p.check("put", p.put) {
		return p.findings
	}
	p.check("put once", p.putOnce)
	p.check("get", p.get)
	if ranger, ok := p.st.(Ranger); ok {
		p.check("range", func() error { return p.readRange(ranger) })
	}
	p.check("list", p.list)
	p.check("upload", p.upload)
	p.check("abort", p.abort)
	p.check("delete", p.delete)
	if ruled, ok := p.st.(Ruled); ok {
		p.check("lifecycle", func() error { return p.lifecycle(ruled) })
	}
	if clocked, ok := p.st.(Clocked); ok {
		p.check("clock", func() error { return p.clock(clocked) })
	}
	return p.findings
}

// probing is the same store with parts and pages as small as they can be.
func (s *S3) probing() (Store, int64) {
	small := *s
	small.pageSize = 2
	if small.partSize == 0 || small.partSize > minPartSize {
		small.partSize = minPartSize
	}
	return &small, small.partSize
}

type probe struct {
	ctx      context.Context
	st       Store
	at       string // the folder of this probe
	part     int64
	note     string
	findings []Finding
}

func (p *probe) check(name string, try func() error) bool {
	p.note = ""
	err := try()
	p.findings = append(p.findings, Finding{Check: name, Err: err, Note: p.note})
	return err == nil
}

// wrong is a verdict with advice.
func (p *probe) wrong(what, advice string) error {
	return &advised{what: "probe " + p.st.String(), advice: advice, cause: errors.New(what)}
}

var first, second = []byte("first"), []byte("second")

func (p *probe) put() error {
	for _, name := range []string{"a", "b", "c"} {
		if err := p.st.PutOnce(p.ctx, p.at+name, first); err != nil {
			return err
		}
	}
	return nil
}

func (p *probe) putOnce() error {
	err := p.st.PutOnce(p.ctx, p.at+"a", second)
	switch {
	case errors.Is(err, ErrExists):
		return nil
	case err == nil:
		return p.wrong("it replaced an object that it was told to keep", "use a store that honours If-None-Match: manifests rely on it")
	}
	return err
}

func (p *probe) get() error {
	return p.wantBody(first, func() (io.ReadCloser, error) { return p.st.Open(p.ctx, p.at+"b") })
}

func (p *probe) readRange(ranger Ranger) error {
	return p.wantBody(first[1:4], func() (io.ReadCloser, error) { return ranger.OpenRange(p.ctx, p.at+"b", 1, 3) })
}

func (p *probe) wantBody(want []byte, open func() (io.ReadCloser, error)) error {
	r, err := open()
	if err != nil {
		return err
	}
	defer r.Close()
	got, err := io.ReadAll(r)
	if err == nil && !bytes.Equal(got, want) {
		err = p.wrong("it answers other bytes than were written", "do not use this store")
	}
	return err
}

func (p *probe) list() error {
	for after, want := range map[string][]string{"": {"a", "b", "c"}, p.at + "a": {"b", "c"}} {
		got, err := p.names(after)
		if err != nil {
			return err
		}
		if !slices.Equal(got, want) {
			return p.wrong(fmt.Sprintf("it lists %q, and %q are there", got, want), "do not use this store")
		}
	}
	return nil
}

func (p *probe) names(after string) (names []string, err error) {
	for info, err := range p.st.List(p.ctx, p.at, after) {
		if err != nil {
			return nil, err
		}
		names = append(names, strings.TrimPrefix(info.Key, p.at))
	}
	return names, nil
}

// upload writes three equal parts and a tail.
func (p *probe) upload() error {
	w, err := p.st.Create(p.ctx, p.at+"upload", 3*p.part+1)
	if err != nil {
		return err
	}
	sum := sha256.New()
	source := io.TeeReader(io.LimitReader(rand.Reader, 3*p.part+1), sum)
	if _, err := io.Copy(w, source); err != nil {
		return errors.Join(err, w.Abort(context.WithoutCancel(p.ctx)))
	}
	if _, err := w.Commit(p.ctx); err != nil {
		return err
	}
	r, err := p.st.Open(p.ctx, p.at+"upload")
	if err != nil {
		return err
	}
	defer r.Close()
	there := sha256.New()
	if _, err := io.Copy(there, r); err != nil {
		return err
	}
	if !bytes.Equal(there.Sum(nil), sum.Sum(nil)) {
		return p.wrong("it answers other bytes than were uploaded", "do not use this store")
	}
	return nil
}

// abort begins an upload, looks for it, and drops it.
func (p *probe) abort() error {
	w, err := p.st.Create(p.ctx, p.at+"aborted", 2*p.part)
	if err != nil {
		return err
	}
	_, err = io.CopyN(w, rand.Reader, p.part+1)
	sweeper, listed := p.st.(Sweeper)
	if err == nil && listed {
		err = p.wantUploads(sweeper, 1)
	}
	if aborted := w.Abort(context.WithoutCancel(p.ctx)); err == nil {
		err = aborted
	}
	if err == nil && listed {
		err = p.wantUploads(sweeper, 0)
	}
	return err
}

func (p *probe) wantUploads(sweeper Sweeper, want int) error {
	got := 0
	for _, err := range sweeper.Uploads(p.ctx, p.at) {
		if err != nil {
			return err
		}
		got++
	}
	if got != want {
		return p.wrong(fmt.Sprintf("it lists %d open uploads, and %d are there", got, want),
			"let a lifecycle rule of the bucket abort uploads: what is left of them is not found here")
	}
	return nil
}

func (p *probe) delete() error {
	names, err := p.names("")
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := p.st.Remove(p.ctx, p.at+name); err != nil {
			return err
		}
	}
	if names, err = p.names(""); err == nil && len(names) > 0 {
		err = p.wrong(fmt.Sprintf("it still lists %q after they were removed", names), "do not use this store")
	}
	return err
}

func (p *probe) lifecycle(ruled Ruled) error {
	rules, err := ruled.Lifecycle(p.ctx)
	switch {
	case err != nil:
		return err
	case len(rules.Expiring) > 0:
		return p.wrong(fmt.Sprintf("rule %q deletes objects of this store", rules.Expiring[0]),
			"take the rule off this prefix: only retention may delete backups")
	case rules.AbortDays == 0:
		p.note = "no rule aborts old uploads; reconcile does"
	default:
		p.note = fmt.Sprintf("uploads are aborted after %d days", rules.AbortDays)
	}
	return nil
}

// skewLimit is far below the quarter of an hour that S3 forgives, and far above what a
// clock that is kept right is off.
const skewLimit = time.Minute

func (p *probe) clock(clocked Clocked) error {
	skew, known := clocked.Skew()
	if known && skew.Abs() > skewLimit {
		return p.wrong(fmt.Sprintf("its clock and this host's differ by %s", skew.Abs()), "set this host's clock")
	}
	return nil
}

// clean removes what an interrupted or failed probe left.
func (p *probe) clean() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), cleanup)
	defer cancel()
	p.ctx = ctx
	_ = p.delete() // a check of its own has told
}
