#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""usage: hostile.py PROGRAM DIRECTORY. Makes programs that run, and whose files lie to whoever reads them.

PROGRAM is a static 64-bit little-endian ELF file. The kernel needs its ELF header, program headers and
segments; everything else is made up: each function below takes the file's bytes and returns others, or
writes the file itself where it is to be sparse. Names of files are those of the functions.
"""
import hashlib
import lzma
import os
import struct
import sys

EHDR = struct.Struct('<16sHHIQQQIHHHHHH')
PHDR = struct.Struct('<IIQQQQQQ')
SHDR = struct.Struct('<IIQQQQIIQQ')
SYM = struct.Struct('<IBBHQQ')
SECTIONS_AT, N_SECTIONS, NAMES_SECTION = 6, 12, 13  # fields of the ELF header
PT_LOAD, PT_NOTE = 1, 4
SYMTAB, STRTAB, NOTE, PROGBITS = 2, 3, 7, 1
HUGE = 1 << 63


def header(data, **fields):
    values = list(EHDR.unpack_from(data))
    for name, value in fields.items():
        values[{'sections_at': 6, 'n_segments': 10, 'section_size': 11, 'n_sections': 12, 'names': 13}[name]] = value
    EHDR.pack_into(data, 0, *values)
    return data


def segments(data):
    values = EHDR.unpack_from(data)
    return [(values[5] + i * values[9], list(PHDR.unpack_from(data, values[5] + i * values[9])))
            for i in range(values[10])]


def loaded_end(data):
    """Where the file may end without the program missing anything."""
    return max(s[2] + s[5] for _, s in segments(data) if s[0] == PT_LOAD)


def bare(data):
    """Without sections and names."""
    return header(data[:loaded_end(data)], sections_at=0, n_sections=0, names=0)


def with_sections(data, sections, extra=b''):
    """Bare, and then these sections; the content that they may point to comes first, at 'extra'."""
    data = bare(data)
    while len(data) % 16:
        data.append(0)
    data += extra
    while len(data) % 16:
        data.append(0)
    at = len(data)
    for section in sections:
        data += SHDR.pack(*section)
    return header(data, sections_at=at, n_sections=len(sections), names=0, section_size=SHDR.size)


def extra_at(data):
    return (loaded_end(data) + 15) // 16 * 16


def section(kind, offset=0, size=0, link=0, entry=0, address=0):
    return (0, kind, 0, address, offset, size, link, 0, 1, entry)


def retarget_notes(data, offset, size):
    """All note segments point elsewhere. There may be none in the file: then the last segment that is not loaded."""
    notes = [(at, s) for at, s in segments(data) if s[0] == PT_NOTE]
    for at, s in notes or [[x for x in segments(data) if x[1][0] != PT_LOAD][-1]]:
        s[0], s[2], s[5], s[6] = PT_NOTE, offset, size, size
        PHDR.pack_into(data, at, *s)
    return data


def cut(data):
    return data[:loaded_end(data)]  # the header still tells of sections


def cut_in_the_section_table(data):
    return data[:EHDR.unpack_from(data)[SECTIONS_AT] + 100]


def sections_at_2_63(data):
    return header(data, sections_at=HUGE)


def sections_wrap_around(data):
    return header(data, sections_at=(1 << 64) - 64)


def sections_of_one_byte(data):
    return header(data, section_size=1)


def symbols_of_2_63_bytes(data):
    return with_sections(data, [section(0), section(SYMTAB, 64, HUGE, 2, 24), section(STRTAB, 64, HUGE)])


def symbols_that_are_their_own_names(data):
    return with_sections(data, [section(0), section(SYMTAB, 0, len(data), 1, 24)])


def symbols_of_size_nothing(data):
    return with_sections(data, [section(0), section(SYMTAB, 0, 4096, 2, 0), section(STRTAB, 0, 4096)])


def sections_that_refer_in_a_ring(data):
    return with_sections(data, [section(0)] + [section(SYMTAB, 64, 4096, 1 + (i + 1) % 9, 24) for i in range(9)])


def symbols_over_everything(data):
    """A hundred thousand symbols, each from anywhere to the end of all addresses, names far outside."""
    extra = b''.join(SYM.pack(0xfffffff0 - i, 0x12, 0, 1, i * 16, (1 << 64) - 1 - i) for i in range(100000))
    return with_sections(data, [section(0), section(SYMTAB, extra_at(data), len(extra), 2, 24),
                                section(STRTAB, 0, 64)], extra)


def one_name_of_a_megabyte(data):
    base = min(s[3] for _, s in segments(data) if s[0] == PT_LOAD)
    extra = SYM.pack(0, 0, 0, 0, 0, 0) + SYM.pack(0, 0x12, 0, 1, base, 1 << 30)
    names_at = extra_at(data) + len(extra)
    names = b'wrong_' + b'x' * (1 << 20)  # and no end
    return with_sections(data, [section(0), section(SYMTAB, extra_at(data), len(extra), 2, 24),
                                section(STRTAB, names_at, len(names))], extra + names)


def note_that_is_too_long(data):
    data = with_sections(data, [section(0)], struct.pack('<III4s', 4, 0xffffffff, 3, b'GNU\0'))
    return retarget_notes(data, extra_at(data), 16)


def notes_past_the_end(data):
    return retarget_notes(data, HUGE, HUGE)


def bomb(data):
    """What is a quarter of a gigabyte when it is unpacked, instead of mini debug information."""
    packed = lzma.compress(bytes(256 << 20), preset=0)
    names = b'\0.gnu_debugdata\0'
    at = extra_at(data)
    data = with_sections(data, [section(0), (1, PROGBITS, 0, 0, at + len(names), len(packed), 0, 0, 1, 0),
                                section(STRTAB, at, len(names))], names + packed)
    return header(data, names=2)


# ---- sparse files: huge, and small on the disk -------------------------------------------------------

def write_sparse(path, data, size, tail=b''):
    with open(path, 'wb') as out:
        out.write(data)
        out.truncate(size)
        out.seek(size)
        out.write(tail)


def a_million_sections(path, data):
    """Their number does not fit into the header: it is the size of the first one."""
    at, n = extra_at(data), 1 << 20
    data = header(bare(data), sections_at=at, n_sections=0, names=0, section_size=SHDR.size)
    data += bytes(at - len(data)) + SHDR.pack(*section(0, size=n))
    write_sparse(path, data, at + n * SHDR.size)


def an_endless_chain_of_notes(path, data):
    """A gigabyte of notes without names and content."""
    at = extra_at(data)
    write_sparse(path, retarget_notes(bare(data), at, 1 << 30), at + (1 << 30))


def forty_million_symbols(path, data):
    at, n = extra_at(data), 40000000
    table = b''.join(SHDR.pack(*s) for s in (section(0), section(SYMTAB, at, n * 24, 2, 24), section(STRTAB, 64, 64)))
    data = header(bare(data), sections_at=at + n * 24, n_sections=3, names=0, section_size=SHDR.size)
    write_sparse(path, data, at + n * 24, table)


CHANGED = (cut, cut_in_the_section_table, sections_at_2_63, sections_wrap_around, sections_of_one_byte,
           symbols_of_2_63_bytes, symbols_that_are_their_own_names, symbols_of_size_nothing,
           sections_that_refer_in_a_ring, symbols_over_everything, one_name_of_a_megabyte,
           note_that_is_too_long, notes_past_the_end, bomb)
SPARSE = (a_million_sections, an_endless_chain_of_notes, forty_million_symbols)


def with_id_of_its_own(data, name):
    """Otherwise names of the one would do for the other."""
    head = struct.pack('<III4s', 4, 20, 3, b'GNU\0')
    at = data.index(head) + len(head)
    data[at:at + 20] = hashlib.sha1(name.encode()).digest()
    return data


def main():
    program, directory = sys.argv[1:]
    original = open(program, 'rb').read()
    for make in CHANGED:
        with open(os.path.join(directory, make.__name__), 'wb') as out:
            out.write(make(with_id_of_its_own(bytearray(original), make.__name__)))
    for make in SPARSE:
        make(os.path.join(directory, make.__name__), with_id_of_its_own(bytearray(original), make.__name__))
    for name in os.listdir(directory):
        os.chmod(os.path.join(directory, name), 0o755)


if __name__ == '__main__':
    main()
