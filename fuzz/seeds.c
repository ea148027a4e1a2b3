/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Makes the first inputs of the corpora, small files of the shapes that matter:
 * fuzz_seeds fuzz/corpus. What the fuzzer finds later is added to them by hand.
 */
#include "base/cleanup.h"
#include "base/io.h"
#include "lib/cfi_builder.h"
#include "lib/dwarf_builder.h"
#include "lib/elf_builder.h"
#include "lib/profile_builder.h"
#include "profile/codec.h"
#include "profile/writer.h"
#include "symbols/gsym_write.h"

#include <fcntl.h>
#include <lzma.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

static const char *directory;

static void put_seed(const char *corpus, const char *name, const void *data, size_t n)
{
	char path[1024];
	snprintf(path, sizeof path, "%s/%s/%s", directory, corpus, name);
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || io_write(fd, data, n) < 0) {
		perror(path);
		exit(1);
	}
}

/* ELF files are inputs of two harnesses. */
static void put_elf(struct elf_builder *b, const char *name)
{
	struct buffer file = {};
	elf_builder_finish(b, &file);
	put_seed("elf", name, file.data, file.n);
	put_seed("symbols", name, file.data, file.n);
	buffer_deinit(&file);
	elf_builder_deinit(b);
}

static void add_symbols(struct elf_builder *b, const char *name, uint32_t type)
{
	static const struct builder_symbol symbols[] = {
		{"outer", 0x1000, 0x20, STT_FUNC, STB_GLOBAL, 1},
		{"inner", 0x1008, 0x8, STT_FUNC, STB_LOCAL, 1},
		{"weak", 0x1008, 0x8, STT_FUNC, STB_WEAK, 1},
		{"unsized", 0x1024, 0, STT_FUNC, STB_GLOBAL, 1},
		{"label", 0x1030, 0, STT_NOTYPE, STB_LOCAL, 1},
		{"absolute", 0x1030, 4, STT_FUNC, STB_GLOBAL, SHN_ABS},
		{"resolver", 0x1038, 8, STT_GNU_IFUNC, STB_GLOBAL, 1},
	};
	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++)
		elf_builder_symbol(b, symbols[i]);
	elf_builder_symbols(b, name, type);
}

static void program(const char *name, bool is32, bool is_big, bool extended)
{
	struct elf_builder b = elf_builder_init();
	b.is32 = is32;
	b.is_big = is_big;
	b.extended_numbering = extended;
	b.machine = is32 ? EM_ARM : EM_X86_64;
	elf_builder_text(&b, 0x1000, 0x40);
	add_symbols(&b, ".symtab", SHT_SYMTAB);
	put_elf(&b, name);
}

static void notes(const char *name, uint32_t align, uint32_t padding)
{
	struct elf_builder b = elf_builder_init();
	struct buffer bytes = {};
	elf_builder_note(&b, &bytes, "ACME", 5, 0x99, "abc", 3, padding);
	elf_builder_note(&b, &bytes, "Go\0", 4, 4, "action/content", 14, padding);
	elf_builder_note(&b, &bytes, "GNU", 4, NT_GNU_BUILD_ID, "01234567890123456789", 20, padding);
	elf_builder_notes(&b, ".note", &bytes, align);
	buffer_deinit(&bytes);
	put_elf(&b, name);
}

static void compressed(void)
{
	struct elf_builder b = elf_builder_init();
	uint8_t plain[256] = {1, 2, 3}, packed[256];
	uLongf n = sizeof packed;
	struct buffer section = {};
	compress(packed, &n, plain, sizeof plain);
	const uint64_t header[] = {ELFCOMPRESS_ZLIB, sizeof plain, 1};
	buffer_bytes(&section, header, sizeof header);
	buffer_bytes(&section, packed, n);
	elf_builder_section(&b, (struct builder_section){.name = ".debug_info",
							 .type = SHT_PROGBITS,
							 .flags = SHF_COMPRESSED, .data = section.data,
							 .size = section.n});
	buffer_deinit(&section);
	put_elf(&b, "compressed");
}

