// CPU kernels of the ops that make lookup tables. A named table is found by container and shared
// name, or made by the first node that runs, so that several sessions or workers share one; the
// types must then be the node's. An anonymous table is made anew by each run, and its handle owns
// it: the table is freed with the last copy of the handle. The makers of the four kinds (static,
// mutable, of vectors, dense) get the kernel's context as their data, because a dense table takes
// its marker keys from the kernel's inputs. The rows at the end list the pairs of key and value
// types that TensorFlow supports.
#include "ops/kernel_rows.h"
#include "ops/lookup/table_cpu.h"

typedef struct table_maker_s {
  leat_handle_t handle;  // unused by the ops of anonymous tables
  int key_dtype;
  int value_dtype;
  leat_shape_t value_shape;
  int64_t bucket_count;
  float max_load_factor;
} table_maker_t;

static leat_status_t types_create(leat_kernel_creation_t* c, void* state) {
  table_maker_t* maker = state;
  maker->value_shape = leat_shape_scalar();
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_type(c, "key_dtype", &maker->key_dtype));
  return leat_kernel_attr_type(c, "value_dtype", &maker->value_dtype);
}

static leat_status_t vectors_create(leat_kernel_creation_t* c, void* state) {
  table_maker_t* maker = state;
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(types_create(c, state));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_shape(c, "value_shape", &shape));
  return leat_partial_shape_to_full(shape, &maker->value_shape);
}

static leat_status_t dense_create(leat_kernel_creation_t* c, void* state) {
  table_maker_t* maker = state;
  LEAT_RETURN_IF_ERROR(vectors_create(c, state));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "initial_num_buckets", &maker->bucket_count));
  return leat_kernel_attr_float(c, "max_load_factor", &maker->max_load_factor);
}

// Finds out the table's name, which may be the node's.
static leat_status_t name_table(leat_kernel_creation_t* c, table_maker_t* maker) {
  bool shares;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "use_node_name_sharing", &shares));
  return leat_handle_initialize(c, &leat_lookup_kind, shares, &maker->handle);
}

static leat_status_t named_types_create(leat_kernel_creation_t* c, void* state) {
  LEAT_RETURN_IF_ERROR(types_create(c, state));
  return name_table(c, state);
}

static leat_status_t named_vectors_create(leat_kernel_creation_t* c, void* state) {
  LEAT_RETURN_IF_ERROR(vectors_create(c, state));
  return name_table(c, state);
}

static leat_status_t named_dense_create(leat_kernel_creation_t* c, void* state) {
  LEAT_RETURN_IF_ERROR(dense_create(c, state));
  return name_table(c, state);
}

static void maker_destroy(void* state) {
  table_maker_t* maker = state;
  leat_shape_release(&maker->value_shape);
  leat_handle_deinitialize(&maker->handle);
}

// ---- Makers of tables ---------------------------------------------------------------------------

static leat_status_t make_static(void* data, leat_resource_t** out_resource) {
  const table_maker_t* maker = leat_kernel_state(data);
  return leat_static_table_create(maker->key_dtype, maker->value_dtype,
                                  (leat_lookup_t**)out_resource);
}

static leat_status_t make_mutable(void* data, leat_resource_t** out_resource) {
  const table_maker_t* maker = leat_kernel_state(data);
  return leat_mutable_table_create(maker->key_dtype, maker->value_dtype, &maker->value_shape,
                                   (leat_lookup_t**)out_resource);
}

static leat_status_t make_of_vectors(void* data, leat_resource_t** out_resource) {
  const table_maker_t* maker = leat_kernel_state(data);
  if (maker->value_shape.rank != 1) {
    return leat_kernel_invalid((leat_kernel_context_t*)data,
                               "Default value must be a vector, got shape %s",
                               LEAT_SHAPE_TEXT(&maker->value_shape));
  }
  return make_mutable(data, out_resource);
}

static leat_status_t make_dense(void* data, leat_resource_t** out_resource) {
  leat_kernel_context_t* c = data;
  const table_maker_t* maker = leat_kernel_state(c);
  leat_dense_options_t options = {
      .empty_key = leat_kernel_input(c, 0),
      .deleted_key = leat_kernel_input_count(c) > 1 ? leat_kernel_input(c, 1) : NULL,
      .value_dtype = maker->value_dtype,
      .value_shape = maker->value_shape,
      .bucket_count = maker->bucket_count,
      .max_load_factor = maker->max_load_factor,
  };
  return leat_dense_table_create(&options, (leat_lookup_t**)out_resource);
}

// ---- Kernels ------------------------------------------------------------------------------------

