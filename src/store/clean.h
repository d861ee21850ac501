#ifndef BERTH_STORE_CLEAN_H
#define BERTH_STORE_CLEAN_H
/* Text that can be written and read back. JSON carries UTF-8 only; names from the system need not be UTF-8. What is not
 * is replaced by '?' before it enters memory or journal, so that both hold the same and a journal can always be read
 * again. */
#include <stddef.h>

/* Bytes of the valid UTF-8 character that s begins with, 1 to 4; 0 when it begins with none (or is at its end). s is
 * NUL-terminated. */
size_t berth_clean_step(const char *s);
/* Replace by '?', in place, every byte of s that belongs to no valid UTF-8 character. The length stays. */
void berth_clean_text(char *s);
#endif