static void debugdata(void)
{
	struct elf_builder b = elf_builder_init(), inner = elf_builder_init();
	struct buffer file = {};
	uint8_t packed[4096];
	size_t n = 0;
	elf_builder_text(&inner, 0x1000, 0x40);
	add_symbols(&inner, ".symtab", SHT_SYMTAB);
	elf_builder_finish(&inner, &file);
	lzma_easy_buffer_encode(6, LZMA_CHECK_CRC32, NULL, file.data, file.n, packed, &n,
				sizeof packed);
	elf_builder_text(&b, 0x1000, 0x40);
	elf_builder_section(&b, (struct builder_section){.name = ".gnu_debugdata",
							 .type = SHT_PROGBITS, .data = packed,
							 .size = n});
	add_symbols(&b, ".dynsym", SHT_DYNSYM);
	buffer_deinit(&file);
	elf_builder_deinit(&inner);
	put_elf(&b, "debugdata");
}

/* Without section headers; the number of symbols by DT_HASH or DT_GNU_HASH. */
static void dynamic(const char *name, bool gnu_hash)
{
	static const uint32_t hash[] = {1, 8}, gnu[] = {1, 1, 1, 0, 0, 0, 1, 2, 2, 2, 2, 2, 2, 3};
	struct elf_builder b = elf_builder_init();
	b.no_section_headers = true;
	elf_builder_text(&b, 0x1000, 0x40);
	add_symbols(&b, ".dynsym", SHT_DYNSYM);
	uint32_t symbols = (uint32_t)b.sections.n - 1;
	uint32_t hashes = elf_builder_section(
		&b, (struct builder_section){.name = ".hash", .type = SHT_PROGBITS,
					     .data = gnu_hash ? gnu : hash,
					     .size = gnu_hash ? sizeof gnu : sizeof hash, .align = 8});
	const uint32_t parts[] = {symbols, symbols - 1, hashes};
	for (uint32_t i = 0; i < ARRAY_SIZE(parts); i++) {
		b.sections.items[parts[i]].address = 0x8000 + 0x1000 * i;
		elf_builder_segment(&b, (struct builder_segment){.type = PT_LOAD, .flags = PF_R,
								 .section = parts[i]});
	}
	const uint64_t entries[] = {DT_SYMTAB, 0x8000, DT_STRTAB, 0x9000, DT_STRSZ,
				    b.sections.items[symbols - 1].size,
				    gnu_hash ? DT_GNU_HASH : DT_HASH, 0xa000, DT_NULL, 0};
	uint32_t section = elf_builder_section(
		&b, (struct builder_section){.name = ".dynamic", .type = SHT_DYNAMIC,
					     .data = entries, .size = sizeof entries});
	elf_builder_segment(&b, (struct builder_segment){.type = PT_DYNAMIC, .section = section});
	put_elf(&b, name);
}

static void opd(void)
{
	struct elf_builder b = elf_builder_init();
	b.is_big = true;
	b.machine = EM_PPC64;
	elf_builder_text(&b, 0x1000, 0x40);
	struct buffer descriptors = {};
	for (uint64_t i = 0; i < 6; i++)
		elf_builder_u64(&b, &descriptors, 0x1000 + 8 * i);
	uint32_t section = elf_builder_section(
		&b, (struct builder_section){.name = ".opd", .type = SHT_PROGBITS,
					     .flags = SHF_ALLOC, .address = 0x2000,
					     .data = descriptors.data, .size = descriptors.n});
	elf_builder_symbol(&b, (struct builder_symbol){"described", 0x2018, 8, STT_FUNC, STB_GLOBAL,
						       (uint16_t)section});
	elf_builder_symbols(&b, ".symtab", SHT_SYMTAB);
	buffer_deinit(&descriptors);
	put_elf(&b, "opd");
}

