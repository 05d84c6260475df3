// Package proc runs child processes so that none of them outlives its purpose and
// none of them is believed too early.
//
// A child is started from an argument list, never through a shell, in a session of
// its own (no terminal it could ask for a password on) and with an environment that
// names what it may know. When the context ends its whole group gets SIGTERM, and
// SIGKILL after a grace; what is left of the group when the child itself has ended is
// killed too, since work that goes on after its step is work without a lease. When
// this process is killed, the kernel kills the child.
//
// A child that failed is an error where its output is read: the end of the output is
// never taken for success. Of its stderr only the last lines are kept, scrubbed.
package proc
