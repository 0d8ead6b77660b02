// The two forms of a pattern behind its text: the tree that the parser makes
// (pattern_syntax_cpu.c), and the program that the tree becomes (pattern_program_cpu.c) and that a
// search runs (pattern_search_cpu.c). The tree is needed for a moment only: it has a node for each
// operator as it was written, so that x{3} is small, and the limits of repetitions and of depth are
// checked on it. The program is what lives as long as the pattern. Both refer to characters by the
// same array of ranges, which the program takes over from the tree.
#ifndef LEAT_OPS_STRING_PATTERN_PROGRAM_CPU_H_
#define LEAT_OPS_STRING_PATTERN_PROGRAM_CPU_H_

#include "ops/string/pattern_cpu.h"

// ---- The tree -----------------------------------------------------------------------------------

typedef enum leat_pattern_kind_e {
  LEAT_PATTERN_CLASS,
  LEAT_PATTERN_BYTE,
  LEAT_PATTERN_PLACE,
  LEAT_PATTERN_GROUP,
  LEAT_PATTERN_SEQUENCE,
  LEAT_PATTERN_EITHER,
  LEAT_PATTERN_REPEAT,
} leat_pattern_kind_e;

typedef enum leat_pattern_place_e {
  LEAT_PATTERN_TEXT_BEGIN,
  LEAT_PATTERN_TEXT_END,
  LEAT_PATTERN_LINE_BEGIN,
  LEAT_PATTERN_LINE_END,
  LEAT_PATTERN_WORD_EDGE,
  LEAT_PATTERN_NO_WORD_EDGE,
} leat_pattern_place_e;

#define LEAT_PATTERN_NONE UINT32_MAX  // no node, no step

// A node by its kind:
//   CLASS     the characters of the ranges [a, a + b)
//   BYTE      any byte, also one within a character
//   PLACE     a: a leat_pattern_place_e
//   GROUP     a: what is in it; least: its number, 0 for a group that is not remembered
//   SEQUENCE, EITHER   a: the first child, the others by |next|
//   REPEAT    a: what is repeated, from least to most times; most -1: any number
typedef struct leat_pattern_node_s {
  leat_pattern_kind_e kind;
  uint32_t a, b, next;
  int32_t least, most;
  bool lazy;
  int32_t repeat;  // the largest product of the counts of REPEATs in each other, from here down
} leat_pattern_node_t;

typedef struct leat_pattern_range_s {
  uint32_t first, last;
} leat_pattern_range_t;

typedef struct leat_pattern_tree_s {
  leat_pattern_node_t* nodes;
  leat_pattern_range_t* ranges;  // of all classes, in order within each
  size_t node_count, node_capacity, range_count, range_capacity;
  uint32_t root;
  int group_count;
  bool by_bytes;  // a way to match may begin or end within a character
} leat_pattern_tree_t;

// Parses |text| into |out_tree|, which is zeroed; the caller frees its arrays, also on failure.
LEAT_MUST_USE leat_status_t leat_pattern_parse(leat_string_view_t text,
                                               leat_pattern_tree_t* out_tree);

LEAT_MUST_USE leat_status_t leat_pattern_too_large(void);  // the error of a pattern at a limit

// ---- The program --------------------------------------------------------------------------------

typedef enum leat_pattern_op_e {
  LEAT_PATTERN_READ,    // a character of the ranges [x, x + y), then the next step
  LEAT_PATTERN_READ_BYTE,  // a byte, then the next step
  LEAT_PATTERN_SPLIT,   // goes on at x and, if that fails, at y
  LEAT_PATTERN_JUMP,    // goes on at x
  LEAT_PATTERN_SAVE,    // remembers where it is as at[x]
  LEAT_PATTERN_ASSERT,  // it must be at an x, a leat_pattern_place_e
  LEAT_PATTERN_MATCH,
} leat_pattern_op_e;

typedef struct leat_pattern_step_s {
  uint32_t op, x, y;
} leat_pattern_step_t;

struct leat_pattern_s {
  leat_pattern_step_t* steps;
  leat_pattern_range_t* ranges;
  size_t step_count, step_capacity;
  int group_count;
  bool by_bytes;
  // With |has_first|, a match is not empty, and its first byte is one of |first|.
  bool has_first, first[256];
};

#endif  // LEAT_OPS_STRING_PATTERN_PROGRAM_CPU_H_