static void gsym(const char *name, uint64_t distance)
{
	const struct gsym_function functions[] = {
		{0x1000, 0x1010, 0x1000, "first"},
		{0x1010, 0x1020, 0x1000, "second"},
		{0x1020 + distance, 0x1040 + distance, 0x1020 + distance, "third"},
	};
	struct mw_file_id id = {.kind = MW_FILE_ID_GNU, .size = 20, .bytes = {1, 2, 3}};
	struct buffer file = {};
	if (gsym_write(functions, ARRAY_SIZE(functions), &id, UINT64_MAX, &file, NULL, NULL) < 0)
		exit(1);
	put_seed("gsym", name, file.data, file.n);
	buffer_deinit(&file);
}

static void texts(void)
{
	static const char kallsyms[] = "ffffffff81000000 T _stext\n"
				       "ffffffff81000000 T startup_64\n"
				       "ffffffff81000200 t helper\n"
				       "ffffffff81000280 T _etext\n"
				       "ffffffff81800000 D some_data\n"
				       "ffffffffc0000000 t module_init\t[module]\n"
				       "ffffffffc0003000 t bpf_prog_6deef7357e7b4530\t[bpf]\n";
	static const char hidden[] = "0000000000000000 T _stext\n0000000000000000 t f\t[m]\n";
	put_seed("kallsyms", "usual", kallsyms, sizeof kallsyms - 1);
	put_seed("kallsyms", "hidden", hidden, sizeof hidden - 1);
	static const char *const names[] = {
		"_ZNSt6vectorIiSaIiEE9push_backERKi",
		"_Z1f1AIiiE1BIS0_S0_E1BIS2_S2_E",
		"_ZZN3foo3barEvENKUlT_E_clIiEEDaS0_",
		"_ZN4core3fmt9Formatter3pad17h1234567890abcdefE",
		"_RNvNtCs1234_7mycrate3foo3bar",
		"_RINvC1a1fTaaETB8_B8_EE",
		"_RNvC6_123foou9gdel_5qa",
		"main",
	};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char file[16];
		snprintf(file, sizeof file, "name%zu", i);
		put_seed("demangle", file, names[i], strlen(names[i]));
	}
}

/* A whole file and the records in it. */
static void profiles(void)
{
	char path[1024];
	struct codec_mark mark = {};
	struct buffer records = {};
	struct profile *p = build_sampler();
	static const char *const texts[PROFILE_CONTAINER_N_TEXTS] = {"podman", "4711", "web"};
	uint32_t container;
	if (profile_add_container(p, texts, &container) < 0 ||
	    profile_set_place(p, 42, 4026531841, container) < 0)
		exit(1);
	codec_encode(p, &mark, &records);
	put_seed("profile", "records", records.data, records.n);
	buffer_deinit(&records);
	snprintf(path, sizeof path, "%s/profile/file", directory);
	unlink(path);
	if (profile_save(path, p, NULL) < 0) {
		perror(path);
		exit(1);
	}
	profile_free(p);
}

#define ID    "489ce0ef7fef0384916f24419f34f037f421877cabc9e9979571556b5398ea41"
#define LAYER "1e568543061703ff14c87a7e30b4dce563cc1a788a202b5016482b4532dbaf36"

/* A runtime's files, after the two bytes of fuzz/container.c. */
static void runtime_files(const char *name, uint8_t family, uint8_t how, const char *text)
{
	struct buffer b = {};
	buffer_u8(&b, family);
	buffer_u8(&b, how);
	buffer_bytes(&b, text, strlen(text));
	put_seed("container", name, b.data, b.n);
	buffer_deinit(&b);
}

