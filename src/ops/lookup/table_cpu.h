// Tables as resources: one kind, whatever is inside.
#ifndef LEAT_OPS_LOOKUP_TABLE_CPU_H_
#define LEAT_OPS_LOOKUP_TABLE_CPU_H_

#include "kernel/handle.h"
#include "kernel/kernel.h"
#include "kernel/resource.h"

typedef struct leat_lookup_s leat_lookup_t;

// Types and shapes of keys and values were checked. All are thread-safe.
typedef struct leat_lookup_vtable_s {
  void (*destroy)(leat_lookup_t* self);
  // |out_values| has a row for each key; |fallback| one row, or one for each key (only tables that
  // change look at more than the first).
  leat_status_t (*find)(leat_lookup_t* self, const leat_tensor_t* keys,
                        const leat_tensor_t* fallback, leat_tensor_t* out_values);
  leat_status_t (*insert)(leat_lookup_t* self, const leat_tensor_t* keys,
                          const leat_tensor_t* values);
  leat_status_t (*remove)(leat_lookup_t* self, const leat_tensor_t* keys);
  // The table becomes what was exported, or is filled for the first time.
  leat_status_t (*import)(leat_lookup_t* self, const leat_tensor_t* keys,
                          const leat_tensor_t* values);
  leat_status_t (*export)(leat_lookup_t* self, leat_buffer_source_t* memory,
                          leat_tensor_t* out_keys, leat_tensor_t* out_values);
  int64_t (*size)(leat_lookup_t* self);
  bool fills_once;      // InitializeTable takes it
  bool imports_matrix;  // an import's keys and values have a dimension for key and value
} leat_lookup_vtable_t;

struct leat_lookup_s {
  leat_resource_t resource;  // kind leat_lookup_kind
  const leat_lookup_vtable_t* vtable;
  int key_dtype;
  int value_dtype;
  leat_shape_t key_shape;
  leat_shape_t value_shape;
};
extern const leat_resource_kind_t leat_lookup_kind;

// Initializes the base of a table, zeroed before; shapes are copied.
void leat_lookup_initialize(const leat_lookup_vtable_t* vtable, int key_dtype, int value_dtype,
                           const leat_shape_t* key_shape, const leat_shape_t* value_shape,
                           leat_lookup_t* out_table);
// The table that input 0 names, retained.
LEAT_MUST_USE leat_status_t leat_lookup_find(leat_kernel_context_t* c, leat_lookup_t** out_table);
// INVALID_ARGUMENT unless keys have the table's type and end with its key shape.
LEAT_MUST_USE leat_status_t leat_lookup_check_keys(const leat_kernel_context_t* c,
                                                  const leat_lookup_t* table,
                                                  const leat_tensor_t* keys);
// The shape of a value for each of |keys|.
LEAT_MUST_USE leat_status_t leat_lookup_values_shape(const leat_lookup_t* table,
                                                    const leat_shape_t* keys,
                                                    leat_shape_t* out_shape);
// INVALID_ARGUMENT unless keys and values have the table's types and |values| a row for each key.
LEAT_MUST_USE leat_status_t leat_lookup_check_rows(const leat_kernel_context_t* c,
                                                  const leat_lookup_t* table,
                                                  const leat_tensor_t* keys,
                                                  const leat_tensor_t* values, bool is_import);

// ---- The tables ---------------------------------------------------------------------------------

// Filled once, then read without a lock.
LEAT_MUST_USE leat_status_t leat_static_table_create(int key_dtype, int value_dtype,
                                                     leat_lookup_t** out_table);
// Fills a static table row by row: |next| sets one key and one value (scalars that it owns) or ends
// with |*out_end|. |total| is how many there will be: a table that was filled before must have as
// many (FAILED_PRECONDITION).
typedef leat_status_t (*leat_lookup_next_fn_t)(void* data, const leat_tensor_t** out_key,
                                              const leat_tensor_t** out_value, bool* out_end);
LEAT_MUST_USE leat_status_t leat_static_table_fill(leat_lookup_t* table, int64_t total,
                                                   leat_lookup_next_fn_t next, void* data);
bool leat_static_table_is_filled(leat_lookup_t* table);
LEAT_MUST_USE leat_status_t leat_mutable_table_create(int key_dtype, int value_dtype,
                                                      const leat_shape_t* value_shape,
                                                      leat_lookup_t** out_table);
// |deleted_key| may be NULL: nothing is ever removed.
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

#endif  // LEAT_OPS_LOOKUP_TABLE_CPU_H_
