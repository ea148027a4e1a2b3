/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "agent/inferred.h"

#include "base/cleanup.h"
#include "base/hash.h"
#include "content/content.h"
#include "content/same_code.h"
#include "space/hole.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define MAX_REGIONS    1024
#define MAX_LOOKS      4096
#define MAX_BLOCKS     256 /* 32 KiB each */
#define MAX_HOLES      8
#define LOOKS_PER_TICK 3
#define N_RECENT       1024
/* Files beside a region are to be identified within this time. */
#define SETTLE_NS UINT64_C(10000000000)
#define PAGE_BITS      12
#define NO_REGION      UINT32_MAX
#define NO_BLOCK       UINT32_MAX

/* A mapping of a file beside a region. */
struct near {
	uint64_t start;
	uint64_t end;
	uint32_t file; /* the profile's number */
};

/* A mapping of one process image that may have taken the place of code. */
struct region {
	struct task_key task; /* tid is not part of the identity */
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	uint64_t inode;
	uint32_t major;
	uint32_t minor;
	size_t n_near;
	struct near near[HOLE_NEIGHBOURS];
	uint64_t since;  /* time of the first sample in it */
	bool is_settled; /* what follows is known */
	uint32_t of;     /* of the near ones, whose holes these are */
	size_t n_holes;
	struct hole holes[MAX_HOLES];
};

enum look_state {
	LOOK_WAITING, /* not handed over yet */
	LOOK_ASKED,   /* a child compares */
	LOOK_EQUAL,
	LOOK_OTHER,
};

/* One block of a file in one hole of a region. */
struct look {
	uint32_t region;
	uint32_t hole;
	uint64_t block; /* offset in the file */
	enum look_state state;
	uint32_t checks;  /* LOOK_EQUAL: number in blocks */
	struct pin *pin;  /* owned, LOOK_ASKED: the file */
};

/* What the file has in a block: the same for every process. */
struct block {
	uint32_t file;
	uint64_t block;
	uint32_t *checks; /* owned, SAME_CODE_LINES */
};

/* Where an address was found the last time. */
struct recent {
	uint64_t start_time;
	uint64_t page;
	uint64_t address; /* of the page in its process */
	uint32_t pid; /* 0: the place is free */
	uint32_t exec_count;
	uint32_t file;   /* FRAME_FILE */
	uint32_t region; /* NO_REGION: in none */
};

struct inferred {
	struct inferred_options o;
	VEC(struct region) regions;
	VEC(struct look) looks;
	struct hash_index look_index;
	VEC(struct block) blocks;
	struct recent recent[N_RECENT];
	uint32_t generation; /* of all tables: results for an earlier one are dropped */
	unsigned allowed;    /* looks in this tick */
	struct inferred_counts counts;
};

/* ---- the job, in the child ------------------------------------------------------------------- */

static int job_same_code(const int *fds, size_t n_fds, const void *args, size_t args_size,
			 void *reply, size_t reply_size, struct mw_error *e)
{
	return same_code_compare(fds[0], fds[1], args, reply, e);
}

const struct run_job inferred_job = {
	.name = "mw-same-code",
	.fn = job_same_code,
	.reply_size = sizeof(struct same_code),
	.memory_limit = UINT64_C(16) << 20,
	.file_size_limit = 1,
	.cpu_seconds = 2,
	.deadline_ms = 2000,
};

/* ---- life ------------------------------------------------------------------------------------ */

int inferred_new(const struct inferred_options *options, struct inferred **ret)
{
	struct inferred *i = calloc(1, sizeof *i);
	if (!i)
		return -ENOMEM;
	i->o = *options;
	i->allowed = LOOKS_PER_TICK;
	*ret = i;
	return 0;
}

static void release_pin(struct look *look)
{
	if (look->pin)
		pin_mark_extracted(look->pin);
	free(take_ptr(look->pin));
}

/* Forgets everything. Who still waits begins anew. */
static void reset(struct inferred *i)
{
	vec_foreach(look, &i->looks)
		release_pin(look);
	vec_foreach(block, &i->blocks)
		free(block->checks);
	i->regions.n = i->looks.n = i->blocks.n = 0;
	hash_index_deinit(&i->look_index);
	i->look_index = (struct hash_index){};
	memset(i->recent, 0, sizeof i->recent);
	i->generation++;
}