/* Families are numbered as in the table of src/content/container.c. */
static void containers(void)
{
	static const char list[] =
		"[{\"id\":\"" ID "\",\"names\":[\"web\"],\"image\":\"" LAYER
		"\",\"layer\":\"" LAYER "\",\"metadata\":\"{\\\"image-name\\\":\\\"nginx\\\","
		"\\\"name\\\":\\\"k8s_app_web-0_prod_1_0\\\"}\"}]\x1e[]\x1e"
		"[{\"id\":\"" LAYER "\",\"names\":[\"nginx:1\"]}]";
	static const char annotations[] =
		"{\"process\":{\"rlimits\":[{\"hard\":18446744073709551615}]},\"annotations\":{"
		"\"io.kubernetes.cri.container-type\":\"sandbox\","
		"\"io.kubernetes.cri.sandbox-name\":\"web-0\",\"nerdctl/name\":\"n\","
		"\"org.opencontainers.image.ref.name\":\"img\"}}";
	runtime_files("docker", 0, 0x80,
		      "{\"ID\":\"" ID "\",\"Name\":\"/web\",\"Image\":\"sha256:1\",\"Config\":{"
		      "\"Image\":\"nginx:1\",\"Labels\":{\"io.kubernetes.pod.name\":\"p\"}}}");
	runtime_files("podman", 1, 0x80 | 4, list);
	runtime_files("podman-layer", 1, 4, list);
	runtime_files("crio", 2, 0x80 | 4, list);
	runtime_files("containerd", 3, 0x80, annotations);
	runtime_files("flatpak", 4, 0,
		      "[Application]\nname=org.x.Y\n[Instance]\ninstance-id=1\nbranch=b\narch=x\n");
	runtime_files("lxc", 6, 0,
		      "# Template used to create this container: /t/lxc-download\n"
		      "# Parameters passed to the template: -d debian\nlxc.rootfs.path = dir:/r\n");
	runtime_files("runc", 8, 0,
		      "{\"config\":{\"rootfs\":\"/r\",\"labels\":["
		      "\"org.opencontainers.image.ref.name=a\",\"bundle=/b\"]}}");
	runtime_files("crun", 9, 2, "{\"rootfs\":\"/r\"}\x1e{\"annotations\":{}}");
}

static void put_unwind(struct elf_builder *b, const char *name)
{
	struct buffer file = {};
	elf_builder_finish(b, &file);
	put_seed("unwind", name, file.data, file.n);
	buffer_deinit(&file);
	elf_builder_deinit(b);
}

/* Every kind of instruction, in a file with little else. */
static void frames(const char *name, bool is_debug_frame, uint16_t machine)
{
	struct elf_builder elf = elf_builder_init();
	struct cfi_builder b = {.address = 0x2000, .is_debug_frame = is_debug_frame};
	struct builder_cie cie = usual_cie;
	elf.machine = machine;
	if (is_debug_frame) {
		cie.version = 4;
		cie.augmentation = "";
		cie.augmentation_size = 0;
		cie.pointers = DW_EH_PE_absptr;
	}
	elf_builder_text(&elf, 0x1000, 0x80);
	uint32_t at = cfi_builder_cie(&b, &cie);
	cfi_builder_fde(&b, at, 0x1000, 0x20,
			PROGRAM(DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 16,
				DW_CFA_offset | 6, 2, DW_CFA_advance_loc1, 3,
				DW_CFA_def_cfa_register, 6, DW_CFA_remember_state,
				DW_CFA_advance_loc2, 9, 0, DW_CFA_def_cfa, 7, 8, DW_CFA_restore | 6,
				DW_CFA_advance_loc4, 1, 0, 0, 0, DW_CFA_restore_state));
	cfi_builder_fde(&b, at, 0x1020, 0x20,
			PROGRAM(DW_CFA_def_cfa_expression, 3, DW_OP_breg0 + 6, 0x78, DW_OP_deref,
				DW_CFA_expression, 6, 2, DW_OP_breg0 + 6, 0, DW_CFA_val_expression, 3, 1,
				DW_OP_lit0, DW_CFA_GNU_args_size, 8, DW_CFA_advance_loc | 1,
				DW_CFA_def_cfa_sf, 7, 0x7e, DW_CFA_AARCH64_negate_ra_state));
	cfi_builder_fde(&b, at, 0x1040, 0x10,
			PROGRAM(DW_CFA_def_cfa_expression, 11, DW_OP_breg0 + 7, 8, DW_OP_breg0 + 16, 0,
				DW_OP_lit0 + 15, DW_OP_and, DW_OP_lit0 + 11, DW_OP_ge,
				DW_OP_lit0 + 3, DW_OP_shl, DW_OP_plus));
	cfi_builder_fde(&b, at, 0x1050, 0x10, PROGRAM(DW_CFA_undefined, 16));
	cfi_builder_section(&b, &elf);
	put_unwind(&elf, name);
}

