// Runs the program of a pattern over a text. All ways to match go through the text together, one
// character at a time (Thompson's construction), so that no character is looked at twice: a list
// holds the steps at which some way is, in the order of preference, each at most once, with the
// places that its way has remembered. A way that comes to a step second would match the same from
// there on, and is dropped. When a way matches, those after it in the list are worse and dropped
// too; those before it go on.
//
// Where the pattern reads single bytes, or matches between them (\C, \B), the ways go byte by byte.
// A way that reads a character of several then keeps its place in the list while it passes over
// them, with the count of those that are still to come.
#include <string.h>

#include "base/attributes.h"
#include "ops/string/pattern_class_cpu.h"
#include "ops/string/pattern_program_cpu.h"

enum {
  LEFT_UNIT = 1 << 20,  // more than a program has steps
  MAX_LEFT = 3,
};

// The ways at one character.
typedef struct ways_s {
  uint32_t* steps;  // | LEFT_UNIT for each byte of its character that is still to come
  int64_t* places;  // of each way the matcher's slot_count
  size_t count;
} ways_t;

struct leat_pattern_matcher_s {
  const leat_pattern_t* pattern;
  leat_step_pace_t* pace;
  leat_string_view_t text;
  ways_t now, next;
  size_t slot_count;  // ends of groups that are remembered
  // The lists of ways are numbered; seen[step] is the number of the last that the step came to.
  uint64_t *seen, list;
  int64_t* places;  // of the way that add_way follows
  uint32_t* stack;  // steps that it still has to follow
  struct saved_s {
    uint32_t slot;
    int64_t at;
  }* saved;  // what it puts back when the steps after a SAVE have been followed
};

size_t leat_pattern_character(leat_string_view_t text, size_t at, uint32_t* out_rune) {
  static const uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const unsigned char* s = (const unsigned char*)text.data + at;
  size_t size = s[0] < 0x80 ? 1 : s[0] < 0xc0 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
  if (s[0] >= 0xf8) size = 0;
  uint32_t rune = size == 1 ? s[0] : size ? s[0] & (0x7fu >> size) : 0;
  bool is_whole = size != 0 && size <= text.size - at;
  for (size_t i = 1; is_whole && i < size; ++i) {
    is_whole = (s[i] & 0xc0) == 0x80;
    rune = rune << 6 | (s[i] & 0x3f);
  }
  if (is_whole && (rune < kLeast[size] || rune > LEAT_PATTERN_LAST_RUNE)) {
    is_whole = size >= 3 && s[0] <= 0xf4;
    rune = LEAT_PATTERN_MISFORMED;
  }
  if (out_rune) *out_rune = is_whole ? rune : LEAT_PATTERN_NO_CHARACTER;
  return is_whole ? size : 1;
}

static bool is_word(leat_string_view_t text, size_t at) {
  char c = at < text.size ? text.data[at] : 0;
  return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_';
}

static bool is_place(leat_string_view_t text, uint32_t place, size_t at) {
  bool at_begin = at == 0, at_end = at == text.size;
  bool at_edge = (!at_begin && is_word(text, at - 1)) != is_word(text, at);
  switch ((leat_pattern_place_e)place) {
    case LEAT_PATTERN_TEXT_BEGIN: return at_begin;
    case LEAT_PATTERN_TEXT_END: return at_end;
    case LEAT_PATTERN_LINE_BEGIN: return at_begin || text.data[at - 1] == '\n';
    case LEAT_PATTERN_LINE_END: return at_end || text.data[at] == '\n';
    case LEAT_PATTERN_WORD_EDGE: return at_edge;
    case LEAT_PATTERN_NO_WORD_EDGE: return !at_edge;
  }
  return false;
}

