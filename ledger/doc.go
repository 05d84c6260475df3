// Package ledger is the durable store of the loop, on PostgreSQL. It implements
// lease.Store and lease.Effects and knows no consumer by name.
//
// Every statement is a file in queries/, sent under its name in one round trip, in
// exec mode and without any state of the session, so it holds through a pooler. A
// change of state is one conditional statement that also writes its receipt; the
// database's clock decides. Only claim is two statements, in one round trip and one
// transaction.
//
// A DB has one connection, made when the first statement needs it. A statement is
// sent again after the connection broke only where nothing of it was sent, or where
// sending it twice changes nothing.
package ledger
