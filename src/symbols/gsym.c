/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/gsym.h"

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/error.h"

#include <errno.h>
#include <string.h>

static uint32_t read_u32(const struct gsym *gsym, const uint8_t *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof v);
	return gsym->swap ? __builtin_bswap32(v) : v;
}

bool gsym_is_one(const void *data, uint64_t size)
{
	uint32_t magic;
	if (size < GSYM_HEADER_SIZE)
		return false;
	memcpy(&magic, data, sizeof magic);
	return magic == GSYM_MAGIC || magic == __builtin_bswap32(GSYM_MAGIC);
}

static int check_header(const struct gsym *gsym, uint16_t version, struct mw_error *e)
{
	if (version != GSYM_VERSION)
		return error_at(e, -EBADMSG, 4, "GSYM version %u instead of 1", version);
	if (gsym->offset_size != 1 && gsym->offset_size != 2 && gsym->offset_size != 4 &&
	    gsym->offset_size != 8)
		return error_at(e, -EBADMSG, 6, "GSYM address offsets of %u bytes",
				gsym->offset_size);
	if (gsym->uuid_size > GSYM_UUID_MAX)
		return error_at(e, -EBADMSG, 7, "GSYM id of %u bytes", gsym->uuid_size);
	return 0;
}

#define TRAILER_SIZE 16

static void find_discriminators(struct gsym *gsym)
{
	const uint8_t *end = gsym->data + gsym->size;
	if (gsym->size < GSYM_HEADER_SIZE + TRAILER_SIZE ||
	    memcmp(end - 8, GSYM_DISCRIMINATORS, 8) != 0)
		return;
	uint64_t n = read_u32(gsym, end - TRAILER_SIZE);
	if (n > (gsym->size - GSYM_HEADER_SIZE - TRAILER_SIZE) / 4)
		return;
	gsym->n_discriminators = (uint32_t)n;
	gsym->discriminators = end - TRAILER_SIZE - 4 * n;
}

uint32_t gsym_discriminator(const struct gsym *gsym, uint32_t number)
{
	return number < gsym->n_discriminators
		       ? read_u32(gsym, gsym->discriminators + 4 * (uint64_t)number)
		       : 0;
}

int gsym_init(struct gsym *gsym, const void *data, uint64_t size, struct mw_error *e)
{
	if (!gsym_is_one(data, size))
		return error_at(e, -EBADMSG, 0, "not a GSYM file");
	struct cursor c = cursor_init(data, size, false);
	*gsym = (struct gsym){.data = data, .size = size};
	gsym->swap = c.swap = cursor_u32(&c) != GSYM_MAGIC;
	uint16_t version = cursor_u16(&c);
	gsym->offset_size = cursor_u8(&c);
	gsym->uuid_size = cursor_u8(&c);
	gsym->base = cursor_u64(&c);
	gsym->n = cursor_u32(&c);
	uint64_t strings_offset = cursor_u32(&c);
	gsym->strings_size = cursor_u32(&c);
	memcpy(gsym->uuid, cursor_bytes(&c, GSYM_UUID_MAX), GSYM_UUID_MAX);
	int r = check_header(gsym, version, e);
	if (r < 0)
		return r;

	cursor_align(&c, gsym->offset_size);
	gsym->offsets = cursor_bytes(&c, (uint64_t)gsym->n * gsym->offset_size);
	cursor_align(&c, 4);
	gsym->infos = cursor_bytes(&c, (uint64_t)gsym->n * 4);
	if (!cursor_ok(&c))
		return error_set(e, -EBADMSG, "the GSYM's %u addresses do not fit its %llu bytes",
				 gsym->n, (unsigned long long)size);
	struct cursor whole = cursor_init(data, size, false);
	struct cursor strings = cursor_slice(&whole, strings_offset, gsym->strings_size);
	gsym->strings = (const char *)cursor_bytes(&strings, gsym->strings_size);
	if (!gsym->strings)
		return error_at(e, -EBADMSG, strings_offset, "the GSYM's strings lie outside of it");
	while (gsym->strings_size && gsym->strings[gsym->strings_size - 1])
		gsym->strings_size--;

	/* Who asks for names only may do without files. */
	uint32_t n_files = cursor_u32(&c);
	gsym->files = cursor_bytes(&c, (uint64_t)n_files * 8);
	gsym->n_files = gsym->files ? n_files : 0;
	find_discriminators(gsym);
	return 0;
}

/* Number i's address, relative to the base. */
static uint64_t offset_of(const struct gsym *gsym, uint32_t i)
{
	const uint8_t *p = gsym->offsets + (uint64_t)i * gsym->offset_size;
	uint16_t v16;
	uint64_t v64;
	switch (gsym->offset_size) {
	case 1:
		return *p;
	case 2:
		memcpy(&v16, p, sizeof v16);
		return gsym->swap ? __builtin_bswap16(v16) : v16;
	case 4:
		return read_u32(gsym, p);
	default:
		memcpy(&v64, p, sizeof v64);
		return gsym->swap ? __builtin_bswap64(v64) : v64;
	}
}

const char *gsym_string(const struct gsym *gsym, uint32_t offset)
{
	return offset < gsym->strings_size ? gsym->strings + offset : "";
}

int gsym_file(const struct gsym *gsym, uint32_t number, const char **ret_directory,
	      const char **ret_name)
{
	if (!number || number >= gsym->n_files)
		return 0;
	const uint8_t *p = gsym->files + 8 * (uint64_t)number;
	*ret_directory = gsym_string(gsym, read_u32(gsym, p));
	*ret_name = gsym_string(gsym, read_u32(gsym, p + 4));
	return **ret_directory || **ret_name;
}

