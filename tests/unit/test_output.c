/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/profile_builder.h"
#include "lib/test.h"
#include "output/output.h"
#include "output/report.h"
#include "output/text.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- what a test sees of an output ----------------------------------------------------------- */

static char *report_text(const struct profile *p, const struct report_options *options)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	assert_int_equal(report_write(p, options, f), 0);
	fclose(f);
	return text;
}

static char *export_text(const struct profile *p, const char *format)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	assert_int_equal(output_format_find(format)->write(p, f), 0);
	fclose(f);
	return text;
}

static void assert_contains(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("not there: %s\n%s", part, text);
}

/*
 * Compares with tests/golden/NAME.txt. UPDATE_GOLDEN=1 writes these files anew; the difference is
 * then for a person to judge.
 */
static void assert_golden(const char *name, const char *text)
{
	char path[400];
	snprintf(path, sizeof path, "%s/%s.txt", GOLDEN_DIR, name);
	if (getenv("UPDATE_GOLDEN")) {
		_cleanup_fclose_ FILE *f = fopen(path, "w");
		assert_non_null(f);
		fputs(text, f);
		return;
	}
	_cleanup_fclose_ FILE *f = fopen(path, "r");
	if (!f)
		fail_msg("%s is not there", path);
	_cleanup_free_ char *expected = calloc(1, 1 << 20);
	fread(expected, 1, (1 << 20) - 1, f);
	if (strcmp(expected, text) != 0)
		fail_msg("differs from %s:\n%s", path, text);
}

static void sort_by(struct report_options *options, const char *keys)
{
	assert_int_equal(report_parse_sort(keys, options, NULL), 0);
}

/* ---- golden ---------------------------------------------------------------------------------- */

static void the_plain_report_is_as_in_its_golden_file(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_sampler();
	_cleanup_free_ char *text = report_text(p, &(struct report_options){});
	assert_golden("report", text);
}

static void the_report_with_children_is_as_in_its_golden_file(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_sampler();
	_cleanup_free_ char *text = report_text(p, &(struct report_options){.call_graph = true});
	assert_golden("report-children", text);
}

static void the_report_with_callers_is_as_in_its_golden_file(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_sampler();
	struct report_options options = {.call_graph = true, .no_children = true, .colour = true};
	_cleanup_free_ char *text = report_text(p, &options);
	assert_golden("report-callers-colour", text);
}

static void the_report_by_task_is_as_in_its_golden_file(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_sampler();
	struct report_options options = {};
	sort_by(&options, "pid,tid,cgroup,cpu");
	_cleanup_free_ char *text = report_text(p, &options);
	assert_golden("report-tasks", text);
}

static void folded_is_as_in_its_golden_file(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_sampler();
	_cleanup_free_ char *text = export_text(p, "folded");
	assert_golden("folded", text);
}

static void json_is_as_in_its_golden_file(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_sampler();
	_cleanup_free_ char *text = export_text(p, "json");
	assert_golden("json", text);
}

/* ---- the report ------------------------------------------------------------------------------ */

static void sort_keys_are_read_and_unknown_ones_named(void **state)
{
	struct report_options options = {};
	struct mw_error e;
	assert_int_equal(report_parse_sort("sym,dso,sym", &options, &e), 0);
	assert_int_equal(options.n_keys, 2);
	assert_int_equal(options.keys[0], REPORT_SYM);
	const char *const bad[] = {"", "sym,", "symbol", ",", "comm,,dso", "co"};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(report_parse_sort(bad[i], &options, &e), -EINVAL);
	assert_string_equal(e.msg, "unknown sort key 'co'; there are comm, pid, tid, dso, sym, "
				   "srcline, srcfile, cgroup, cpu, container, image, pod");
}

static void recursion_counts_a_sample_once(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_empty();
	uint32_t f = build_file(p, "/f", "gnu:01", MW_REASON_NONE);
	build_samples(p, "a", 1, 0, 10,
		      FRAMES(FRAME_OF_FILE(f, 1), FRAME_OF_FILE(f, 2), FRAME_OF_FILE(f, 3),
			     FRAME_OF_FILE(f, 2)));
	build_name(p, FRAME_FILE, f, 1, "walk", NULL);
	build_name(p, FRAME_FILE, f, 2, "walk", NULL);
	build_name(p, FRAME_FILE, f, 3, "other", NULL);
	struct report_options options = {.call_graph = true};
	sort_by(&options, "sym");
	_cleanup_free_ char *text = report_text(p, &options);
	assert_contains(text, "   100.00%   100.00%  [.] walk\n");
	assert_contains(text, "   100.00%     0.00%  [.] other\n");
}

