// The storage of a graph: the arena that its nodes point into, the tensors that attributes share,
// and the caches of building and inference. It is separate from leat_graph_t because it outlives
// it: a graph that is made from another one (pruned, optimized, partitioned) points into the other
// one's storage and retains it, and the first graph may be freed meanwhile.
//
//   graph --> storage <--parent-- storage <-- child graph
//             (names, attributes, tensors: written only by the graph that made it)
//
// A storage has no lock; the graph that owns it serialises its changes. It is freed with the last
// graph that points into it.
#ifndef LEAT_GRAPH_STORAGE_H_
#define LEAT_GRAPH_STORAGE_H_

#include "base/sync.h"
#include "graph/graph.h"

// A tensor that is released with the storage. The items of the list lie in the arena.
typedef struct leat_kept_tensor_s {
  struct leat_kept_tensor_s* next;
  leat_tensor_t tensor;
} leat_kept_tensor_t;

// The number of ops whose last attribute array is remembered, in a direct-mapped table.
#define LEAT_KEPT_ATTRS 64

// The attribute array of the node of an op that was added last. The next node of that op shares it
// if its attributes are equal, so that a graph of a thousand equal nodes has one array.
typedef struct leat_kept_attrs_s {
  leat_attr_t* attrs;
  int count;
} leat_kept_attrs_t;

typedef struct leat_source_lines_s leat_source_lines_t;
void leat_source_lines_free(leat_source_lines_t* lines);  // NULL is allowed

// The storage. Other rooms allocate from |arena| what shall live as long as the graph, and call the
// functions below; the other fields are for the files of src/graph/.
struct leat_graph_storage_s {
  leat_reference_count_t references;
  leat_allocator_t* allocator;
  leat_graph_storage_t* parent;  // retained; NULL for a graph that was made from none
  leat_arena_t arena;
  // The rest of the current chunk of short texts: by themselves they would be padded to 16 bytes.
  char* text_next;
  char* text_end;
  leat_string_view_t last_device;     // the last one copied: nodes in a row share it
  leat_string_view_t last_attr_name;  // the same for names of attributes that no op declares
  leat_kept_attrs_t last_attrs[LEAT_KEPT_ATTRS];  // by a hash of the op
  leat_kept_tensor_t* tensors;
  leat_string_map_t suffixes;    // base name -> last suffix that leat_graph_unique_name tried
  leat_word_map_t values;        // output -> leat_partial_value_t*: cache of graph/inference/
  leat_word_map_t referents;     // output -> leat_partial_value_t*: leat_graph_set_referents
  int value_budget;              // steps that the current walk of graph/inference/ may still take
  struct leat_function_library_s* functions;  // the graph's, if it has one that is not its parent's
  // graph/source_line.h; NULL: none were told. Whoever runs a graph that was made from this one may
  // look while this one grows.
  _Atomic(leat_source_lines_t*) source_lines;
};

// Creates a storage with one reference. |parent| is retained and may be NULL. RESOURCE_EXHAUSTED
// without memory, as all functions here that allocate.
LEAT_MUST_USE leat_status_t leat_graph_storage_create(leat_allocator_t* allocator,
                                                      leat_graph_storage_t* parent,
                                                      leat_graph_storage_t** out_storage);
// Gives up a reference, on any thread. With the last one the tensors are released and all memory is
// freed; then the parent's reference is given up. NULL is allowed.
void leat_graph_storage_release(leat_graph_storage_t* storage);

// Shares |tensor| for as long as the storage lives; |*out_tensor| is borrowed from the storage,
// which holds a reference to the tensor's buffer. Attributes and constants point to such tensors.
LEAT_MUST_USE leat_status_t leat_graph_storage_keep_tensor(leat_graph_storage_t* storage,
                                                           const leat_tensor_t* tensor,
                                                           const leat_tensor_t** out_tensor);
// Does the same and consumes |tensor|, on failure too.
LEAT_MUST_USE leat_status_t leat_graph_storage_keep_tensor_move(leat_graph_storage_t* storage,
                                                                leat_tensor_t* tensor,
                                                                const leat_tensor_t** out_tensor);
// Copies an attribute's value with all that it points to; tensors are shared. INVALID_ARGUMENT when
// functions in attributes of functions nest too deeply.
LEAT_MUST_USE leat_status_t leat_graph_storage_copy_value(leat_graph_storage_t* storage,
                                                          const leat_attr_value_t* value,
                                                          leat_attr_value_t* out_value);

// Copies |text| with a final NUL, which the copy's size does not count. The copy has no alignment,
// and lives as long as the storage.
LEAT_MUST_USE leat_status_t leat_graph_storage_copy_text(leat_graph_storage_t* storage,
                                                         leat_string_view_t text,
                                                         leat_string_view_t* out_text);
// Copies a text inline, for import, which copies several texts a node: nothing is called where the
// current chunk has room.
LEAT_MUST_USE static inline leat_status_t leat_graph_storage_take_text(
    leat_graph_storage_t* storage, leat_string_view_t text, leat_string_view_t* out_text) {
  if (LEAT_UNLIKELY((size_t)(storage->text_end - storage->text_next) <= text.size)) {
    return leat_graph_storage_copy_text(storage, text, out_text);
  }
  *out_text = leat_string_view_make(storage->text_next, text.size);
  memcpy(storage->text_next, text.data, text.size);
  storage->text_next += text.size + 1;  // arenas are zeroed: the NUL is there already
  return leat_ok_status();
}
// Copies a device name, or gives the last copy if that is equal. "" needs no copy.
LEAT_MUST_USE leat_status_t leat_graph_storage_copy_device(leat_graph_storage_t* storage,
                                                           leat_string_view_t device,
                                                           leat_string_view_t* out_device);

// Copies the name of an attribute that no op declares, or gives the last copy if that is equal.
// Nodes that follow each other with the same attribute share a copy. "" needs no copy.
LEAT_MUST_USE leat_status_t leat_graph_storage_copy_attr_name(leat_graph_storage_t* storage,
                                                              leat_string_view_t name,
                                                              leat_string_view_t* out_name);

// The room that an edge list of |count| edges has: 0, or the smallest power of two that is not
// below |count|. The capacity need not be stored, because it follows from the count: a list is
// moved to a larger room whenever a count that is a power of two is exceeded.
static inline size_t leat_edge_capacity(size_t count) {
  return count < 2 ? count : (size_t)1 << (64 - __builtin_clzll(count - 1));
}

#endif  // LEAT_GRAPH_STORAGE_H_