// Adds to |ways| the way that goes on at |step| with m->places, through all steps that read no
// character. A SPLIT is followed in the order of preference: its second step waits on the stack. So
// does a mark to undo a SAVE, once the steps after it have been followed.
static void add_way(leat_pattern_matcher_t* m, ways_t* ways, uint32_t step, size_t at) {
  const uint32_t kUndo = LEAT_PATTERN_NONE;
  size_t waiting = 0, undone = 0;
  m->stack[waiting++] = step;
  while (waiting) {
    step = m->stack[--waiting];
    if (step == kUndo) {
      --undone;
      m->places[m->saved[undone].slot] = m->saved[undone].at;
      continue;
    }
    if (m->seen[step] == m->list) continue;
    m->seen[step] = m->list;
    LEAT_DCHECK(step < m->pattern->step_count && waiting < 2 * m->pattern->step_count);
    const leat_pattern_step_t* i = &m->pattern->steps[step];
    switch ((leat_pattern_op_e)i->op) {
      case LEAT_PATTERN_SPLIT:
        m->stack[waiting++] = i->y;
        m->stack[waiting++] = i->x;
        break;
      case LEAT_PATTERN_JUMP: m->stack[waiting++] = i->x; break;
      case LEAT_PATTERN_SAVE:
        if (i->x < m->slot_count) {
          m->saved[undone].slot = i->x;
          m->saved[undone++].at = m->places[i->x];
          m->places[i->x] = (int64_t)at;
          m->stack[waiting++] = kUndo;
        }
        m->stack[waiting++] = step + 1;
        break;
      case LEAT_PATTERN_ASSERT:
        if (is_place(m->text, i->x, at)) m->stack[waiting++] = step + 1;
        break;
      case LEAT_PATTERN_READ:
      case LEAT_PATTERN_READ_BYTE:
      case LEAT_PATTERN_MATCH:
        ways->steps[ways->count] = step;
        memcpy(ways->places + ways->count * m->slot_count, m->places,
               m->slot_count * sizeof *m->places);
        ways->count += 1;
        break;
    }
  }
}

// The ranges are in order.
static bool has_rune(const leat_pattern_t* pattern, const leat_pattern_step_t* step,
                     uint32_t rune) {
  uint32_t low = step->x, high = step->x + step->y;
  if (rune == LEAT_PATTERN_MISFORMED && low < high) {
    const leat_pattern_range_t last = pattern->ranges[high - 1];
    return last.first <= 0x80 && last.last == LEAT_PATTERN_LAST_RUNE;
  }
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (rune > pattern->ranges[middle].last) low = middle + 1;
    else if (rune < pattern->ranges[middle].first) high = middle;
    else return true;
  }
  return false;
}

// Adds to m->next a way that has |left| more bytes of its character to pass over.
static void pass_over(leat_pattern_matcher_t* m, uint32_t step, uint32_t left,
                      const int64_t* places) {
  uint64_t* seen = &m->seen[left * m->pattern->step_count + step];
  if (*seen == m->list) return;
  *seen = m->list;
  memcpy(m->next.places + m->next.count * m->slot_count, places, m->slot_count * sizeof *places);
  m->next.steps[m->next.count++] = step + left * LEFT_UNIT;
}

// What is at a byte of the text.
typedef struct here_s {
  uint32_t rune;  // LEAT_PATTERN_NO_CHARACTER
  size_t size;    // of the character; 0 at the end
  size_t pace;    // how far all ways go
} here_t;

// Moves the ways at m->now, which are at byte |at|, over what is there into m->next. True where one
// matches; then |out_at| receives its places.
static bool advance(leat_pattern_matcher_t* m, size_t at, here_t here, bool whole,
                    int64_t* out_at) {
  bool at_end = at == m->text.size;
  m->next.count = 0;
  m->list += 1;
  for (size_t i = 0; i < m->now.count; ++i) {
    uint32_t number = m->now.steps[i] % LEFT_UNIT, left = m->now.steps[i] / LEFT_UNIT;
    const leat_pattern_step_t* step = &m->pattern->steps[number];
    const int64_t* places = m->now.places + i * m->slot_count;
    if (step->op == LEAT_PATTERN_MATCH) {
      if (whole && !at_end) continue;
      memcpy(out_at, places, m->slot_count * sizeof *places);
      return true;
    }
    if (at_end) continue;
    if (left) {
      left -= 1;
    } else if (step->op == LEAT_PATTERN_READ) {
      if (!has_rune(m->pattern, step, here.rune)) continue;
      left = (uint32_t)(here.size - here.pace);
    }
    if (left) {
      pass_over(m, number, left, places);
    } else {
      memcpy(m->places, places, m->slot_count * sizeof *places);
      add_way(m, &m->next, number + 1, at + here.pace);
    }
  }
  return false;
}

