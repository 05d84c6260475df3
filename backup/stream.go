package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"filippo.io/age"
)

// dumpMagic is how an archive of pg_dump's custom format begins.
const dumpMagic = "PGDMP"

// block is how much is moved at a time, in bytes.
const block = 256 << 10

// stream moves the dump through zstd and age into dst. It answers the object that came
// of it, once the dump ended well, both were closed, and what was read is a dump.
func (a *attempt) stream(ctx context.Context, snap *snapshot, client tools, recipients []age.Recipient, dst io.Writer) (Object, error) {
	source, err := snap.dump(ctx, client.dump)
	if err != nil {
		return Object{}, err
	}
	object, err := a.seal(ctx, source, recipients, dst)
	if closed := source.Close(); err == nil {
		err = closed
	}
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause // a child that was killed for it says less
		}
		return Object{}, fmt.Errorf("dump %s: %w", a.config.Service, err)
	}
	return object, nil
}

func (a *attempt) seal(ctx context.Context, source io.Reader, recipients []age.Recipient, dst io.Writer) (Object, error) {
	magic := make([]byte, len(dumpMagic))
	if _, err := io.ReadFull(source, magic); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("pg_dump wrote nothing")
		}
		return Object{}, err
	}
	if string(magic) != dumpMagic {
		return Object{}, errors.New("pg_dump wrote no archive")
	}
	read := &progress{ctx: ctx, source: io.MultiReader(bytes.NewReader(magic), source), report: func(n int64) { a.hand.Report("dump", n) }}
	sealed, err := newSealer(dst, recipients, a.config.Compression)
	if err != nil {
		return Object{}, err
	}
	if _, err := io.Copy(sealed, read); err != nil {
		sealed.Abort()
		return Object{}, err
	}
	if err := sealed.Close(); err != nil {
		return Object{}, err
	}
	sum, size := sealed.Sum()
	if sealed.plain != read.bytes || size <= 0 {
		return Object{}, fmt.Errorf("sizes differ: %d bytes were dumped, %d were sealed", read.bytes, sealed.plain)
	}
	return Object{Role: mainRole, Key: mainName, Size: size, SHA256: sum}, nil
}

// progress tells how many bytes were read so far, and ends with its context: a file
// would be read to its end otherwise.
type progress struct {
	ctx    context.Context
	source io.Reader
	report func(bytes int64)
	bytes  int64
}

func (p *progress) Read(b []byte) (int, error) {
	if p.ctx.Err() != nil {
		return 0, context.Cause(p.ctx)
	}
	n, err := p.source.Read(b)
	p.bytes += int64(n)
	p.report(p.bytes)
	return n, err
}
