package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/heyaira/heyaira-loop/internal/store"
	"github.com/heyaira/heyaira-loop/lease"
)

// restoreLine is the restore by hand, for a reader who has nothing but the folder.
const restoreLine = "age -d -i KEY " + mainName + " | zstd -d | pg_restore --exit-on-error -d DATABASE"

// publish makes a backup and publishes it: the data first, its manifest last and once.
func (a *attempt) publish(ctx context.Context, permit *lease.Permit) (publication, error) {
	p, err := a.enter(ctx, a.config.Store)
	if err != nil {
		return publication{}, err
	}
	previous, err := p.claimScope(ctx, a.item.Scope, a.who, a.item.Generation, a.now(), a.hand)
	if err != nil {
		return publication{}, err
	}
	manifest, err := a.upload(ctx, p, previous)
	if err != nil {
		return publication{}, err
	}
	published := publicationOf(p, manifest, a.id)
	_, err = permit.Fire(ctx, func(ctx context.Context) (json.RawMessage, error) {
		if err := a.putManifest(ctx, p, manifest); err != nil {
			return nil, err
		}
		return published.evidence()
	})
	if err != nil {
		return publication{}, err
	}
	return published, nil
}

// upload streams the dump into the store and answers the manifest to publish. The
// data is committed when it returns; where it fails, nothing is left.
func (a *attempt) upload(ctx context.Context, p *place, previous *Manifest) (*Manifest, error) {
	recipients, fingerprints, err := parseRecipients(a.config.Recipients)
	if err != nil {
		return nil, err
	}
	a.hand.Report("marker", 0)
	snap, err := openSnapshot(ctx, a.config.Service, plan(a.config, p.id))
	if err != nil {
		return nil, err
	}
	defer snap.Close(ctx)
	client, err := findTools(ctx, a.config.PgBin, snap.Server.Version/10000)
	if err != nil {
		return nil, err
	}
	manifest, err := a.describe(snap, client, fingerprints, previous)
	if err != nil {
		return nil, err
	}

	key := a.id.key(a.item.Scope, mainName)
	writer, err := p.store.Create(ctx, key, snap.Size)
	if err != nil {
		return nil, notThere(ctx, p.name, err)
	}
	object, err := a.stream(ctx, snap, client, recipients, writer)
	if err == nil {
		// A worker that is no longer the holder must not even leave data behind.
		err = a.hand.Check(ctx)
	}
	if err != nil {
		clean, cancel := surviving(ctx)
		defer cancel()
		return nil, then(err, writer.Abort(clean))
	}
	a.hand.Report("commit", object.Size)
	info, err := writer.Commit(ctx)
	if err == nil && info.Size != object.Size {
		err = fmt.Errorf("commit %s: %d bytes were written, the store shows %d", key, object.Size, info.Size)
	}
	if err == nil {
		manifest.Objects = []Object{object}
		err = manifest.seal()
	}
	if err == nil {
		err = a.hand.Check(ctx)
	}
	if err != nil {
		// A worker that lost its lease leaves the data to whoever closes its attempt.
		if !lost(ctx, err) {
			err = then(err, a.discard(ctx, p))
		}
		return nil, err
	}
	return manifest, nil
}

// describe says in a manifest what a dump of the snapshot is.
func (a *attempt) describe(snap *snapshot, client tools, fingerprints []string, previous *Manifest) (*Manifest, error) {
	m := &Manifest{
		Format:      format,
		Backup:      a.id.String(),
		Ledger:      a.who.ID,
		Environment: a.who.Environment,
		Scope:       a.item.Scope,
		WorkType:    a.item.WorkType,
		Generation:  a.item.Generation,
		Item:        a.item.Item,
		Claims:      a.item.Claims,
		Fence:       a.item.Fence,
		Head:        a.item.Head,
		Marker:      json.RawMessage(snap.Marker.Text()),
		Ticket:      a.ticket,
		TakenAt:     stamp(snap.TakenAt),
		Server:      snap.Server,
		Dump:        DumpFacts{Version: client.version, Compression: fmt.Sprintf("zstd:%d", a.config.Compression), Jobs: 1},
		Extensions:  snap.Extensions,
		Recipients:  fingerprints,
		Restore:     restoreLine,
		Program:     a.program,
	}
	if previous != nil {
		m.Previous = &previous.Backup
	}
	if m.Extensions == nil {
		m.Extensions = map[string]string{}
	}
	return m, nil
}

// putManifest publishes. An error that is not marked as NotFired leaves it open
// whether the manifest stands: the next attempt will ask.
func (a *attempt) putManifest(ctx context.Context, p *place, manifest *Manifest) error {
	key := a.id.key(a.item.Scope, manifestName)
	failed := putRecord(ctx, p.store, key, manifest)
	if failed == nil {
		return nil
	}
	// The reply may have been lost, also to the end of our own context.
	ctx, cancel := surviving(ctx)
	defer cancel()
	standing, end, err := readManifest(ctx, p.store, a.item.Scope, a.id)
	switch {
	case err == nil && standing != nil && standing.Digest == manifest.Digest:
		return nil
	case err == nil && end != nil:
		return lease.NotFired(fmt.Errorf("publish backup %s: the attempt was closed by %s: %w", a.id, end.By, lease.ErrLost))
	case errors.Is(err, store.ErrNotFound):
		// It may still arrive, unless it is shut out.
		return a.shutOut(ctx, p, manifest, failed)
	case err == nil:
		return fmt.Errorf("publish backup %s: another manifest stands at %s", a.id, key)
	}
	return then(failed, err)
}

// shutOut closes this attempt after its manifest could not be put. What comes too late
// is refused by the store then, and the data may go.
func (a *attempt) shutOut(ctx context.Context, p *place, manifest *Manifest, failed error) error {
	standing, err := p.close(ctx, a.item.Scope, a.id, a.closing(a.id))
	switch {
	case err != nil:
		return then(failed, err)
	case standing == nil:
		return lease.NotFired(then(failed, p.store.Remove(ctx, a.id.key(a.item.Scope, mainName))))
	case standing.Digest == manifest.Digest:
		return nil
	}
	return then(failed, fmt.Errorf("publish backup %s: another manifest stands in its place", a.id))
}

// discard removes data that was committed and will not be published. The attempt is
// closed first: data goes only where a manifest can no longer come to point at it.
func (a *attempt) discard(ctx context.Context, p *place) error {
	ctx, cancel := surviving(ctx)
	defer cancel()
	standing, err := p.close(ctx, a.item.Scope, a.id, a.closing(a.id))
	if err != nil || standing != nil {
		return err
	}
	return p.store.Remove(ctx, a.id.key(a.item.Scope, mainName))
}

// closing is the record that closes an attempt, in this worker's name.
func (a *attempt) closing(id ID) closed {
	return closed{Format: format, Backup: id.String(), Ledger: a.who.ID, Closed: stamp(a.now()), By: a.item.Owner}
}
