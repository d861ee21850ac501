#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include "engine/local/jobspec.h"

/* Of the real check only what these tests lean on. */
int berth_jobspec_check(json_t *spec, struct berth_error *err)
{
	if (!json_is_array(json_object_get(spec, "argv")) && !json_is_string(json_object_get(spec, "script")))
		return berth_error_set(err, -EINVAL, "argv or script must be given");
	if (!json_is_array(json_object_get(spec, "env")))
		return berth_error_set(err, -EINVAL, "env must be an array of NAME=VALUE");
	if (!json_is_string(json_object_get(spec, "cwd")))
		return berth_error_set(err, -EINVAL, "cwd must be a string");
	return 0;
}

int berth_jobspec_load(struct berth_store *store, const char *key, struct berth_jobspec *ret, struct berth_error *err)
{
	void *body = NULL;
	size_t len;
	int r = berth_store_blob(store, key, &body, &len);

	if (r < 0)
		return r;
	ret->root = json_loadb(body, len, 0, NULL);
	free(body);
	return ret->root ? 0 : -EBADMSG;
}

void berth_jobspec_fini(struct berth_jobspec *spec)
{
	json_decref(spec->root);
	json_decref(spec->env);
}

char *berth_jobspec_path(const char *pattern, const char *cwd, const struct berth_job *job, const char *node,
                         struct berth_error *err)
{
	char *path = NULL;

	return asprintf(&path, "%s/%s", cwd, pattern) < 0 ? NULL : path;
}
