// Compiles the tree of a pattern to a program, in which repetitions are laid out: x{3} is xxx. Of
// the two ways that a SPLIT has, the first is the preferred one, so that a greedy and a lazy
// operator differ only in the order of the two. Where a jump goes is often not known when it is
// made: until then the jumps to one place form a list through their own targets, which needs no
// other memory. The size of a program is bounded, hence the memory of a search: 30 MB with all
// groups. At last it is noted with which bytes a match can begin, so that a search passes over the
// others quickly.
#include <string.h>

#include "base/checked.h"
#include "ops/string/pattern_program_cpu.h"

enum { MAX_STEPS = 87381 };  // RE2 refuses larger programs too

typedef struct compiler_s {
  const leat_pattern_tree_t* tree;
  leat_pattern_t* out;
} compiler_t;

leat_status_t leat_pattern_too_large(void) {
  return leat_make_status(LEAT_INVALID_ARGUMENT, "pattern too large - compile failed");
}

static uint32_t next_step(const compiler_t* p) { return (uint32_t)p->out->step_count; }

static leat_status_t add_step(compiler_t* p, leat_pattern_op_e op, uint32_t x, uint32_t y,
                              uint32_t* out_step) {
  leat_pattern_t* out = p->out;
  if (out->step_count >= MAX_STEPS) return leat_pattern_too_large();
  LEAT_RETURN_IF_ERROR(LEAT_GROW(leat_allocator_system(), out->step_count + 1, &out->steps,
                                 &out->step_capacity));
  out->steps[out->step_count] = (leat_pattern_step_t){op, x, y};
  if (out_step) *out_step = (uint32_t)out->step_count;
  out->step_count += 1;
  return leat_ok_status();
}

// A SPLIT between the next step and one that is set later, by join(); lazy: the latter first.
static leat_status_t fork_here(compiler_t* p, uint32_t* out_step) {
  return add_step(p, LEAT_PATTERN_SPLIT, next_step(p) + 1, 0, out_step);
}

static void join(compiler_t* p, uint32_t split, uint32_t target, bool lazy) {
  leat_pattern_step_t* step = &p->out->steps[split];
  step->y = target;
  if (lazy) *step = (leat_pattern_step_t){step->op, step->y, step->x};
}

static leat_status_t emit(compiler_t* p, uint32_t node);

static leat_status_t emit_repeat(compiler_t* p, const leat_pattern_node_t* node) {
  uint32_t split = LEAT_PATTERN_NONE, begin = 0;
  if (node->most < 0 && node->least == 0) LEAT_RETURN_IF_ERROR(fork_here(p, &split));
  for (int32_t i = 0; i < LEAT_MAX(node->least, node->most < 0); ++i) {
    begin = next_step(p);
    LEAT_RETURN_IF_ERROR(emit(p, node->a));
  }
  if (node->most < 0) {
    // x{2,} is x, then x with a way back to its beginning; x* is (x+)?.
    uint32_t back;
    LEAT_RETURN_IF_ERROR(fork_here(p, &back));
    p->out->steps[back].x = begin;
    join(p, back, next_step(p), node->lazy);
    if (split != LEAT_PATTERN_NONE) join(p, split, next_step(p), node->lazy);
    return leat_ok_status();
  }
  // x{0,3} is (x(x(x)?)?)?. The forks go to the same place; until it is known each holds the number
  // of the one before.
  uint32_t last = LEAT_PATTERN_NONE;
  for (int32_t i = node->least; i < node->most; ++i) {
    LEAT_RETURN_IF_ERROR(fork_here(p, &split));
    p->out->steps[split].y = last;
    last = split;
    LEAT_RETURN_IF_ERROR(emit(p, node->a));
  }
  while (last != LEAT_PATTERN_NONE) {
    split = last;
    last = p->out->steps[split].y;
    join(p, split, next_step(p), node->lazy);
  }
  return leat_ok_status();
}

// a|b|c is (a or (b or c)). The jumps behind a and b go to the same place; until it is known each
// holds the number of the one before.
static leat_status_t emit_either(compiler_t* p, const leat_pattern_node_t* node) {
  uint32_t split, end = LEAT_PATTERN_NONE;
  for (uint32_t i = node->a; i != LEAT_PATTERN_NONE; i = p->tree->nodes[i].next) {
    bool is_last = p->tree->nodes[i].next == LEAT_PATTERN_NONE;
    if (!is_last) LEAT_RETURN_IF_ERROR(fork_here(p, &split));
    LEAT_RETURN_IF_ERROR(emit(p, i));
    if (is_last) break;
    LEAT_RETURN_IF_ERROR(add_step(p, LEAT_PATTERN_JUMP, end, 0, &end));
    join(p, split, next_step(p), false);
  }
  while (end != LEAT_PATTERN_NONE) {
    uint32_t before = p->out->steps[end].x;
    p->out->steps[end].x = next_step(p);
    end = before;
  }
  return leat_ok_status();
}