void inferred_free(struct inferred *i)
{
	if (!i)
		return;
	reset(i);
	vec_deinit(&i->regions);
	vec_deinit(&i->looks);
	vec_deinit(&i->blocks);
	free(i);
}

struct inferred_counts inferred_get_counts(const struct inferred *i)
{
	return i->counts;
}

void inferred_tick(struct inferred *i)
{
	i->allowed = LOOKS_PER_TICK;
}

/* ---- the mapping of a frame ------------------------------------------------------------------ */

/* The one executable mapping of the frame's file that holds its offset; NULL if there are more. */
static const struct mapping *find_of_file(const struct snapshot *s, const struct profile_file *file,
					  uint64_t offset)
{
	const struct mapping *found = NULL, *m;
	for (size_t n = 0; s && (m = snapshot_get(s, n)); n++) {
		if (m->inode != file->inode || (m->major << 20 | m->minor) != file->device ||
		    !(m->protection & MAP_EXECUTE) || offset - m->offset >= m->end - m->start)
			continue;
		if (found)
			return NULL;
		found = m;
	}
	return found;
}

static const struct mapping *find_now(struct inferred *i, const struct sample *sample,
				      const struct frame *f)
{
	const struct snapshot *s = images_snapshot(i->o.images, sample);
	if (f->kind == FRAME_FILE)
		return find_of_file(s, &i->o.profile->files.items[f->file], f->address);
	const struct mapping *m = s ? snapshot_find(s, f->address) : NULL;
	return m && m->inode && !hole_may_be(m) ? NULL : m; /* the file that was there before */
}

/* The mapping that a frame was in; the latest snapshot may be from before it was made. */
static const struct mapping *find_mapping(struct inferred *i, const struct sample *sample,
					  const struct frame *f)
{
	const struct mapping *m = find_now(i, sample, f);
	if (m)
		return m;
	images_refresh(i->o.images, sample, sample->time);
	return find_now(i, sample, f);
}

static bool is_same_image(const struct task_key *a, const struct task_key *b)
{
	return a->pid == b->pid && a->start_time == b->start_time && a->exec_count == b->exec_count;
}

/* The region of a mapping, made if it is new. 1, 0: there is nothing around it that it may be of. */
static int find_region(struct inferred *i, const struct sample *sample, const struct mapping *m,
		       uint32_t *ret)
{
	vec_foreach(r, &i->regions) {
		*ret = (uint32_t)(r - i->regions.items);
		if (is_same_image(&r->task, &sample->task) && r->start == m->start &&
		    r->end == m->end && r->inode == m->inode && r->offset == m->offset &&
		    r->major == m->major && r->minor == m->minor)
			return 1;
	}
	const struct mapping *near[HOLE_NEIGHBOURS];
	size_t n = 0;
	if (hole_may_be(m) && m->protection & MAP_EXECUTE)
		n = hole_neighbours(images_snapshot(i->o.images, sample), m, near);
	if (!n)
		return 0;
	if (i->regions.n == MAX_REGIONS) {
		i->counts.resets++;
		reset(i);
	}
	struct region region = {.task = sample->task, .start = m->start, .end = m->end,
				.offset = m->offset,  .inode = m->inode, .major = m->major,
				.minor = m->minor,    .since = sample->time};
	for (; region.n_near < n; region.n_near++) {
		struct near *to = &region.near[region.n_near];
		*to = (struct near){near[region.n_near]->start, near[region.n_near]->end, 0};
		int r = first_sight_add_mapping(i->o.first_sight, &sample->task,
						near[region.n_near], &to->file);
		if (r < 0)
			return r;
	}
	*ret = (uint32_t)i->regions.n;
	int r = vec_push(&i->regions, region);
	return r < 0 ? r : 1;
}

static struct recent *recent_place(struct inferred *i, const struct recent *key)
{
	uint64_t hash = hash_u64(key->page ^ hash_u64(key->start_time ^ (uint64_t)key->pid << 32 ^
						      key->file));
	return &i->recent[hash % N_RECENT];
}

