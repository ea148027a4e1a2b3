/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reading the runtimes' JSON, in the isolated child. Whatever has not the type that is asked for is not
 * there.
 */
#ifndef CONTENT_CONTAINER_JSON_H
#define CONTENT_CONTAINER_JSON_H

#include <mapwright/mapwright.h>

#include <jansson.h>

/* The whole file; the caller frees it by json_decref(). NULL and the reason if it is none. */
json_t *container_json_load(int fd, uint64_t seed, struct mw_error *e);
/* A text member of an object; NULL if there is none, or no object. */
const char *container_json_text(const json_t *object, const char *key);
/* What is inside a text member that holds JSON itself; the caller frees it. NULL. */
json_t *container_json_inner(const json_t *object, const char *key);

#endif