// Gives out the handle of the named table, which is made where it does not exist yet. Its types
// must be the node's.
static leat_status_t make_named(leat_kernel_context_t* c, leat_resource_make_fn_t make) {
  const table_maker_t* maker = leat_kernel_state(c);
  leat_lookup_t* table;
  LEAT_RETURN_IF_ERROR(leat_handle_find_or_make(c, &maker->handle, &leat_lookup_kind, make, c,
                                                (leat_resource_t**)&table));
  bool fits = table->key_dtype == maker->key_dtype && table->value_dtype == maker->value_dtype;
  leat_status_t status = leat_ok_status();
  if (!fits) {
    status = leat_kernel_invalid(c, "Conflicting key/value dtypes %s->%s with %s-%s for table %.*s",
                                 leat_dtype_name(maker->key_dtype),
                                 leat_dtype_name(maker->value_dtype),
                                 leat_dtype_name(table->key_dtype),
                                 leat_dtype_name(table->value_dtype),
                                 LEAT_SV_ARG(maker->handle.name));
  }
  leat_resource_release(&table->resource);
  if (!status) leat_handle_set_output(c, &maker->handle);
  return status;
}

// Makes a new table, which the handle owns.
static leat_status_t make_anonymous(leat_kernel_context_t* c, leat_resource_make_fn_t make) {
  leat_resource_t* table;
  LEAT_RETURN_IF_ERROR(make(c, &table));
  return leat_handle_own_resource(c, 0, table);
}

#define KERNELS(noun)                                              \
  static leat_status_t noun##__cpu(leat_kernel_context_t* c) {     \
    return make_named(c, make_##noun);                             \
  }                                                                \
  static leat_status_t anonymous_##noun##__cpu(leat_kernel_context_t* c) { \
    return make_anonymous(c, make_##noun);                         \
  }
KERNELS(static)
KERNELS(mutable)
KERNELS(of_vectors)
KERNELS(dense)

// ---- Types --------------------------------------------------------------------------------------

#define PAIR(op_name, key, value, op_create, op_compute)                                        \
  LEAT_CPU_KERNEL(op_name, "key_dtype: " key "; value_dtype: " value, table_maker_t, op_create, \
                  op_compute, .destroy = maker_destroy)
// The value types for each key type that TensorFlow supports.
#define STATIC_PAIRS(op, create, compute)                                                \
  PAIR(op, "int32", "double, float, int32, string", create, compute),                    \
      PAIR(op, "int64", "double, float, int32, int64, string", create, compute),         \
      PAIR(op, "string", "bool, double, float, int32, int64, string", create, compute)
#define MUTABLE_PAIRS(op, more, create, compute)                                         \
  PAIR(op, "int32", "double, float, int32", create, compute),                            \
      PAIR(op, "int64", "double, float, int32, int64, string" more, create, compute),    \
      PAIR(op, "string", "bool, double, float, int32, int64", create, compute)
#define DENSE_PAIRS(op, create, compute)                                                 \
  PAIR(op, "int32", "double, float, int32", create, compute),                            \
      PAIR(op, "int64", "bool, double, float, int32, int64, variant", create, compute),  \
      PAIR(op, "string", "bool, double, float, int32, int64, resource", create, compute)

const leat_kernel_row_t leat_table_handle_kernels_cpu[] = {
    STATIC_PAIRS("HashTable", named_types_create, static__cpu),
    STATIC_PAIRS("HashTableV2", named_types_create, static__cpu),
    STATIC_PAIRS("AnonymousHashTable", types_create, anonymous_static__cpu),
    MUTABLE_PAIRS("MutableHashTable", ", variant", named_types_create, mutable__cpu),
    MUTABLE_PAIRS("MutableHashTableV2", ", variant", named_types_create, mutable__cpu),
    MUTABLE_PAIRS("AnonymousMutableHashTable", ", variant", types_create, anonymous_mutable__cpu),
    MUTABLE_PAIRS("MutableHashTableOfTensors", "", named_vectors_create, of_vectors__cpu),
    MUTABLE_PAIRS("MutableHashTableOfTensorsV2", "", named_vectors_create, of_vectors__cpu),
    MUTABLE_PAIRS("AnonymousMutableHashTableOfTensors", "", vectors_create,
                  anonymous_of_vectors__cpu),
    DENSE_PAIRS("MutableDenseHashTable", named_dense_create, dense__cpu),
    DENSE_PAIRS("MutableDenseHashTableV2", named_dense_create, dense__cpu),
    DENSE_PAIRS("AnonymousMutableDenseHashTable", dense_create, anonymous_dense__cpu),
    LEAT_KERNEL_ROWS_END,
};
