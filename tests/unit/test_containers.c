/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The containers of a profile: kept in its file, shown by report and json. */
#include "base/buffer.h"
#include "lib/profile_builder.h"
#include "lib/test.h"
#include "output/output.h"
#include "output/report.h"
#include "profile/codec.h"
#include "profile/reader.h"
#include "profile/writer.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ID "489ce0ef7fef0384916f24419f34f037f421877cabc9e9979571556b5398ea41"

/* What build_samples() gives its samples. */
#define CGROUP	  42
#define NAMESPACE 4026531841

static const char *const web[PROFILE_CONTAINER_N_TEXTS] = {
	"containerd", ID, "web", "docker.io/library/nginx:1", "web-0", "prod", "/run/rootfs", "/a:/b"};
static const char *const nameless[PROFILE_CONTAINER_N_TEXTS] = {"podman", ID};

static uint32_t add(struct profile *p, const char *const *texts, uint64_t cgroup)
{
	uint32_t container;
	assert_int_equal(profile_add_container(p, texts, &container), 0);
	assert_int_equal(profile_set_place(p, cgroup, NAMESPACE, container), 0);
	return container;
}

static const char *name_of_first_sample(const struct profile *p)
{
	const struct profile_container *c = profile_container_of(p, &p->samples.items[0]);
	return c ? profile_string(p, c->text[PROFILE_CONTAINER_NAME]) : NULL;
}

static char *report_text(const struct profile *p, const char *keys)
{
	char *text = NULL;
	size_t size;
	struct report_options options = {};
	FILE *out = open_memstream(&text, &size);
	assert_int_equal(report_parse_sort(keys, &options, NULL), 0);
	assert_int_equal(report_write(p, &options, out), 0);
	fclose(out);
	return text;
}

static char *json_text(const struct profile *p)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	assert_int_equal(output_format_find("json")->write(p, out), 0);
	fclose(out);
	return text;
}

static struct profile *save_and_read(struct profile *p)
{
	char path[] = "/tmp/mwtest.XXXXXX";
	int fd = mkstemp(path);
	struct profile *q;
	assert_true(fd >= 0);
	close(fd);
	unlink(path);
	assert_int_equal(profile_save(path, p, NULL), 0);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(profile_open(fd, path, &q, NULL), 0);
	close(fd);
	unlink(path);
	return q;
}

static void a_sample_is_in_the_container_of_its_cgroup_and_namespace(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_sampler();
	assert_null(name_of_first_sample(p));
	uint32_t container = add(p, web, CGROUP + 1);
	assert_null(name_of_first_sample(p));
	assert_int_equal(profile_set_place(p, CGROUP, NAMESPACE + 1, container), 0);
	assert_null(name_of_first_sample(p));
	assert_int_equal(profile_set_place(p, CGROUP, NAMESPACE, container), 0);
	assert_string_equal(name_of_first_sample(p), "web");
	assert_int_equal(profile_set_place(p, CGROUP, NAMESPACE, container + 1), -ENOENT);
	assert_int_equal(profile_set_container(p, container + 1, web), -ENOENT);
}

static void what_is_learned_later_reaches_earlier_samples(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_sampler();
	uint32_t first = add(p, nameless, CGROUP);
	assert_string_equal(name_of_first_sample(p), "");
	assert_int_equal(profile_set_container(p, first, web), 0);
	assert_string_equal(name_of_first_sample(p), "web");
	add(p, nameless, CGROUP);
	assert_string_equal(name_of_first_sample(p), "");
}

static void containers_are_in_the_file_with_their_last_state(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_sampler();
	uint32_t first = add(p, nameless, CGROUP);
	assert_int_equal(profile_set_container(p, first, web), 0);
	_cleanup_(cleanup_profile_free) struct profile *q = save_and_read(p);
	assert_int_equal(q->containers.n, 1);
	const struct profile_container *c = profile_container_of(q, &q->samples.items[0]);
	for (size_t i = 0; i < PROFILE_CONTAINER_N_TEXTS; i++)
		assert_string_equal(profile_string(q, c->text[i]), web[i]);
	assert_null(q->damage);
	assert_int_equal(q->unknown_references, 0);
}