/*
 * An entry of size 0, which LLVM writes for symbols without size, reaches to the next entry, as it
 * does for llvm-gsymutil; the last one covers nothing but its start.
 */
static uint64_t end_of(const struct gsym *gsym, uint32_t i, uint64_t start, uint32_t size)
{
	if (size)
		return start + size < start ? UINT64_MAX : start + size;
	return i + 1 < gsym->n ? gsym->base + offset_of(gsym, i + 1) : start + 1;
}

int gsym_get(const struct gsym *gsym, uint32_t i, struct gsym_entry *ret)
{
	uint64_t info = read_u32(gsym, gsym->infos + 4 * (uint64_t)i);
	if (info > gsym->size || gsym->size - info < 8)
		return 0;
	uint32_t size = read_u32(gsym, gsym->data + info);
	const char *name = gsym_string(gsym, read_u32(gsym, gsym->data + info + 4));
	if (!*name)
		return 0;
	uint64_t start = gsym->base + offset_of(gsym, i);
	*ret = (struct gsym_entry){.start = start,
				   .end = end_of(gsym, i, start, size),
				   .name = name,
				   .index = i,
				   .info = info};
	return 1;
}

/* How many of n ascending numbers are not above x. Without branches that depend on them. */
static uint32_t count_below_u32(const uint8_t *numbers, uint32_t n, uint32_t x)
{
	const uint8_t *first = numbers;
	while (n > 1) {
		uint32_t half = n / 2, v;
		memcpy(&v, first + 4 * (uint64_t)(half - 1), sizeof v);
		first += v <= x ? 4 * (uint64_t)half : 0;
		n -= half;
	}
	uint32_t last;
	if (n)
		memcpy(&last, first, sizeof last);
	return (uint32_t)((first - numbers) / 4) + (n && last <= x);
}

/* How many entries, of those from low to high, start at the offset or before it; plus low. */
static uint32_t count_starts(const struct gsym *gsym, uint32_t low, uint32_t high, uint64_t offset)
{
	if (gsym->steps && high - low > 2 * GSYM_STEP) {
		uint32_t x = (uint32_t)MIN(offset, UINT32_MAX);
		uint32_t step = count_below_u32((const uint8_t *)gsym->steps, gsym->n_steps, x);
		if (!step)
			return low;
		low = MAX(low, (step - 1) * GSYM_STEP);
		high = MIN(high, step * GSYM_STEP);
	}
	if (gsym->offset_size == 4 && !gsym->swap)
		return low + count_below_u32(gsym->offsets + 4 * (uint64_t)low, high - low,
					     (uint32_t)MIN(offset, UINT32_MAX));
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (offset_of(gsym, middle) <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int take_if_covered(const struct gsym *gsym, uint32_t i, uint64_t address,
			   struct gsym_entry *ret)
{
	struct gsym_entry entry;
	if (!gsym_get(gsym, i, &entry) || address < entry.start || address >= entry.end)
		return 0;
	*ret = entry;
	return 1;
}

uint32_t gsym_count_steps(const struct gsym *gsym)
{
	bool helps = gsym->offset_size == 4 && !gsym->swap && gsym->n > 16 * GSYM_STEP;
	return helps ? (gsym->n + GSYM_STEP - 1) / GSYM_STEP : 0;
}

void gsym_make_steps(const struct gsym *gsym, uint32_t *ret)
{
	for (uint32_t i = 0; i * GSYM_STEP < gsym->n; i++)
		ret[i] = (uint32_t)offset_of(gsym, i * GSYM_STEP);
}

int gsym_find(const struct gsym *gsym, uint64_t address, struct gsym_entry *ret)
{
	if (address < gsym->base)
		return 0;
	uint32_t n = count_starts(gsym, 0, gsym->n, address - gsym->base);
	return n ? take_if_covered(gsym, n - 1, address, ret) : 0;
}

uint32_t gsym_locate(const struct gsym *gsym, uint64_t address)
{
	if (address < gsym->base)
		return 0;
	uint32_t n = count_starts(gsym, 0, gsym->n, address - gsym->base);
	if (n)
		__builtin_prefetch(gsym->infos + 4 * (uint64_t)(n - 1));
	return n;
}

void gsym_prefetch(const struct gsym *gsym, uint32_t located)
{
	if (located)
		__builtin_prefetch(gsym->data +
				   read_u32(gsym, gsym->infos + 4 * (uint64_t)(located - 1)));
}

int gsym_take(const struct gsym *gsym, uint32_t located, uint64_t address, struct gsym_entry *ret)
{
	return located ? take_if_covered(gsym, located - 1, address, ret) : 0;
}

int gsym_find_next(const struct gsym *gsym, uint64_t address, uint32_t *hint,
		   struct gsym_entry *ret)
{
	if (address < gsym->base)
		return 0;
	uint64_t offset = address - gsym->base;
	uint32_t low = MIN(*hint, gsym->n);
	if (low && offset_of(gsym, low - 1) > offset)
		low = 0; /* not ascending after all */
	/* Steps that double: nearly always the next entry, or one of the next. */
	uint32_t high = low;
	for (uint32_t step = 1; high < gsym->n && offset_of(gsym, high) <= offset; step *= 2) {
		low = high + 1;
		high = gsym->n - low > step ? low + step : gsym->n;
	}
	*hint = count_starts(gsym, low, high, offset);
	return *hint ? take_if_covered(gsym, *hint - 1, address, ret) : 0;
}