/* Region and address of a frame. 1, 0: there is none, or -ENOMEM. */
static int locate(struct inferred *i, const struct sample *sample, const struct frame *f,
		  uint32_t *ret, uint64_t *ret_address)
{
	struct recent key = {.start_time = sample->task.start_time,
			     .page = f->address >> PAGE_BITS,
			     .pid = sample->task.pid,
			     .exec_count = sample->task.exec_count,
			     .file = f->kind == FRAME_FILE ? f->file + 1 : 0};
	uint64_t in_page = f->address & ((1 << PAGE_BITS) - 1);
	struct recent *known = recent_place(i, &key);
	if (known->pid != key.pid || known->start_time != key.start_time ||
	    known->exec_count != key.exec_count || known->page != key.page ||
	    known->file != key.file) {
		const struct mapping *m = find_mapping(i, sample, f);
		if (!m)
			return 0;
		uint64_t address = f->kind == FRAME_FILE ? f->address - m->offset + m->start
							 : f->address;
		int r = find_region(i, sample, m, &key.region);
		if (r < 0)
			return r;
		if (r == 0)
			key.region = NO_REGION;
		key.address = address - in_page;
		*known = key;
	}
	*ret = known->region;
	*ret_address = known->address + in_page;
	return known->region != NO_REGION;
}

/* ---- place ----------------------------------------------------------------------------------- */

/* The holes that the area fills in a neighbour's file: how many. -EAGAIN: the file is not identified
 * yet. */
static int holes_of(struct inferred *i, const struct snapshot *s, const struct mapping *area,
		    const struct near *near, struct hole holes[MAX_HOLES])
{
	const struct mapping *m = snapshot_find(s, near->start);
	if (!m || m->start != near->start || m->end != near->end || !m->inode)
		return 0;
	struct meta about = {};
	int r = first_sight_segments(i->o.first_sight, near->file, &about);
	if (r == 1)
		r = (int)hole_find(s, area, m, &about, holes, MAX_HOLES);
	else if (r == 0)
		r = -EAGAIN;
	else if (r == -ENOENT)
		r = 0;
	meta_deinit(&about);
	return r;
}

