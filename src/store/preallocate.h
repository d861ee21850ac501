#ifndef BERTH_STORE_PREALLOCATE_H
#define BERTH_STORE_PREALLOCATE_H
/* Room for the write-ahead log, written before it is needed. Flushing a file that grows also flushes the file system's
 * own journal; overwriting what is there does not: 0.16 ms instead of 0.9 ms for a lone transaction here (ext4, 2
 * cores). */

/* Lengthen the log NAME in dirfd with zeros, which SQLite reads as its end, up to the length at which it is copied into
 * the database and begun anew; what stands in it stays. Before anything writes to it. Without room on the disk it is
 * left as it is. */
void berth_preallocate_log(int dirfd, const char *name);
#endif