static void changes_after_a_flush_are_written_by_the_next(void **state)
{
	char path[] = "/tmp/mwtest.XXXXXX";
	int fd = mkstemp(path);
	_cleanup_(cleanup_profile_free) struct profile *p = build_sampler();
	struct profile_writer *w;
	assert_int_equal(profile_writer_create(path, p, &w, NULL), 0);
	uint32_t first = add(p, nameless, CGROUP), second = 0;
	assert_int_equal(profile_writer_flush(w, NULL), 0);
	assert_int_equal(profile_add_container(p, web, &second), 0);
	assert_int_equal(profile_set_place(p, CGROUP, NAMESPACE, second), 0);
	assert_int_equal(profile_set_container(p, first, web), 0);
	assert_int_equal(profile_writer_flush(w, NULL), 0);
	profile_writer_free(w);
	close(fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_(cleanup_profile_free) struct profile *q = NULL;
	assert_int_equal(profile_open(fd, path, &q, NULL), 0);
	close(fd);
	char old[40];
	snprintf(old, sizeof old, "%s.old", path);
	unlink(path);
	unlink(old);
	assert_int_equal(q->places.n, 1);
	assert_int_equal(q->places.items[0].container, second);
	assert_string_equal(name_of_first_sample(q), "web");
	assert_string_equal(profile_string(q, q->containers.items[first].text[2]), "web");
}

static void records_that_make_no_sense_are_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
	} bad[] = {
		{"\x0c\x02\x00\x00", 4},		     /* cut in its texts */
		{"\x0d\x01\x00", 3},			     /* cut in a place */
		{"\x0c\x09\xff\xff\xff\x7f\0\0\0\0\0", 11}, /* number far behind the end */
		{"\x0d\x06\x00\x00\xff\xff\xff\x7f", 8},     /* container far behind the end */
		{"\x0d\x06\xff\xff\xff\x7f\x00\x00", 8},     /* cgroup far behind the end */
	};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		_cleanup_(cleanup_profile_free) struct profile *p = build_empty();
		struct codec_decoder d = {.p = p};
		assert_int_equal(codec_decode(&d, bad[i].bytes, bad[i].size, NULL), -EBADMSG);
		codec_decoder_deinit(&d);
	}
	/* What a missing chunk may have defined is made up and counted. */
	_cleanup_(cleanup_profile_free) struct profile *p = build_empty();
	struct codec_decoder d = {.p = p};
	assert_int_equal(codec_decode(&d, "\x0d\x03\x02\x01\x05", 5, NULL), 0);
	assert_int_equal(p->containers.n, 6);
	assert_int_equal(p->cgroups.n, 3);
	assert_int_equal(p->unknown_references, 2);
	codec_decoder_deinit(&d);
}

static void the_report_sorts_by_container_image_and_pod(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_sampler();
	_cleanup_free_ char *before = report_text(p, "container,image,pod");
	assert_non_null(strstr(before, "100.00%  [host]     -      -\n"));
	uint32_t container = add(p, nameless, CGROUP);
	_cleanup_free_ char *unnamed = report_text(p, "container,pod");
	assert_non_null(strstr(unnamed, "100.00%  podman:489ce0ef7fef  -\n"));
	assert_int_equal(profile_set_container(p, container, web), 0);
	_cleanup_free_ char *named = report_text(p, "container,image,pod");
	assert_non_null(strstr(named, "containerd:web  docker.io/library/nginx:1  prod/web-0\n"));
}

static void json_has_a_container_in_each_sample_and_all_of_it_once(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_sampler();
	add(p, web, CGROUP);
	_cleanup_free_ char *text = json_text(p);
	assert_non_null(strstr(text, "\"containers\":[{\"runtime\":\"containerd\",\"id\":\"" ID
				     "\",\"name\":\"web\",\"image\":\"docker.io/library/nginx:1\","
				     "\"pod\":\"web-0\",\"namespace\":\"prod\",\"rootfs\":"
				     "\"/run/rootfs\",\"layers\":\"/a:/b\"}]"));
	assert_non_null(strstr(text, "\"container_number\":0,\"container\":{\"runtime\":"
				     "\"containerd\",\"id\":\"" ID "\",\"name\":\"web\",\"image\":"
				     "\"docker.io/library/nginx:1\",\"pod\":\"web-0\","
				     "\"namespace\":\"prod\"},\"frames\""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sample_is_in_the_container_of_its_cgroup_and_namespace),
		cmocka_unit_test(what_is_learned_later_reaches_earlier_samples),
		cmocka_unit_test(containers_are_in_the_file_with_their_last_state),
		cmocka_unit_test(changes_after_a_flush_are_written_by_the_next),
		cmocka_unit_test(records_that_make_no_sense_are_refused),
		cmocka_unit_test(the_report_sorts_by_container_image_and_pod),
		cmocka_unit_test(json_has_a_container_in_each_sample_and_all_of_it_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