static void rows_below_the_limit_are_left_out(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_empty();
	uint32_t f = build_file(p, "/f", "gnu:01", MW_REASON_NONE);
	const char *const names[] = {"much", "some", "little"};
	const unsigned counts[] = {90, 9, 1};
	for (unsigned i = 0; i < 3; i++) {
		build_samples(p, "a", 1, 0, counts[i], FRAMES(FRAME_OF_FILE(f, i)));
		build_name(p, FRAME_FILE, f, i, names[i], NULL);
	}
	struct report_options options = {.percent_limit = 9};
	_cleanup_free_ char *text = report_text(p, &options);
	assert_contains(text, "much");
	assert_contains(text, "some");
	assert_null(strstr(text, "little"));
	options.percent_limit = 9.01;
	_cleanup_free_ char *less = report_text(p, &options);
	assert_null(strstr(less, "some"));
}

static void a_file_without_a_path_goes_by_its_id_in_folded_stacks(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_empty();
	uint32_t known = build_file(p, "", "gnu:93ac61ec", MW_REASON_FILE_GONE);
	uint32_t unknown = build_file(p, "", NULL, MW_REASON_FILE_GONE);
	build_samples(p, "prog", 1, 0, 1, FRAMES(FRAME_OF_FILE(known, 0x10), FRAME_OF_FILE(unknown, 0x20)));
	_cleanup_free_ char *folded = export_text(p, "folded");
	assert_string_equal(folded, "prog;[no path+0x20];[gnu:93ac61ec+0x10] 1\n");
}

static void rows_of_all_samples_add_up_to_a_hundred_percent(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_compile(5000);
	const char *const sorts[] = {"dso", "comm", "pid", "cpu", "comm,dso", "cgroup,cpu"};
	for (size_t i = 0; i < ARRAY_SIZE(sorts); i++) {
		struct report_options options = {.call_graph = true};
		sort_by(&options, sorts[i]);
		_cleanup_free_ char *text = report_text(p, &options);
		double sum = 0, children, self;
		for (char *line = text; line; line = strchr(line, '\n'), line += line ? 1 : 0) {
			if (*line == ' ' && sscanf(line, " %lf%% %lf%% ", &children, &self) == 2) {
				sum += self;
				assert_true(children >= self && children <= 100);
			}
		}
		if (sum < 99 || sum > 101) /* rounded to two digits each */
			fail_msg("by %s: %f", sorts[i], sum);
	}
}

static void inferred_frames_are_marked_wherever_they_are_shown(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_empty();
	uint32_t prog = build_file(p, "/usr/bin/prog", "gnu:93ac61ec", MW_REASON_NONE);
	struct frame copy = FRAME_OF_FILE(prog, 0x1149);
	copy.flags = FRAME_INFERRED;
	build_samples(p, "prog", 100, 1000, 3, FRAMES(copy));
	build_samples(p, "prog", 100, 1000, 1, FRAMES(FRAME_OF_FILE(prog, 0x1149)));
	build_name(p, FRAME_FILE, prog, 0x1149, "work", NULL);
	_cleanup_free_ char *report = report_text(p, &(struct report_options){
		.keys = {REPORT_DSO, REPORT_SYM}, .n_keys = 2});
	assert_contains(report, "# inferred: [~] marks");
	assert_contains(report, "(3 samples)");
	assert_contains(report, "    75.00%  prog           [~] work\n");
	assert_contains(report, "    25.00%  prog           [.] work\n");
	_cleanup_free_ char *json = export_text(p, "json");
	assert_contains(json, "\"offset\":\"0x1149\",\"inferred\":true,\"name\":\"work\"");
	assert_contains(json, "\"offset\":\"0x1149\",\"name\":\"work\"");
	_cleanup_free_ char *folded = export_text(p, "folded");
	assert_string_equal(folded, "prog;work 4\n");
}

static void a_report_without_samples_says_so(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_empty();
	_cleanup_free_ char *text = report_text(p, &(struct report_options){});
	assert_contains(text, "# No samples.\n");
	assert_contains(text, "# lost:     nothing\n");
}

static void samples_without_frames_and_without_values_have_rows(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_empty();
	const struct sample s = {.command = "bare"};
	assert_int_equal(profile_add_sample(p, &s), 1);
	for (int graph = 0; graph < 2; graph++) {
		struct report_options options = {.call_graph = graph};
		_cleanup_free_ char *text = report_text(p, &options);
		assert_contains(text, "100.00%  bare     [none]         [.] [no-user-stack]\n");
	}
	_cleanup_free_ char *folded = export_text(p, "folded");
	assert_string_equal(folded, "bare;[no-user-stack] 1\n");
}

static void what_does_not_add_up_is_said(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_sampler();
	profile_set_fact_number(p, PROFILE_FACT_EVENTS_COUNTED, 1111);
	_cleanup_free_ char *equal = report_text(p, &(struct report_options){});
	assert_contains(equal, "# counted:  1111 events = 100 samples + 1000 idle + 11 lost\n");
	profile_set_fact_number(p, PROFILE_FACT_EVENTS_COUNTED, 1100);
	_cleanup_free_ char *more = report_text(p, &(struct report_options){});
	assert_contains(more, " + 11 lost - 11 more than were counted\n");
}

