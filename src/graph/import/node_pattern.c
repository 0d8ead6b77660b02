// A direct-mapped table of 16-bit numbers leads to patterns that lie in the order in which they
// came. Both stay in the processor's cache during an import, and so do those bytes of the file that
// many nodes repeat. There are two tables: one by a glance, for nodes whose attributes have not
// even been split, and one by the hash of all bytes. A hit in either is only a hint; the bytes are
// compared and decide. A pattern that loses its place to another costs no more than resolving the
// next node like it.
#include "graph/import/node_pattern.h"

#include "base/checked.h"

#define MIN_NODES 32       // smaller files repeat themselves too little
#define MAX_PATTERNS 3072  // kept at most; a number must fit 16 bits
#define PLACES 8192        // of the table by hash; a power of two
#define MAX_BYTES 1024     // of attributes; longer ones seldom repeat

leat_status_t leat_node_patterns_initialize(leat_allocator_t* allocator, size_t node_count,
                                            leat_node_patterns_t* out_patterns) {
  *out_patterns = (leat_node_patterns_t){.allocator = allocator};
  if (node_count < MIN_NODES) return leat_ok_status();
  void* memory = NULL;
  size_t most = LEAT_MIN(node_count, (size_t)MAX_PATTERNS);
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_uninitialized(
      allocator, _Alignof(leat_node_pattern_t), most * sizeof(leat_node_pattern_t), &memory));
  out_patterns->items = memory;
  size_t bytes = (PLACES + LEAT_NODE_PATTERN_GUESSES) * sizeof(uint16_t);
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(allocator, bytes, &memory));
  out_patterns->places = memory;
  out_patterns->guesses = out_patterns->places + PLACES;
  out_patterns->capacity = most;
  return leat_ok_status();
}

void leat_node_patterns_deinitialize(leat_node_patterns_t* patterns) {
  if (!patterns->allocator) return;
  leat_allocator_free(patterns->allocator, patterns->items);
  leat_allocator_free(patterns->allocator, patterns->places);
}

static inline bool is_short(const leat_node_writing_t* writing) {
  return writing->before.size + writing->after.size <= MAX_BYTES;
}

bool leat_node_pattern_matches(const leat_node_pattern_t* pattern,
                               const leat_node_writing_t* writing) {
  if (pattern->before_bytes != writing->before.size ||
      pattern->after_bytes != writing->after.size || pattern->has_class != writing->has_class) {
    return false;
  }
  return memcmp(pattern->before, writing->before.data, writing->before.size) == 0 &&
         (!writing->after.size ||
          memcmp(pattern->after, writing->after.data, writing->after.size) == 0) &&
         leat_string_view_equal(pattern->op->name, writing->op);
}

const leat_node_pattern_t* leat_node_patterns_find(leat_node_patterns_t* patterns,
                                                   const leat_node_writing_t* writing,
                                                   uint32_t* out_place) {
  *out_place = 0;
  if (!is_short(writing) || !patterns->places) return NULL;
  uint64_t hash = leat_hash_mix(leat_string_view_hash(writing->before),
                                leat_node_patterns_op_word(writing->op) << 1 | writing->has_class);
  if (writing->after.size) hash ^= leat_string_view_hash(writing->after);
  *out_place = hash % PLACES;
  size_t item = patterns->places[*out_place];
  if (item == 0) return NULL;
  const leat_node_pattern_t* pattern = &patterns->items[item - 1];
  if (!leat_node_pattern_matches(pattern, writing)) return NULL;
  patterns->guesses[writing->glance] = (uint16_t)item;
  return pattern;
}

void leat_node_patterns_add(leat_node_patterns_t* patterns, const leat_node_writing_t* writing,
                            uint32_t place, const leat_op_t* op, int32_t node, bool claims_shapes) {
  if (!is_short(writing) || patterns->count == patterns->capacity) return;
  patterns->items[patterns->count++] = (leat_node_pattern_t){
      .op = op,
      .before = writing->before.data,
      .after = writing->after.data,
      .before_bytes = (uint16_t)writing->before.size,
      .after_bytes = (uint16_t)writing->after.size,
      .has_class = writing->has_class,
      .claims_shapes = claims_shapes,
      .node = node,
  };
  patterns->places[place] = patterns->guesses[writing->glance] = (uint16_t)patterns->count;
}
