#ifndef BERTH_BASE_WIDTH_H
#define BERTH_BASE_WIDTH_H
/* Columns of one character on a terminal. Source: Unicode Character Database 14.0.0, East_Asian_Width (UAX #11) and
 * general categories; the tables are written by width_table.py. */
#include <stdint.h>

/* 2 for East Asian wide and emoji, 0 for combining marks and format characters, else 1. Controls are the caller's. */
unsigned berth_rune_width(uint32_t rune);
#endif
