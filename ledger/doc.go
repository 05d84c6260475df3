// Package ledger is the durable store of the loop, on PostgreSQL. It implements
// lease.Store and lease.Effects and knows no consumer by name.
//
// Every statement is a file in queries/, sent under its name in one round trip, in
// exec mode and without any state of the session, so it holds through a pooler. A
// change of state is one conditional statement that also writes its receipt; the
// database's clock decides. Where several are needed (claim locks before it counts)
// they go in one round trip and one transaction.
//
// A DB has one connection, made when the first statement needs it. A statement is
// sent again after the connection broke only where nothing of it was sent, or where
// sending it twice changes nothing, which holds for every statement that asks for a
// holder. One that the server undid for the sake of another (a deadlock) is
// sent again too.
package ledger