// The first place at |at| or behind where a match can begin. It looks no further than 64 KiB, so
// that the search asks in time whether its step is over.
static size_t skip(const leat_pattern_t* pattern, leat_string_view_t text, size_t at) {
  size_t end = text.size - at > 1 << 16 ? at + (1 << 16) : text.size;
  while (at < end && !pattern->first[(unsigned char)text.data[at]]) ++at;
  return at;
}

static leat_status_t search(leat_pattern_matcher_t* m, leat_string_view_t text, size_t from,
                            bool whole, int64_t* out_at, bool* out_found) {
  bool found = false;
  m->text = text;
  m->now.count = 0;
  m->list += 1;
  for (size_t at = from;;) {
    size_t begin = at;
    if (m->now.count == 0 && !whole && m->pattern->has_first) at = skip(m->pattern, text, at);
    // A match that begins here is worse than those of the ways that began before.
    if (!found && (at == from || !whole)) {
      memset(m->places, -1, m->slot_count * sizeof *m->places);
      add_way(m, &m->now, 0, at);
    }
    here_t here = {LEAT_PATTERN_NO_CHARACTER, 0, 0};
    if (at < text.size) here.size = leat_pattern_character(text, at, &here.rune);
    here.pace = m->pattern->by_bytes && here.size ? 1 : here.size;
    size_t steps = m->now.count;
    if (advance(m, at, here, whole, out_at)) found = true;
    if (here.size == 0 || (m->next.count == 0 && (found || whole))) {
      *out_found = found;
      return leat_ok_status();
    }
    // A way costs some 10 ns, and as much for each step to the next character.
    if (m->pace) {
      LEAT_RETURN_IF_ERROR(leat_step_pace_count(
          m->pace, 5 + (double)(at - begin) + 20 * (double)(steps + m->next.count)));
    }
    ways_t swapped = m->now;
    m->now = m->next;
    m->next = swapped;
    at += here.pace;
  }
}

leat_status_t leat_pattern_matches(leat_pattern_matcher_t* m, leat_string_view_t text,
                                   bool* out_found) {
  int64_t unused[2 * LEAT_PATTERN_GROUPS];
  return search(m, text, 0, true, unused, out_found);
}

leat_status_t leat_pattern_find(leat_pattern_matcher_t* m, leat_string_view_t text, size_t from,
                                int64_t* out_at, bool* out_found) {
  return search(m, text, from, false, out_at, out_found);
}

leat_status_t leat_pattern_matcher_create(const leat_pattern_t* pattern, int group_count,
                                          leat_step_pace_t* pace,
                                          leat_pattern_matcher_t** out_matcher) {
  leat_allocator_t* memory = leat_allocator_system();
  size_t count = pattern->step_count, slot_count = 2 * (size_t)group_count;
  size_t way_count = pattern->by_bytes ? (1 + MAX_LEFT) * count : count;
  leat_pattern_matcher_t* m;
  *out_matcher = NULL;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(memory, 1, &m));
  m->pattern = pattern;
  m->pace = pace;
  m->slot_count = slot_count;
  leat_status_t status = LEAT_ALLOCATE(memory, way_count, &m->seen);
  if (!status) status = LEAT_ALLOCATE(memory, way_count, &m->now.steps);
  if (!status) status = LEAT_ALLOCATE(memory, way_count * slot_count, &m->now.places);
  if (!status) status = LEAT_ALLOCATE(memory, way_count, &m->next.steps);
  if (!status) status = LEAT_ALLOCATE(memory, way_count * slot_count, &m->next.places);
  if (!status) status = LEAT_ALLOCATE(memory, slot_count, &m->places);
  // A step is followed once for each list, and leaves at most two entries on the stack.
  if (!status) status = LEAT_ALLOCATE(memory, 2 * count + 1, &m->stack);
  if (!status) status = LEAT_ALLOCATE(memory, count, &m->saved);
  if (status) {
    leat_pattern_matcher_free(m);
  } else {
    *out_matcher = m;
  }
  return status;
}

void leat_pattern_matcher_free(leat_pattern_matcher_t* m) {
  if (!m) return;
  void* const arrays[] = {m->seen,        m->now.steps, m->now.places, m->next.steps,
                          m->next.places, m->places,    m->stack,      m->saved};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; ++i) {
    leat_allocator_free(leat_allocator_system(), arrays[i]);
  }
  leat_allocator_free(leat_allocator_system(), m);
}
