// The interface of lookup tables. All kinds of tables are one kind of resource, so that one set of
// kernels (table_access_cpu.c) serves them: it finds a table, checks types and shapes against it,
// and calls its vtable. There are three kinds: a static hash table, which is filled once, a mutable
// one (hash_table_cpu.c), and a dense one with open addressing in tensors (dense_table_cpu.c).
//
//   keys [..., key shape]  ─find─▶  values [..., value shape]
//
// A table is reference-counted; its functions may be called from any thread, and wait only for the
// table's mutex.
#ifndef LEAT_OPS_LOOKUP_TABLE_CPU_H_
#define LEAT_OPS_LOOKUP_TABLE_CPU_H_

#include "kernel/handle.h"
#include "kernel/kernel.h"
#include "kernel/resource.h"

typedef struct leat_lookup_s leat_lookup_t;

// The functions of a kind of table. The caller has checked the types and shapes of keys and values.
// A table that does not support a call returns UNIMPLEMENTED; a static table that was not filled
// yet returns FAILED_PRECONDITION from |find|.
typedef struct leat_lookup_vtable_s {
  // Frees the table with its memory; the base's shapes were released before.
  void (*destroy)(leat_lookup_t* self);
  // |out_values| has a row for each key. |fallback| has one row, or one for each key; only mutable
  // tables look at more than the first.
  leat_status_t (*find)(leat_lookup_t* self, const leat_tensor_t* keys,
                        const leat_tensor_t* fallback, leat_tensor_t* out_values);
  // Adds the rows of |keys|, or replaces those that are there. When it fails, some may be in.
  leat_status_t (*insert)(leat_lookup_t* self, const leat_tensor_t* keys,
                          const leat_tensor_t* values);
  // Removes the rows of |keys|; keys that are not there are passed over.
  leat_status_t (*remove)(leat_lookup_t* self, const leat_tensor_t* keys);
  // Replaces the content by what an export gave; fills a static table for the first time.
  leat_status_t (*import)(leat_lookup_t* self, const leat_tensor_t* keys,
                          const leat_tensor_t* values);
  // Makes tensors of all keys and values from |memory|. The caller releases both, also after a
  // failure.
  leat_status_t (*export)(leat_lookup_t* self, leat_buffer_source_t* memory,
                          leat_tensor_t* out_keys, leat_tensor_t* out_values);
  // The number of keys now.
  int64_t (*size)(leat_lookup_t* self);
  bool fills_once;      // the ops InitializeTable... accept the table
  bool imports_matrix;  // imported keys and values are matrices: [buckets, size of one]
} leat_lookup_vtable_t;

// The base with which the struct of every kind begins. It does not change after creation.
struct leat_lookup_s {
  leat_resource_t resource;  // kind leat_lookup_kind
  const leat_lookup_vtable_t* vtable;
  int key_dtype;
  int value_dtype;
  leat_shape_t key_shape;
  leat_shape_t value_shape;
};
extern const leat_resource_kind_t leat_lookup_kind;

// Initializes the base of a table, whose memory must be zero, with one reference. The shapes are
// retained; the caller keeps its own.
void leat_lookup_initialize(const leat_lookup_vtable_t* vtable, int key_dtype, int value_dtype,
                            const leat_shape_t* key_shape, const leat_shape_t* value_shape,
                            leat_lookup_t* out_table);
// Finds the table that input 0 names; the caller releases |*out_table|.
LEAT_MUST_USE leat_status_t leat_lookup_find(leat_kernel_context_t* c, leat_lookup_t** out_table);
// INVALID_ARGUMENT unless |keys| have the table's type and their shape ends with its key shape.
LEAT_MUST_USE leat_status_t leat_lookup_check_keys(const leat_kernel_context_t* c,
                                                   const leat_lookup_t* table,
                                                   const leat_tensor_t* keys);
// Returns the shape of the values for |keys|: the key shape at its end is replaced by the value
// shape. The caller releases it. INVALID_ARGUMENT for more dimensions than a shape can have.
LEAT_MUST_USE leat_status_t leat_lookup_values_shape(const leat_lookup_t* table,
                                                     const leat_shape_t* keys,
                                                     leat_shape_t* out_shape);
// INVALID_ARGUMENT unless keys and values have the table's types and |values| has a row for each
// key. |is_import| says that the rows are to be imported, which have another shape where the table
// |imports_matrix|.
LEAT_MUST_USE leat_status_t leat_lookup_check_rows(const leat_kernel_context_t* c,
                                                   const leat_lookup_t* table,
                                                   const leat_tensor_t* keys,
                                                   const leat_tensor_t* values, bool is_import);

// ---- The tables ---------------------------------------------------------------------------------

// A table that is filled once and then read without a lock. Keys and values are scalars.
LEAT_MUST_USE leat_status_t leat_static_table_create(int key_dtype, int value_dtype,
                                                     leat_lookup_t** out_table);
// Fills a static table. |next| sets a batch of keys and as many values, which it owns and which
// live until its next call, or ends with |*out_end|. |total| is the number of pairs that it is
// going to give: a table that was filled before must have that many rows, otherwise
// FAILED_PRECONDITION.
typedef leat_status_t (*leat_lookup_next_fn_t)(void* data, const leat_tensor_t** out_key,
                                               const leat_tensor_t** out_value, bool* out_end);
LEAT_MUST_USE leat_status_t leat_static_table_fill(leat_lookup_t* table, int64_t total,
                                                   leat_lookup_next_fn_t next, void* data);
// Whether a static table was filled; true means that all rows can be read without a lock.
bool leat_static_table_is_filled(leat_lookup_t* table);
// A table that can change; its values have |value_shape|.
LEAT_MUST_USE leat_status_t leat_mutable_table_create(int key_dtype, int value_dtype,
                                                      const leat_shape_t* value_shape,
                                                      leat_lookup_t** out_table);
// Describes a dense table. The keys are copied; |deleted_key| may be NULL, and then nothing can be
// removed. |bucket_count| is a power of two, at least 4.
typedef struct leat_dense_options_s {
  const leat_tensor_t* empty_key;
  const leat_tensor_t* deleted_key;
  int value_dtype;
  leat_shape_t value_shape;
  int64_t bucket_count;
  float max_load_factor;
} leat_dense_options_t;
LEAT_MUST_USE leat_status_t leat_dense_table_create(const leat_dense_options_t* options,
                                                    leat_lookup_t** out_table);
// How many buckets the searches of a dense table have looked at since it was made: what its tests
// measure it by.
int64_t leat_dense_table_probe_count(leat_lookup_t* table);

#endif  // LEAT_OPS_LOOKUP_TABLE_CPU_H_