static void moments_are_right_in_leap_years_and_at_their_ends(void **state)
{
	static const struct {
		uint64_t seconds;
		const char *text;
	} moments[] = {
		{1, "1970-01-01 00:00:01 UTC"},		 {951782400, "2000-02-29 00:00:00 UTC"},
		{951868799, "2000-02-29 23:59:59 UTC"},	 {978307199, "2000-12-31 23:59:59 UTC"},
		{1709164800, "2024-02-29 00:00:00 UTC"}, {4107542400, "2100-03-01 00:00:00 UTC"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(moments); i++) {
		_cleanup_(cleanup_profile_free) struct profile *p = build_empty();
		profile_set_fact_number(p, PROFILE_FACT_START_REALTIME,
					moments[i].seconds * 1000000000);
		_cleanup_free_ char *text = report_text(p, &(struct report_options){});
		assert_contains(text, moments[i].text);
	}
}

static void each_event_has_a_table_of_its_own(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_empty();
	uint32_t event;
	assert_int_equal(profile_add_event(p, "page-faults", "faults", 1, 0, &event), 0);
	build_samples(p, "a", 1, 0, 1, FRAMES(FRAME_OF_RAW(1)));
	const struct frame frame = FRAME_OF_RAW(2);
	struct sample s = {.event = event, .command = "b", .frames = &frame, .n_frames = 1, .value = 5};
	assert_int_equal(profile_add_sample(p, &s), 1);
	_cleanup_free_ char *text = report_text(p, &(struct report_options){});
	assert_contains(text, "# Samples: 1 of event 'cpu-clock'");
	assert_contains(text, "# Samples: 1 of event 'page-faults'");
}

static void a_narrow_terminal_cuts_rows_at_its_width(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_sampler();
	for (unsigned width = 1; width < 60; width++) {
		_cleanup_free_ char *text = report_text(p, &(struct report_options){.width = width});
		for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
			assert_true(line[0] == '#' || text_columns(line) <= MAX(width, 11u));
	}
}

static void a_write_that_fails_is_an_error(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_sampler();
	_cleanup_fclose_ FILE *full = fopen("/dev/full", "w");
	assert_int_equal(report_write(p, &(struct report_options){}, full), -ENOSPC);
	for (size_t i = 0; output_format_at(i); i++) {
		_cleanup_fclose_ FILE *f = fopen("/dev/full", "w");
		assert_int_equal(output_format_at(i)->write(p, f), -ENOSPC);
	}
}

/* ---- text ------------------------------------------------------------------------------------ */

static void one_line_per_record_whatever_names_hold(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_empty();
	const char *const nasty[] = {"a\nb",	      "c\rd",		  "\x1b[31mred",
				     "e\xe2\x80\xa8g", "g\xc2\x85h",	  "bad\xff\xfe",
				     "\xc0\x8a",	      "tab\there",	  "\xed\xa0\x80",
				     "\xf4\x90\x80\x80", "i;j\xe2\x80\xaek"};
	for (unsigned i = 0; i < ARRAY_SIZE(nasty); i++) {
		uint32_t f = build_file(p, nasty[i], NULL, MW_REASON_FILE_GONE);
		build_samples(p, nasty[i], 1, 0, 1, FRAMES(FRAME_OF_FILE(f, i), FRAME_OF_FILE(f, 99)));
		build_name(p, FRAME_FILE, f, i, nasty[i], nasty[i]);
	}
	_cleanup_free_ char *folded = export_text(p, "folded");
	unsigned lines = 0;
	for (const char *at = folded; *at; at++) {
		lines += *at == '\n';
		assert_true(*at == '\n' || (unsigned char)*at >= ' ');
	}
	assert_int_equal(lines, ARRAY_SIZE(nasty));
	assert_null(strstr(folded, "\xe2\x80\xa8"));
	assert_null(strstr(folded, "\xc2\x85"));
	assert_null(strstr(folded, "\xff"));
	assert_contains(folded, "a\\x0ab;[a\\x0ab+0x63];a\\x0ab 1\n");
	assert_contains(folded, "i:j\\xe2\\x80\\xaek;");
	_cleanup_free_ char *report = report_text(p, &(struct report_options){.call_graph = true});
	assert_null(strchr(report, '\x1b'));
	assert_null(strchr(report, '\r'));
}

static void json_is_valid_utf8_whatever_names_hold(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_sampler();
	profile_set_fact(p, "odd\"\\key\xff", "\xf0\x9f\xa6\x80 crab \xff\"\n");
	profile_set_name(p, 0, "bad\xff" "name", NULL, 0, 0);
	_cleanup_free_ char *text = export_text(p, "json");
	json_error_t error;
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	if (!root)
		fail_msg("%s at %d", error.text, error.position);
	json_t *samples = json_object_get(root, "samples"), *sample;
	size_t i;
	json_int_t count = 0;
	bool found = false;
	json_array_foreach(samples, i, sample) {
		count += json_integer_value(json_object_get(sample, "count"));
		json_t *frames = json_object_get(sample, "frames"), *frame;
		size_t k;
		json_array_foreach(frames, k, frame) {
			const char *hex = json_string_value(json_object_get(frame, "symbol_hex"));
			const char *name = json_string_value(json_object_get(frame, "name"));
			const char *reason = json_string_value(json_object_get(frame, "reason"));
			assert_true(!name != !reason);
			if (hex) {
				assert_string_equal(hex, "626164ff6e616d65");
				assert_string_equal(name, "bad\xef\xbf\xbdname");
				found = true;
			}
		}
	}
	assert_true(found);
	assert_int_equal(count, 100);
	json_decref(root);
}

static void escaping_leaves_good_text_alone(void **state)
{
	const char *const good[] = {"main", "operator<< <int>", "\xc3\xa9t\xc3\xa9", "\xf0\x9f\xa6\x80",
				    "back\\slash", ""};
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct buffer b = {};
		text_escape(&b, good[i]);
		buffer_u8(&b, 0);
		assert_string_equal((const char *)b.data, good[i]);
		buffer_deinit(&b);
	}
	assert_int_equal(text_columns("\xc3\xa9t\xc3\xa9"), 3);
	assert_string_equal(text_base_name("/a/b"), "b");
	assert_string_equal(text_base_name("/a/b/"), "/a/b/");
	assert_string_equal(text_base_name(""), "[no path]");
}

