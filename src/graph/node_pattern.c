// Direct-mapped and of bounded size: a pattern that is lost costs the time to resolve a node, and
// no more than that. Bytes decide; the hash only says where to look.
#include "graph/node_pattern.h"

#include "base/pages.h"

#define MIN_NODES 32  // fewer repeat themselves too little
#define MAX_PATTERNS 4096
#define MAX_BYTES 1024  // what is longer is seldom there twice

leat_status_t leat_node_patterns_initialize(leat_allocator_t* allocator, size_t node_count,
                                            leat_node_patterns_t* out_patterns) {
  *out_patterns = (leat_node_patterns_t){.allocator = allocator};
  leat_arena_initialize(allocator, 8192, &out_patterns->arena);
  if (node_count < MIN_NODES) return leat_ok_status();
  size_t capacity = MIN_NODES;
  while (capacity < MAX_PATTERNS && capacity < node_count / 2) capacity *= 2;
  void* items = NULL;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(allocator, capacity,
                                                     sizeof(leat_node_pattern_t), &items));
  leat_pages_advise(items, capacity * sizeof(leat_node_pattern_t), LEAT_PAGES_PRESENT);
  out_patterns->items = items;
  out_patterns->capacity = capacity;
  return leat_ok_status();
}

void leat_node_patterns_deinitialize(leat_node_patterns_t* patterns) {
  if (!patterns->allocator) return;
  leat_allocator_free(patterns->allocator, patterns->items);
  leat_arena_deinitialize(&patterns->arena);
}

static inline bool is_written_so(const leat_node_pattern_t* pattern,
                                 const leat_node_writing_t* writing) {
  return pattern->op && pattern->before_bytes == writing->before.size &&
         pattern->after_bytes == writing->after.size && pattern->has_class == writing->has_class &&
         memcmp(pattern->before, writing->before.data, writing->before.size) == 0 &&
         memcmp(pattern->after, writing->after.data, writing->after.size) == 0 &&
         leat_string_view_equal(pattern->op->name, writing->op);
}

leat_node_pattern_t* leat_node_patterns_find(const leat_node_patterns_t* patterns,
                                             const leat_node_writing_t* writing, bool* out_known) {
  *out_known = false;
  if (!patterns->capacity || writing->before.size + writing->after.size > MAX_BYTES) return NULL;
  uint64_t hash = leat_hash_mix(leat_string_view_hash(writing->before),
                                (writing->op.size << 1) + writing->has_class);
  if (writing->after.size) hash ^= leat_string_view_hash(writing->after);
  leat_node_pattern_t* pattern = &patterns->items[hash & (patterns->capacity - 1)];
  *out_known = is_written_so(pattern, writing);
  return pattern;
}

leat_status_t leat_node_pattern_learn(leat_node_patterns_t* patterns, const leat_node_writing_t* writing, const leat_graph_t* graph,
                             int32_t node, bool claims_shapes, leat_node_pattern_t* pattern) {
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate(&patterns->arena, writing->before.size + writing->after.size, &memory));
  if (writing->before.size) memcpy(memory, writing->before.data, writing->before.size);
  if (writing->after.size) memcpy((char*)memory + writing->before.size, writing->after.data, writing->after.size);
  *pattern = (leat_node_pattern_t){
      .op = graph->nodes[node].op,
      .before = memory,
      .after = (char*)memory + writing->before.size,
      .before_bytes = (uint16_t)writing->before.size,
      .after_bytes = (uint16_t)writing->after.size,
      .has_class = writing->has_class,
      .claims_shapes = claims_shapes,
      .node = node,
  };
  return leat_ok_status();
}
