#!/usr/bin/env python3
"""Print the two tables of width.c from the Unicode data that Python carries.

Wide: East_Asian_Width W or F (UAX #11). Zero: marks (Mn, Me), format characters (Cf) other than the soft hyphen, and the
Hangul vowels and finals that join the syllable before them. Unassigned gaps inside a range are bridged.
"""
import unicodedata

LAST = 0x110000


def is_wide(c):
    return unicodedata.category(chr(c)) != "Cn" and unicodedata.east_asian_width(chr(c)) in "WF"


def is_zero(c):
    return (unicodedata.category(chr(c)) in ("Mn", "Me", "Cf") and c != 0xAD) or 0x1160 <= c <= 0x11FF


def ranges(holds):
    found = []
    bridge = False  # only unassigned code points since the last range
    for c in range(LAST):
        if holds(c):
            if bridge:
                found[-1][1] = c
            else:
                found.append([c, c])
            bridge = True
        elif unicodedata.category(chr(c)) != "Cn":
            bridge = False
    return found


def show(name, holds):
    print(f"static const struct range {name}[] = {{")
    cells = ["{0x%04x, 0x%04x}," % tuple(r) for r in ranges(holds)]
    for i in range(0, len(cells), 5):
        print("\t" + " ".join(cells[i : i + 5]))
    print("};")


print(f"/* Unicode {unicodedata.unidata_version}, written by width_table.py. */")
show("wide", is_wide)
show("zero", is_zero)
