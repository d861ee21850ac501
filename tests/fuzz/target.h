#ifndef BERTH_FUZZ_TARGET_H
#define BERTH_FUZZ_TARGET_H
/* What the fuzz targets share.
 *
 * Each target is one file, linked twice: with libFuzzer (clang, meson setup -Dfuzz=true -Db_sanitize=address,undefined
 * -Db_lundef=false) into fuzz-NAME, and with replay.c into a test of every build, which feeds it the seeds and a fixed
 * number of mutations of them.
 *
 * A target says more than "it did not crash": what was read is written and read again, and must be the same.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The entry that libFuzzer calls. Always 0. data: size bytes, not terminated, not kept. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The promise of a target: says where it was broken and aborts, so that libFuzzer keeps the input. */
#define FUZZ_PROMISE(is_kept) ((is_kept) ? (void)0 : fuzz_broken(__FILE__, __LINE__, #is_kept))
_Noreturn void fuzz_broken(const char *file, int line, const char *promise);

/* A copy with a NUL behind it, in an allocation of exactly that size: a read beyond it is seen. Freed by the caller. */
char *fuzz_text(const uint8_t *data, size_t size);
/* A descriptor of a directory of this process's own, /tmp/berth-fuzz-…; it goes when the process ends, and *ret_path
 * (may be NULL) names it. */
int fuzz_dir(const char **ret_path);
/* The file NAME in that directory now holds these bytes. */
void fuzz_file(const char *name, const void *data, size_t size);
#endif
