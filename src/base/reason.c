/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <mapwright/mapwright.h>

struct reason {
	const char *name;
	const char *sentence;
	const char *hint;
};

static const struct reason reasons[MW_N_REASONS] = {
	[MW_REASON_NONE] = {"none", "It has a name.", NULL},
	[MW_REASON_NO_MAPPING] = {"no-mapping", "Nothing was mapped at this address.", NULL},
	[MW_REASON_NOT_IN_FILE] = {"not-in-file",
				   "The mapping reaches past the bytes that the file has.", NULL},
	[MW_REASON_FILE_GONE] = {"file-gone",
				 "The file could not be opened before it and its process were gone.",
				 "start the recording before the program"},
	[MW_REASON_ID_MISMATCH] = {"id-mismatch",
				   "A file was found at the path, but its content is not what ran.",
				   "add the right file: mapwright resymbolize --symfs DIR"},
	[MW_REASON_STRIPPED] = {"stripped", "The file has no symbols.",
				"install its debug symbols (Debian: the -dbgsym package)"},
	[MW_REASON_NO_SYMBOL_THERE] = {"no-symbol-there",
				       "The file has symbols, but none covers this address.",
				       "install its debug symbols (Debian: the -dbgsym package)"},
	[MW_REASON_JIT_NO_MAP] = {"jit-no-map",
				  "Code made at run time, and nobody left a map of it.",
				  "let the runtime write a perf map (node: --perf-basic-prof)"},
	[MW_REASON_RACED] = {"raced", "The mapping changed between the sample and its look-up.",
			     NULL},
	[MW_REASON_BROKEN_UNWIND] = {"broken-unwind",
				     "The walk of the stack left the code at this frame.",
				     "build with -fno-omit-frame-pointer"},
	[MW_REASON_HIDDEN_KERNEL] = {"hidden-kernel", "The kernel does not show its symbols.",
				     "sysctl kernel.kptr_restrict=0, and record as root"},
	[MW_REASON_EXEC_RACED] = {"exec-raced",
				  "The task became another program before its stack was read.",
				  NULL},
	[MW_REASON_EXITING] = {"exiting", "The task had already given up its memory.", NULL},
	[MW_REASON_NO_USER_STACK] = {"no-user-stack",
				     "The user part of this stack was not delivered.",
				     "see the losses above the table; a larger -m may help"},
	[MW_REASON_GHOST] = {"ghost", "The address is not in an executable part of the file.",
			     NULL},
	[MW_REASON_LOCK_CONTENDED] = {"lock-contended",
				      "The address space was locked at each try.", NULL},
	[MW_REASON_NOT_CACHED] = {"not-cached",
				  "The kernel did not have the file's header in memory.", NULL},
	[MW_REASON_CUT_DEPTH] = {"cut-depth", "The stack was deeper than the limit.", NULL},
	[MW_REASON_EVICTED] = {"evicted", "There was no room: in the store, or in a table of the recorder.",
			       "a larger store helps: record --store-size 4G"},
	[MW_REASON_PARSER_FAILED] = {"parser-failed",
				     "The file is damaged or hostile: its parser gave up.", NULL},
	[MW_REASON_TIMEOUT] = {"timeout", "Opening or parsing the file took longer than allowed.",
			       NULL},
	[MW_REASON_DEBUGINFOD_PENDING] = {"debuginfod-pending",
					  "A debuginfod server has been asked.",
					  "mapwright resymbolize once the answer is there"},
	[MW_REASON_OTHER_KERNEL] = {"other-kernel",
				    "An address of another kernel than the one at hand.", NULL},
	[MW_REASON_NO_TABLE] = {"no-table", "There is no unwinding table for this code.", NULL},
	[MW_REASON_STACK_UNREADABLE] = {"stack-unreadable",
					"The memory of the stack could not be read.", NULL},
};

static const struct reason *reason_get(enum mw_reason reason)
{
	return (unsigned)reason < MW_N_REASONS ? &reasons[reason] : NULL;
}

const char *mw_reason_name(enum mw_reason reason)
{
	const struct reason *r = reason_get(reason);
	return r ? r->name : NULL;
}

const char *mw_reason_sentence(enum mw_reason reason)
{
	const struct reason *r = reason_get(reason);
	return r ? r->sentence : NULL;
}

const char *mw_reason_hint(enum mw_reason reason)
{
	const struct reason *r = reason_get(reason);
	return r ? r->hint : NULL;
}
