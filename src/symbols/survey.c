/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/survey.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* Sections that names and lines come from, the better ones first. */
static const char *const sections[] = {".debug_info", ".debug_line", ".symtab", ".gnu_debugdata",
				       ".dynsym"};

struct job {
	int fd;
	struct elf_identity identity; /* of the file whose debug file this may be */
	bool is_candidate;
	struct survey survey;
};

static struct survey_source *add(struct survey *survey, const char *name)
{
	if (survey->n == SURVEY_SOURCES_MAX)
		return NULL;
	struct survey_source *source = &survey->sources[survey->n++];
	snprintf(source->name, sizeof source->name, "%s", name);
	return source;
}

static void survey_section(struct survey *survey, struct elf *elf, const char *name)
{
	struct survey_source *source = add(survey, name);
	const struct elf_section *section = elf_find_section(elf, name);
	if (!source)
		return;
	if (!section && strcmp(name, ".debug_info") == 0)
		section = elf_find_section(elf, ".zdebug_info");
	if (!section && strcmp(name, ".debug_line") == 0)
		section = elf_find_section(elf, ".zdebug_line");
	if (!section) {
		snprintf(source->text, sizeof source->text, "there is none");
		return;
	}
	source->size = section->type == SHT_NOBITS ? 0 : section->size;
	if (section->type == SHT_NOBITS)
		snprintf(source->text, sizeof source->text, "its bytes are in another file");
	else if (section->flags & SHF_COMPRESSED)
		snprintf(source->text, sizeof source->text, "compressed");
}

static void survey_debug_link(struct survey *survey, struct elf *elf)
{
	struct survey_source *source = add(survey, ".gnu_debuglink");
	const struct elf_section *section = elf_find_section(elf, ".gnu_debuglink");
	struct elf_debug_link link;
	if (!source)
		return;
	if (!section) {
		snprintf(source->text, sizeof source->text, "there is none");
		return;
	}
	source->size = section->size;
	if (elf_read_debug_link(elf, &link) == 1)
		snprintf(source->text, sizeof source->text, "%s, checksum %08x", link.name, link.crc);
	else
		snprintf(source->text, sizeof source->text, "damaged: no name with a checksum");
}

static void survey_elf(struct survey *survey, struct elf *elf)
{
	struct mw_error e = {};
	if (elf_load_sections(elf, &e) < 0) {
		struct survey_source *source = add(survey, "sections");
		if (source)
			snprintf(source->text, sizeof source->text, "%.200s", e.msg);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++)
		survey_section(survey, elf, sections[i]);
	survey_debug_link(survey, elf);
	survey_section(survey, elf, ".gnu_debugaltlink");
}

static void judge(struct job *job, struct elf *elf)
{
	struct survey *survey = &job->survey;
	struct elf_identity other;
	char id[MW_FILE_ID_TEXT_MAX];
	uint32_t crc;
	if (elf_identify(elf, &other, NULL) < 0) {
		snprintf(survey->verdict, sizeof survey->verdict, "it cannot be read");
		return;
	}
	if (other.id.kind == MW_FILE_ID_GNU && job->identity.id.kind == MW_FILE_ID_GNU) {
		survey->is_used = mw_file_id_equal(&other.id, &job->identity.id) == 1;
		mw_file_id_to_text(&other.id, id, sizeof id);
		snprintf(survey->verdict, sizeof survey->verdict, "%s build ID%s%s",
			 survey->is_used ? "the same" : "another", survey->is_used ? "" : ": ",
			 survey->is_used ? "" : id);
		return;
	}
	if (!job->identity.debug_link.name[0] || source_crc32(&elf->source, &crc) < 0) {
		snprintf(survey->verdict, sizeof survey->verdict,
			 "no build ID to compare, and no debug link");
		return;
	}
	survey->is_used = crc == job->identity.debug_link.crc;
	snprintf(survey->verdict, sizeof survey->verdict,
		 "its checksum %08x %s that of the debug link (%08x)", crc,
		 survey->is_used ? "is" : "is not", job->identity.debug_link.crc);
}

static int survey_in_child(void *context, struct mw_error *e)
{
	struct job *job = context;
	struct elf elf;
	int r = elf_open(&elf, job->fd, e);
	if (r < 0)
		return r;
	survey_elf(&job->survey, &elf);
	if (job->is_candidate)
		judge(job, &elf);
	elf_deinit(&elf);
	return 0;
}

/* What comes from the child is foreign: texts must end, numbers be in range. */
static void tidy(struct survey *survey)
{
	survey->n = MIN(survey->n, SURVEY_SOURCES_MAX);
	survey->verdict[SURVEY_TEXT_MAX - 1] = '\0';
	for (uint32_t i = 0; i < survey->n; i++) {
		struct survey_source *source = &survey->sources[i];
		source->name[sizeof source->name - 1] = '\0';
		source->text[sizeof source->text - 1] = '\0';
	}
}

static int survey(int fd, const struct elf_identity *identity, struct survey *ret,
		  struct mw_error *e)
{
	struct job *job = mmap(NULL, sizeof *job, PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (job == MAP_FAILED)
		return error_set(e, -ENOMEM, "out of memory");
	job->fd = fd;
	job->is_candidate = identity;
	if (identity)
		job->identity = *identity;
	struct run_isolated_options options = {.fds = &fd, .n_fds = 1,
					       .memory_limit = UINT64_C(512) << 20,
					       .file_size_limit = 1, .deadline_ms = 20000};
	int r = run_isolated(survey_in_child, job, &options, NULL, e);
	*ret = job->survey;
	tidy(ret);
	munmap(job, sizeof *job);
	return r;
}

int survey_take(int fd, struct survey *ret, struct mw_error *e)
{
	return survey(fd, NULL, ret, e);
}

int survey_take_debug(int fd, const struct elf_identity *identity, struct survey *ret,
		      struct mw_error *e)
{
	return survey(fd, identity, ret, e);
}
