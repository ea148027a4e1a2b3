/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The unwinding tables that are in the kernel: one array for each content, by file number. User space
 * fills them; a file whose table is not there is asked for once. A file that has no table, and never
 * will, has an array with an empty header.
 */
#ifndef BPF_TABLES_H
#define BPF_TABLES_H

#include "common.h"
#include "user_registers.h"

struct table {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE | BPF_F_INNER_MAP);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, UNWIND_BLOCK_SIZE);
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
	__uint(max_entries, 16384);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__array(values, struct table);
} tables SEC(".maps");

/* File numbers that were asked for; user space deletes what it has answered. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, __u32);
} tables_wanted SEC(".maps");

extern void bpf_rcu_read_lock(void) __ksym;
extern void bpf_rcu_read_unlock(void) __ksym;

/* How long a table may seem unused that is used. */
#define TABLE_USE_NS 50000000ULL

enum table_answer {
	TABLE_RULE = 0,
	TABLE_UNKNOWN, /* not there, or not yet */
	TABLE_NONE,    /* the file has none */
};

static __always_inline void want_table(__u32 file)
{
	__u32 asked = 1;
	if (bpf_map_update_elem(&tables_wanted, &file, &asked, BPF_NOEXIST) < 0)
		return;
	struct table_record r = {
		.header = {RECORD_TABLE, sizeof r},
		.number = file,
	};
	if (bpf_ringbuf_output(&ring, &r, sizeof r, BPF_RB_FORCE_WAKEUP) < 0)
		bpf_map_delete_elem(&tables_wanted, &file);
}

/* User space lets the table go that was not used for the longest time. */
static __always_inline void note_use(struct unwind_header *header, __u64 now)
{
	struct table_use *use = (void *)header + TABLE_USE_AT;
	if (now - use->time > TABLE_USE_NS)
		use->time = now;
}

/* The number of the row block that an offset is in, down the levels of the index. */
static __always_inline __u32 find_row_block(void *table, struct unwind_header *header, __u32 offset)
{
	__u32 at = 0, level = header->n_levels;
	for (int i = 0; i < UNWIND_LEVELS; i++) {
		if (level == 0)
			break;
		level--;
		__u32 number = header->first_index[level & (UNWIND_LEVELS - 1)] + at;
		struct unwind_index_block *block = bpf_map_lookup_elem(table, &number);
		if (!block)
			break;
		at = at * UNWIND_KEYS_PER_BLOCK + unwind_search_index(block, offset);
	}
	return header->first_row + at;
}

static __always_inline int find_in_table(void *table, __u32 offset, __u64 now,
					 struct unwind_rule *ret)
{
	__u32 number = 0;
	struct unwind_header *header = bpf_map_lookup_elem(table, &number);
	if (!header || header->machine != WALK_MACHINE)
		return TABLE_NONE;
	note_use(header, now);
	number = find_row_block(table, header, offset);
	struct unwind_row_block *rows = bpf_map_lookup_elem(table, &number);
	if (!rows)
		return TABLE_RULE;
	struct unwind_row *row = &rows->rows[unwind_search_rows(rows, offset)];
	if (row->offset > offset)
		return TABLE_RULE;
	__u32 rule = row->rule;
	number = header->first_rule + rule / UNWIND_RULES_PER_BLOCK;
	struct unwind_rule_block *rules = bpf_map_lookup_elem(table, &number);
	if (rules)
		*ret = rules->rules[rule % UNWIND_RULES_PER_BLOCK];
	return TABLE_RULE;
}

/*
 * The rule for an offset in a file; UNWIND_NO_RULE if its table has none. enum table_answer. A task
 * work holds no lock by itself, and the kernel takes our program for one that needs none: a table that
 * is taken away while it is read must stay until then.
 */
__noinline int find_rule(__u32 file, __u64 offset, __u64 now, struct unwind_rule *ret)
{
	int answer = TABLE_UNKNOWN;
	if (!ret)
		return TABLE_NONE;
	ret->kind = UNWIND_NO_RULE;
	bpf_rcu_read_lock();
	void *table = bpf_map_lookup_elem(&tables, &file);
	if (table)
		answer = offset < UNWIND_PADDING ? find_in_table(table, offset, now, ret) : TABLE_RULE;
	bpf_rcu_read_unlock();
	if (answer == TABLE_UNKNOWN)
		want_table(file);
	return answer;
}

#endif
