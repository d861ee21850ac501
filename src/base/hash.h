#ifndef BERTH_BASE_HASH_H
#define BERTH_BASE_HASH_H
/* Fast hashes for tables and for comparing states; no protection against an adversary (the store uses SHA-256). */
#include <stddef.h>
#include <stdint.h>

#define BERTH_HASH_SEED 0xcbf29ce484222325u

/* FNV-1a, 64 bit, continuing from h (start: BERTH_HASH_SEED). */
static inline uint64_t berth_hash_bytes(uint64_t h, const void *data, size_t n)
{
	const unsigned char *p = data;

	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 0x100000001b3u;
	return h;
}

/* Mix of a 64-bit key (finaliser of splitmix64, Steele et al. 2014): neighbouring ids spread over a table. */
static inline uint64_t berth_hash_u64(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}
#endif
