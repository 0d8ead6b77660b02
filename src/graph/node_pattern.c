// A direct-mapped table of small numbers leads to patterns that lie, with their bytes, in the order
// in which they came: all of it stays in the processor's cache, which the file does not. A pattern
// that is lost costs the time to resolve a node. Bytes decide; the hash only says where to look.
#include "graph/node_pattern.h"

#include "base/checked.h"

#define MIN_NODES 32  // fewer repeat themselves too little
#define MAX_PATTERNS 4096
#define PLACES 8192  // a power of two
#define MAX_BYTES 1024
#define USUAL_BYTES 32

leat_status_t leat_node_patterns_initialize(leat_allocator_t* allocator, size_t node_count,
                                            leat_node_patterns_t* out_patterns) {
  *out_patterns = (leat_node_patterns_t){.allocator = allocator};
  leat_arena_initialize(allocator, 0, &out_patterns->arena);
  if (node_count < MIN_NODES) return leat_ok_status();
  leat_arena_expect(&out_patterns->arena, LEAT_MIN(node_count, (size_t)MAX_PATTERNS) * USUAL_BYTES);
  void* memory = NULL;
  size_t most = LEAT_MIN(node_count, (size_t)MAX_PATTERNS);
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_uninitialized(
      allocator, _Alignof(leat_node_pattern_t), most * sizeof(leat_node_pattern_t), &memory));
  out_patterns->items = memory;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(allocator, PLACES * sizeof(uint16_t), &memory));
  out_patterns->places = memory;
  return leat_ok_status();
}

void leat_node_patterns_deinitialize(leat_node_patterns_t* patterns) {
  if (!patterns->allocator) return;
  leat_allocator_free(patterns->allocator, patterns->items);
  leat_allocator_free(patterns->allocator, patterns->places);
  leat_arena_deinitialize(&patterns->arena);
}

// What is longer is seldom there twice.
static inline bool is_short(const leat_node_writing_t* writing) {
  return writing->before.size + writing->after.size <= MAX_BYTES;
}

static inline bool is_written_so(const leat_node_pattern_t* pattern,
                                 const leat_node_writing_t* writing) {
  if (pattern->before_bytes != writing->before.size ||
      pattern->after_bytes != writing->after.size || pattern->has_class != writing->has_class) {
    return false;
  }
  const char* after = pattern->bytes + pattern->before_bytes;
  return memcmp(pattern->bytes, writing->before.data, writing->before.size) == 0 &&
         (!writing->after.size || !memcmp(after, writing->after.data, writing->after.size)) &&
         leat_string_view_equal(pattern->op->name, writing->op);
}

const leat_node_pattern_t* leat_node_patterns_find(const leat_node_patterns_t* patterns,
                                                   const leat_node_writing_t* writing,
                                                   uint32_t* out_place) {
  *out_place = 0;
  if (!is_short(writing) || !patterns->places) return NULL;
  uint64_t hash = leat_hash_mix(leat_string_view_hash(writing->before),
                                (writing->op.size << 1) + writing->has_class);
  if (writing->after.size) hash ^= leat_string_view_hash(writing->after);
  *out_place = hash % PLACES;
  size_t item = patterns->places[*out_place];
  if (item == 0) return NULL;
  const leat_node_pattern_t* pattern = &patterns->items[item - 1];
  return is_written_so(pattern, writing) ? pattern : NULL;
}

static leat_status_t copy_bytes(leat_node_patterns_t* patterns, const leat_node_writing_t* writing,
                                const char** out_bytes) {
  size_t before = writing->before.size, after = writing->after.size;
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate(&patterns->arena, before + after, &memory));
  if (before) memcpy(memory, writing->before.data, before);
  if (after) memcpy((char*)memory + before, writing->after.data, after);
  *out_bytes = memory;
  return leat_ok_status();
}

leat_status_t leat_node_patterns_add(leat_node_patterns_t* patterns,
                                     const leat_node_writing_t* writing, uint32_t place,
                                     const leat_op_t* op, int32_t node, bool claims_shapes) {
  if (!is_short(writing) || !patterns->places || patterns->count == MAX_PATTERNS) {
    return leat_ok_status();
  }
  leat_node_pattern_t pattern = {
      .op = op,
      .before_bytes = (uint16_t)writing->before.size,
      .after_bytes = (uint16_t)writing->after.size,
      .has_class = writing->has_class,
      .claims_shapes = claims_shapes,
      .node = node,
  };
  LEAT_RETURN_IF_ERROR(copy_bytes(patterns, writing, &pattern.bytes));
  patterns->items[patterns->count++] = pattern;
  patterns->places[place] = (uint16_t)patterns->count;
  return leat_ok_status();
}