static leat_status_t emit(compiler_t* p, uint32_t number) {
  const leat_pattern_node_t node = p->tree->nodes[number];
  switch (node.kind) {
    case LEAT_PATTERN_CLASS: return add_step(p, LEAT_PATTERN_READ, node.a, node.b, NULL);
    case LEAT_PATTERN_BYTE: return add_step(p, LEAT_PATTERN_READ_BYTE, 0, 0, NULL);
    case LEAT_PATTERN_PLACE: return add_step(p, LEAT_PATTERN_ASSERT, node.a, 0, NULL);
    case LEAT_PATTERN_EITHER: return emit_either(p, &node);
    case LEAT_PATTERN_REPEAT: return emit_repeat(p, &node);
    case LEAT_PATTERN_SEQUENCE:
      for (uint32_t i = node.a; i != LEAT_PATTERN_NONE; i = p->tree->nodes[i].next) {
        LEAT_RETURN_IF_ERROR(emit(p, i));
      }
      return leat_ok_status();
    case LEAT_PATTERN_GROUP: break;
  }
  if (!node.least || node.least >= LEAT_PATTERN_GROUPS) return emit(p, node.a);
  LEAT_RETURN_IF_ERROR(add_step(p, LEAT_PATTERN_SAVE, 2 * (uint32_t)node.least, 0, NULL));
  LEAT_RETURN_IF_ERROR(emit(p, node.a));
  return add_step(p, LEAT_PATTERN_SAVE, 2 * (uint32_t)node.least + 1, 0, NULL);
}

// ---- The first byte -----------------------------------------------------------------------------

// The first byte of a character in UTF-8.
static unsigned char first_byte(uint32_t rune) {
  return (unsigned char)(rune < 0x80      ? rune
                         : rune < 0x800   ? 0xc0 | rune >> 6
                         : rune < 0x10000 ? 0xe0 | rune >> 12
                                          : 0xf0 | rune >> 18);
}

// Notes with which bytes a match can begin: those of the characters that are read first. A way to
// the end without a character means that any place matches.
static leat_status_t find_first(leat_pattern_t* pattern) {
  bool* seen;
  uint32_t* stack;
  size_t waiting = 0;
  leat_allocator_t* memory = leat_allocator_system();
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(memory, pattern->step_count, &seen));
  // Each step is followed once and leaves at most two on the stack.
  leat_status_t status = LEAT_ALLOCATE(memory, 2 * pattern->step_count + 1, &stack);
  if (status) {
    leat_allocator_free(memory, seen);
    return status;
  }
  pattern->has_first = true;
  for (stack[waiting++] = 0; waiting;) {
    uint32_t at = stack[--waiting];
    const leat_pattern_step_t* step = &pattern->steps[at];
    if (seen[at]) continue;
    seen[at] = true;
    if (step->op == LEAT_PATTERN_MATCH) pattern->has_first = false;
    if (step->op == LEAT_PATTERN_SPLIT) stack[waiting++] = step->y;
    if (step->op == LEAT_PATTERN_SPLIT || step->op == LEAT_PATTERN_JUMP) {
      stack[waiting++] = step->x;
    } else if (step->op == LEAT_PATTERN_SAVE || step->op == LEAT_PATTERN_ASSERT) {
      stack[waiting++] = at + 1;
    }
    if (step->op == LEAT_PATTERN_READ_BYTE) memset(pattern->first, true, sizeof pattern->first);
    for (uint32_t i = 0; step->op == LEAT_PATTERN_READ && i < step->y; ++i) {
      leat_pattern_range_t range = pattern->ranges[step->x + i];
      memset(pattern->first + first_byte(range.first), true,
             (size_t)(first_byte(range.last) - first_byte(range.first)) + 1);
    }
  }
  leat_allocator_free(memory, seen);
  leat_allocator_free(memory, stack);
  return leat_ok_status();
}

// ---- Patterns -----------------------------------------------------------------------------------

static leat_status_t compile(compiler_t* p) {
  LEAT_RETURN_IF_ERROR(add_step(p, LEAT_PATTERN_SAVE, 0, 0, NULL));
  LEAT_RETURN_IF_ERROR(emit(p, p->tree->root));
  LEAT_RETURN_IF_ERROR(add_step(p, LEAT_PATTERN_SAVE, 1, 0, NULL));
  LEAT_RETURN_IF_ERROR(add_step(p, LEAT_PATTERN_MATCH, 0, 0, NULL));
  return find_first(p->out);
}

leat_status_t leat_pattern_create(leat_string_view_t text, leat_pattern_t** out_pattern) {
  leat_pattern_tree_t tree = {0};
  leat_pattern_t* pattern;
  *out_pattern = NULL;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &pattern));
  leat_status_t status = leat_pattern_parse(text, &tree);
  pattern->ranges = tree.ranges;
  pattern->group_count = tree.group_count;
  pattern->by_bytes = tree.by_bytes;
  if (!status) status = compile(&(compiler_t){&tree, pattern});
  leat_allocator_free(leat_allocator_system(), tree.nodes);
  if (status) {
    leat_pattern_free(pattern);
  } else {
    *out_pattern = pattern;
  }
  return leat_status_annotate(status, "Invalid pattern: %.*s, error", LEAT_SV_ARG(text));
}

int leat_pattern_group_count(const leat_pattern_t* pattern) { return pattern->group_count; }

void leat_pattern_free(leat_pattern_t* pattern) {
  if (!pattern) return;
  leat_allocator_free(leat_allocator_system(), pattern->steps);
  leat_allocator_free(leat_allocator_system(), pattern->ranges);
  leat_allocator_free(leat_allocator_system(), pattern);
}
