// What the nodes of a graph point into, and what inference remembers. Reference counted: a child
// graph keeps its parent's storage alive.
#ifndef LEAT_GRAPH_STORAGE_H_
#define LEAT_GRAPH_STORAGE_H_

#include "base/sync.h"
#include "graph/graph.h"

typedef struct leat_kept_tensor_s {
  struct leat_kept_tensor_s* next;
  leat_tensor_t tensor;
} leat_kept_tensor_t;

typedef struct leat_kept_bytes_s {
  struct leat_kept_bytes_s* next;
  void* data;
} leat_kept_bytes_t;

#define LEAT_KEPT_ATTRS 64

typedef struct leat_kept_attrs_s {
  leat_attr_t* attrs;
  int count;
} leat_kept_attrs_t;

struct leat_graph_storage_s {
  leat_reference_count_t references;
  leat_allocator_t* allocator;
  leat_graph_storage_t* parent;  // retained
  leat_arena_t arena;
  char* text_next;  // short texts lie close together: a part of the arena
  char* text_end;
  leat_string_view_t last_device;
  leat_string_view_t last_attr_name;  // of those that ops do not declare
  leat_kept_attrs_t last_attrs[LEAT_KEPT_ATTRS];  // by op: of nodes added last, for those like them
  leat_kept_tensor_t* tensors;
  leat_kept_bytes_t* bytes;
  leat_string_map_t suffixes;    // base name -> last suffix tried
  leat_word_map_t values;        // output -> leat_partial_value_t*, see inference_value.c
  leat_word_map_t referents;     // output -> leat_partial_value_t*, as callers set them
  int value_budget;              // steps left in the walk for values that is going on
  struct leat_function_library_s* functions;  // owned here when made here
};

LEAT_MUST_USE leat_status_t leat_graph_storage_create(leat_allocator_t* allocator,
                                                      leat_graph_storage_t* parent,
                                                      leat_graph_storage_t** out_storage);
void leat_graph_storage_release(leat_graph_storage_t* storage);  // NULL is allowed

// Shares |tensor| for as long as the storage lives.
LEAT_MUST_USE leat_status_t leat_graph_storage_keep_tensor(leat_graph_storage_t* storage,
                                                           const leat_tensor_t* tensor,
                                                           const leat_tensor_t** out_tensor);
// Takes |tensor| over; also on failure.
LEAT_MUST_USE leat_status_t leat_graph_storage_keep_tensor_move(leat_graph_storage_t* storage,
                                                                leat_tensor_t* tensor,
                                                                const leat_tensor_t** out_tensor);
// Frees |data| (of the storage's allocator) with the storage; also on failure.
LEAT_MUST_USE leat_status_t leat_graph_storage_keep_bytes(leat_graph_storage_t* storage,
                                                          void* data);
LEAT_MUST_USE leat_status_t leat_graph_storage_copy_value(leat_graph_storage_t* storage,
                                                          const leat_attr_value_t* value,
                                                          leat_attr_value_t* out_value);

// A copy of |text|, NUL-terminated, at any address.
LEAT_MUST_USE leat_status_t leat_graph_storage_copy_text(leat_graph_storage_t* storage,
                                                         leat_string_view_t text,
                                                         leat_string_view_t* out_text);
// The same in hot code, without a call where there is room.
LEAT_MUST_USE static inline leat_status_t leat_graph_storage_take_text(
    leat_graph_storage_t* storage, leat_string_view_t text, leat_string_view_t* out_text) {
  if (LEAT_UNLIKELY((size_t)(storage->text_end - storage->text_next) <= text.size)) {
    return leat_graph_storage_copy_text(storage, text, out_text);
  }
  *out_text = leat_string_view_make(storage->text_next, text.size);
  memcpy(storage->text_next, text.data, text.size);
  storage->text_next += text.size + 1;  // the NUL is there already
  return leat_ok_status();
}
// The same for devices, of which one copy serves the nodes that follow each other.
LEAT_MUST_USE leat_status_t leat_graph_storage_copy_device(leat_graph_storage_t* storage,
                                                           leat_string_view_t device,
                                                           leat_string_view_t* out_device);

// The same for names of attributes that ops do not declare.
LEAT_MUST_USE leat_status_t leat_graph_storage_copy_attr_name(leat_graph_storage_t* storage,
                                                              leat_string_view_t name,
                                                              leat_string_view_t* out_name);

// A power of two >= |count|: the room that an edge list of |count| has.
static inline size_t leat_edge_capacity(size_t count) {
  return count < 2 ? count : (size_t)1 << (64 - __builtin_clzll(count - 1));
}

#endif  // LEAT_GRAPH_STORAGE_H_