static void stubs(void)
{
	static const uint8_t lazy[] = {
		0xff, 0x35, 0, 0, 0, 0, 0xff, 0x25, 0, 0, 0, 0, 0x0f, 0x1f, 0x40, 0,
		0xff, 0x25, 0, 0, 0, 0, 0x68, 0, 0, 0, 0, 0xe9, 0xe0, 0xff, 0xff, 0xff,
		0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05,
	};
	struct elf_builder elf = elf_builder_init();
	uint32_t plt = elf_builder_section(
		&elf, (struct builder_section){.name = ".plt",
					       .type = SHT_PROGBITS,
					       .flags = SHF_ALLOC | SHF_EXECINSTR,
					       .address = 0x1000,
					       .data = lazy,
					       .size = sizeof lazy,
					       .align = 16});
	elf_builder_segment(&elf, (struct builder_segment){
					  .type = PT_LOAD, .flags = PF_R | PF_X, .section = plt});
	put_unwind(&elf, "stubs");
}

/* ---- debug information ----------------------------------------------------------------------- */

static void add_abbreviations(struct dwarf_builder *b)
{
	unsigned offset = b->version >= 4 ? DW_FORM_sec_offset : DW_FORM_data4;
	dwarf_abbreviation(b, 1, DW_TAG_compile_unit, true, DW_AT_stmt_list, offset, DW_AT_comp_dir,
			   DW_FORM_string, DW_AT_low_pc, DW_FORM_addr, 0);
	dwarf_abbreviation(b, 2, DW_TAG_subprogram, false, DW_AT_linkage_name, DW_FORM_strp,
			   DW_AT_specification, DW_FORM_ref_udata, 0);
	dwarf_abbreviation(b, 3, DW_TAG_subprogram, true, DW_AT_name, DW_FORM_string, DW_AT_low_pc,
			   DW_FORM_addr, DW_AT_high_pc, DW_FORM_addr, 0);
	dwarf_abbreviation(b, 4, DW_TAG_inlined_subroutine, true, DW_AT_abstract_origin,
			   DW_FORM_ref_addr, DW_AT_ranges, offset, DW_AT_call_file, DW_FORM_data1,
			   DW_AT_call_line, DW_FORM_sdata, 0);
	dwarf_abbreviation(b, 5, DW_TAG_structure_type, true, DW_AT_sibling, DW_FORM_ref4,
			   DW_AT_name, DW_FORM_GNU_strp_alt, 0);
	dwarf_abbreviation(b, 6, DW_TAG_variable, false, DW_AT_name, DW_FORM_indirect, 0x49,
			   DW_FORM_ref_sig8, 2, DW_FORM_block1, 0);
}

static void add_ranges(struct dwarf_builder *b)
{
	if (b->version >= 5) {
		dwarf_u8(&b->ranges, DW_RLE_offset_pair);
		dwarf_uleb(&b->ranges, 0x10);
		dwarf_uleb(&b->ranges, 0x20);
		dwarf_u8(&b->ranges, DW_RLE_start_length);
		dwarf_address(b, &b->ranges, 0x1040);
		dwarf_uleb(&b->ranges, 0x10);
		dwarf_u8(&b->ranges, DW_RLE_end_of_list);
		return;
	}
	static const uint64_t ranges[] = {0x10, 0x20, 0x40, 0x50, 0, 0};
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		dwarf_address(b, &b->ranges, ranges[i]);
}

