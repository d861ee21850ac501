#include "store/clean.h"

#include <string.h>
#include "base/text.h"

size_t berth_clean_step(const char *s)
{
	for (size_t n = 1; n <= 4 && s[n - 1]; n++) {
		if (berth_utf8_is_valid(s, n))
			return n;
	}
	return 0;
}

void berth_clean_text(char *s)
{
	if (berth_utf8_is_valid(s, strlen(s)))
		return;
	while (*s) {
		size_t n = berth_clean_step(s);

		if (n == 0)
			*s = '?';
		s += n ? n : 1;
	}
}