/* ---- cost ------------------------------------------------------------------------------------ */

static double seconds_of_report(const struct profile *p, const struct report_options *options,
				size_t *ret_size)
{
	struct timespec a, b;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
	_cleanup_free_ char *text = report_text(p, options);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
	*ret_size = strlen(text);
	return (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
}

static void a_compile_is_reported_at_once(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_compile(40000);
	const struct report_options options[] = {
		{}, {.call_graph = true}, {.call_graph = true, .no_children = true}};
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		size_t size;
		double seconds = seconds_of_report(p, &options[i], &size);
		print_message("report %zu: %.3f s, %zu bytes\n", i, seconds, size);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
		assert_true(seconds < 1); /* ten times slower than it should be: a thing grew quadratic */
#endif
	}
}

static void a_file_in_brackets_does_not_look_like_the_kernel(void **state)
{
	assert_string_equal(text_base_name("/tmp/[kernel]"), "/[kernel]");
	assert_string_equal(text_base_name("[vdso]"), "[vdso]");
	assert_string_equal(text_base_name("/bin/true"), "true");
	assert_string_equal(text_base_name("/"), "/");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_in_brackets_does_not_look_like_the_kernel),
		cmocka_unit_test(the_plain_report_is_as_in_its_golden_file),
		cmocka_unit_test(the_report_with_children_is_as_in_its_golden_file),
		cmocka_unit_test(the_report_with_callers_is_as_in_its_golden_file),
		cmocka_unit_test(the_report_by_task_is_as_in_its_golden_file),
		cmocka_unit_test(folded_is_as_in_its_golden_file),
		cmocka_unit_test(json_is_as_in_its_golden_file),
		cmocka_unit_test(sort_keys_are_read_and_unknown_ones_named),
		cmocka_unit_test(recursion_counts_a_sample_once),
		cmocka_unit_test(rows_below_the_limit_are_left_out),
		cmocka_unit_test(a_file_without_a_path_goes_by_its_id_in_folded_stacks),
		cmocka_unit_test(rows_of_all_samples_add_up_to_a_hundred_percent),
		cmocka_unit_test(inferred_frames_are_marked_wherever_they_are_shown),
		cmocka_unit_test(a_report_without_samples_says_so),
		cmocka_unit_test(samples_without_frames_and_without_values_have_rows),
		cmocka_unit_test(what_does_not_add_up_is_said),
		cmocka_unit_test(moments_are_right_in_leap_years_and_at_their_ends),
		cmocka_unit_test(each_event_has_a_table_of_its_own),
		cmocka_unit_test(a_narrow_terminal_cuts_rows_at_its_width),
		cmocka_unit_test(a_write_that_fails_is_an_error),
		cmocka_unit_test(one_line_per_record_whatever_names_hold),
		cmocka_unit_test(json_is_valid_utf8_whatever_names_hold),
		cmocka_unit_test(escaping_leaves_good_text_alone),
		cmocka_unit_test(a_compile_is_reported_at_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