/* Finds out where the region's bytes would come from. Answer: WAIT, or YES when it is settled. */
static int settle(struct inferred *i, const struct sample *sample, uint32_t number)
{
	struct region *region = &i->regions.items[number];
	const struct snapshot *s = images_snapshot(i->o.images, sample);
	const struct mapping *area = s ? snapshot_find(s, region->start) : NULL;
	bool is_there = area && area->start == region->start && area->end == region->end;
	unsigned n_files = 0;
	for (uint32_t k = 0; is_there && k < region->n_near; k++) {
		struct hole holes[MAX_HOLES];
		int n = holes_of(i, s, area, &region->near[k], holes);
		if (n == -EAGAIN && sample->time < region->since + SETTLE_NS)
			return INFERRED_WAIT;
		if (n < 0 && n != -EAGAIN)
			return n;
		if (n <= 0)
			continue;
		n_files++;
		region->of = k;
		region->n_holes = (size_t)n;
		memcpy(region->holes, holes, (size_t)n * sizeof holes[0]);
	}
	if (n_files > 1) /* and nothing to choose between them */
		region->n_holes = 0;
	region->is_settled = true;
	log_debug(i->o.log, "task %u: memory at %llx fills %zu holes", region->task.pid,
		  (unsigned long long)region->start, region->n_holes);
	return INFERRED_YES;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static uint32_t file_of(const struct region *region)
{
	return region->near[region->of].file;
}

static uint64_t look_hash(const struct look *look)
{
	return hash_u64(look->block ^ hash_u64((uint64_t)look->region << 32 | look->hole));
}

static bool look_equal(const void *context, uint32_t number, const void *key)
{
	const struct inferred *i = context;
	const struct look *a = &i->looks.items[number], *b = key;
	return a->region == b->region && a->hole == b->hole && a->block == b->block;
}

static int find_look(struct inferred *i, uint32_t region, uint32_t hole, uint64_t block,
		     uint32_t *ret)
{
	struct look look = {.region = region, .hole = hole, .block = block};
	*ret = hash_index_find(&i->look_index, look_hash(&look), look_equal, i, &look);
	if (*ret != HASH_INDEX_NONE)
		return 0;
	*ret = (uint32_t)i->looks.n;
	int r = vec_push(&i->looks, look);
	return r < 0 ? r : hash_index_add(&i->look_index, look_hash(&look), *ret);
}

/* The memory of the sampled program, or -errno; an exec after this leaves the descriptor behind. */
static int open_memory(struct inferred *i, const struct sample *sample)
{
	char path[64];
	snprintf(path, sizeof path, "%u/task/%u/mem", sample->task.pid, sample->task.tid);
	_cleanup_close_ int fd = openat(i->o.proc->dir, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return images_is_same_program(i->o.images, sample) ? take_fd(fd) : -ESRCH;
}

static struct same_code_request request_for(const struct hole *hole, uint64_t block)
{
	uint64_t end = hole->offset + (hole->end - hole->start);
	struct same_code_request r = {.block = block, .offset = MAX(block, hole->offset)};
	r.size = MIN(end, block + SAME_CODE_BLOCK) - r.offset;
	r.address = hole->start + (r.offset - hole->offset);
	return r;
}

/* Hands a look over to a child. 0, -EAGAIN: later, or another -errno: it cannot be done. */
static int ask(struct inferred *i, const struct sample *sample, uint32_t number)
{
	struct look *look = &i->looks.items[number];
	const struct region *region = &i->regions.items[look->region];
	struct same_code_request request = request_for(&region->holes[look->hole], look->block);
	uint64_t ticket = FIRST_SIGHT_TICKETS + ((uint64_t)i->generation << 32 | number);
	if (!i->allowed)
		return -EAGAIN;
	_cleanup_close_ int memory = open_memory(i, sample);
	_cleanup_free_ struct pin *pin = malloc(sizeof *pin);
	if (memory < 0 || !pin)
		return memory < 0 ? memory : -ENOMEM;
	const struct near *near = &region->near[region->of];
	int r = first_sight_open(i->o.first_sight, near->file, &sample->task, near->start,
				 near->end, pin);
	if (r < 0)
		return r;
	const int fds[] = {memory, pin->fd};
	r = run_server_submit(i->o.server, i->o.job, fds, ARRAY_SIZE(fds), &request,
			      sizeof request, ticket);
	if (r < 0) {
		pin_mark_extracted(pin);
		return r;
	}
	look->pin = take_ptr(pin);
	look->state = LOOK_ASKED;
	i->allowed--;
	i->counts.looks++;
	return 0;
}

/* The number of a block's checks, taken from a reply if they are new. */
static int add_block(struct inferred *i, const struct look *look, const uint32_t *checks,
		     uint32_t *ret)
{
	struct block block = {.file = file_of(&i->regions.items[look->region]),
			      .block = look->block};
	vec_foreach(b, &i->blocks) {
		*ret = (uint32_t)(b - i->blocks.items);
		if (b->file == block.file && b->block == block.block)
			return 0;
	}
	size_t size = SAME_CODE_LINES * sizeof *checks;
	block.checks = malloc(size);
	if (!block.checks)
		return -ENOMEM;
	memcpy(block.checks, checks, size);
	*ret = (uint32_t)i->blocks.n;
	int r = vec_push(&i->blocks, block);
	if (r < 0)
		free(block.checks);
	return r;
}

int inferred_take_result(struct inferred *i, const struct run_result *result)
{
	uint64_t ticket = result->ticket - FIRST_SIGHT_TICKETS;
	uint32_t number = (uint32_t)ticket;
	if (ticket >> 32 != i->generation || number >= i->looks.n)
		return 0;
	struct look *look = &i->looks.items[number];
	const struct same_code *reply = result->reply;
	bool is_equal = look->state == LOOK_ASKED && result->outcome == RUN_DONE &&
			result->reply_size == sizeof *reply && reply->is_same == 1 &&
			pin_is_unchanged(look->pin) == 1;
	log_debug(i->o.log, "block %llx of file %u: %s", (unsigned long long)look->block,
		  file_of(&i->regions.items[look->region]),
		  is_equal ? "as in memory" : result->outcome == RUN_DONE ? "other bytes in memory"
									  : result->error.msg);
	release_pin(look);
	look->state = LOOK_OTHER;
	if (!is_equal)
		return 0;
	if (i->blocks.n == MAX_BLOCKS) {
		i->counts.resets++;
		reset(i);
		return 0;
	}
	i->counts.equal++;
	look->state = LOOK_EQUAL;
	return add_block(i, look, reply->checks, &look->checks);
}

/* ---- the frame ------------------------------------------------------------------------------- */

/* A frame in a file has the short form, unless it was an address when the check was taken. */
static bool agrees(const struct frame *f, uint32_t check, uint32_t of_file)
{
	return check == of_file || (f->kind == FRAME_FILE && check == code_check_short(of_file));
}

/* Whether the bytes in the block were the file's, at the look and at the sample. */
static int compare(struct inferred *i, const struct sample *sample, uint32_t check, uint32_t number,
		   uint64_t offset, const struct frame *f)
{
	struct look *look = &i->looks.items[number];
	if (look->state == LOOK_WAITING) {
		int r = ask(i, sample, number);
		if (r == -ENOMEM)
			return r;
		if (r < 0 && r != -EAGAIN && r != -EMFILE && r != -ENFILE)
			look->state = LOOK_OTHER;
	}
	if (look->state == LOOK_WAITING || look->state == LOOK_ASKED)
		return INFERRED_WAIT;
	if (look->state == LOOK_OTHER)
		return INFERRED_NO;
	const struct block *block = &i->blocks.items[look->checks];
	if (agrees(f, check, block->checks[(offset - look->block) / CODE_LINE_SIZE]))
		return INFERRED_YES;
	i->counts.rewritten++;
	return INFERRED_NO;
}

static int decide_at(struct inferred *i, const struct sample *sample, uint32_t check,
		     uint32_t number, uint64_t address, struct frame *f)
{
	const struct region *region = &i->regions.items[number];
	uint64_t inside = address - !!(f->flags & FRAME_RETURN);
	for (uint32_t k = 0; k < region->n_holes; k++) {
		const struct hole *hole = &region->holes[k];
		if (inside - hole->start >= hole->end - hole->start)
			continue;
		uint64_t offset = hole->offset + (inside - hole->start);
		uint32_t look;
		int r = find_look(i, number, k, offset / SAME_CODE_BLOCK * SAME_CODE_BLOCK, &look);
		if (r == 0)
			r = compare(i, sample, check, look, offset, f);
		if (r != INFERRED_YES)
			return r;
		f->kind = FRAME_FILE;
		f->file = file_of(region);
		f->address = hole->offset + (address - hole->start);
		f->flags |= FRAME_INFERRED;
		f->reason = MW_REASON_NONE;
		return r;
	}
	return INFERRED_NO;
}

/* As maps names it; of ordinary files nothing is to be inferred. */
static bool is_memory_file(const struct inferred *i, const struct frame *f)
{
	const struct profile_file *file = &i->o.profile->files.items[f->file];
	struct mapping m = {.inode = 1, .name = profile_string(i->o.profile, file->path)};
	return hole_may_be(&m);
}

int inferred_decide(struct inferred *i, const struct sample *sample, uint32_t check, struct frame *f)
{
	uint32_t region = 0;
	uint64_t address = 0;
	if (!check || f->flags & FRAME_INFERRED || f->reason != MW_REASON_NONE ||
	    !(f->kind == FRAME_JIT || (f->kind == FRAME_FILE && is_memory_file(i, f))))
		return INFERRED_NO;
	if (i->looks.n == MAX_LOOKS) {
		i->counts.resets++;
		reset(i);
	}
	int r = locate(i, sample, f, &region, &address);
	if (r <= 0)
		return r < 0 ? r : INFERRED_NO;
	if (!i->regions.items[region].is_settled) {
		r = settle(i, sample, region);
		if (r != INFERRED_YES)
			return r;
	}
	return decide_at(i, sample, check, region, address, f);
}