static void add_unit(struct dwarf_builder *b)
{
	dwarf_unit_begin(b, DW_UT_compile);
	dwarf_uleb(&b->info, 1);
	dwarf_offset(b, &b->info, b->line.n);
	dwarf_text(&b->info, "/s");
	dwarf_address(b, &b->info, 0x1000);
	uint32_t origin = dwarf_here(b);
	dwarf_uleb(&b->info, 2);
	dwarf_offset(b, &b->info, dwarf_string_in(&b->str, "_Z6originv"));
	dwarf_uleb(&b->info, origin);
	dwarf_uleb(&b->info, 3);
	dwarf_text(&b->info, "f");
	dwarf_address(b, &b->info, 0x1000);
	dwarf_address(b, &b->info, 0x1080);
	for (int i = 0; i < 2; i++) {
		dwarf_uleb(&b->info, 4);
		if (b->version == 2)
			dwarf_address(b, &b->info, b->unit + origin);
		else
			dwarf_offset(b, &b->info, b->unit + origin);
		dwarf_offset(b, &b->info, 0);
		dwarf_u8(&b->info, 1);
		dwarf_sleb(&b->info, 9 + i);
	}
	dwarf_uleb(&b->info, 0);
	dwarf_uleb(&b->info, 0);
	dwarf_uleb(&b->info, 0);
	dwarf_uleb(&b->info, 5);
	dwarf_u32(b, &b->info, dwarf_here(b) + 4 + b->offset_size + 15);
	dwarf_offset(b, &b->info, 1);
	dwarf_uleb(&b->info, 6);
	dwarf_uleb(&b->info, DW_FORM_string);
	dwarf_text(&b->info, "v");
	dwarf_u64(b, &b->info, 1);
	dwarf_u8(&b->info, 1);
	dwarf_u8(&b->info, 0);
	dwarf_uleb(&b->info, 0);
	dwarf_uleb(&b->info, 0);
	dwarf_unit_end(b);
}

static void debug_information(const char *name, uint8_t version, uint8_t offset_size, bool is32,
			      bool is_big)
{
	struct dwarf_builder b = dwarf_builder_init(version, offset_size, is32, is_big);
	struct buffer file = {};
	add_abbreviations(&b);
	add_ranges(&b);
	add_unit(&b);
	dwarf_lines_begin(&b);
	for (uint64_t start = 0x1000; start < 0x1100; start += 0x80) {
		dwarf_lines_set_address(&b, start);
		dwarf_lines_row(&b, start, 3);
		dwarf_lines_file(&b, 2);
		dwarf_lines_row(&b, start + 0x11, 400);
		dwarf_lines_end_sequence(&b, start + 0x70);
	}
	dwarf_lines_end(&b);
	static const char link[] = "x\0supplement";
	elf_builder_section(&b.elf, (struct builder_section){.name = ".gnu_debugaltlink",
							     .type = SHT_PROGBITS,
							     .data = link,
							     .size = sizeof link - 1});
	struct buffer note = {};
	elf_builder_note(&b.elf, &note, "GNU", 4, NT_GNU_BUILD_ID, "supplement", 10, 4);
	elf_builder_notes(&b.elf, ".note", &note, 4);
	add_symbols(&b.elf, ".symtab", SHT_SYMTAB);
	dwarf_builder_finish(&b, &file);
	put_seed("dwarf", name, file.data, file.n);
	buffer_deinit(&note);
	buffer_deinit(&file);
	dwarf_builder_deinit(&b);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: fuzz_seeds CORPUS-DIRECTORY\n");
		return 2;
	}
	directory = argv[1];
	program("program64", false, false, false);
	program("program64big", false, true, false);
	program("program32", true, false, false);
	program("program32big", true, true, false);
	program("extended", false, false, true);
	notes("notes4", 4, 4);
	notes("notes8", 8, 8);
	notes("notes8padded4", 8, 4);
	compressed();
	debugdata();
	dynamic("hash", false);
	dynamic("gnu_hash", true);
	opd();
	gsym("near", 0);
	gsym("far", UINT64_C(1) << 40);
	gsym("middle", 100000);
	texts();
	profiles();
	containers();
	frames("eh_frame", false, EM_X86_64);
	frames("debug_frame", true, EM_X86_64);
	frames("aarch64", false, EM_AARCH64);
	stubs();
	debug_information("version2", 2, 4, true, false);
	debug_information("version3big", 3, 4, true, true);
	debug_information("version4", 4, 4, false, false);
	debug_information("version4big64", 4, 8, false, true);
	debug_information("version5", 5, 4, false, false);
	debug_information("version5wide", 5, 8, true, false);
	return 0;
}
