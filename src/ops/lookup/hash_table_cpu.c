// The two hash tables of the lookup ops, over the same rows (key_rows_cpu.h). The static one is
// filled once, and from then on is read without a lock: the filler writes the rows under the mutex
// and then sets |filled| with release order, and a reader that sees it with acquire order sees all
// rows, which never change again. The mutable one takes the mutex for each call; its values may be
// vectors.
//
// Filling a static table a second time is no error where the number of rows is the same, because
// every session that shares the table runs the initializer; the content is not compared. A failed
// filling leaves the table empty, so that it can be tried again.
#include <string.h>

#include "ops/lookup/key_rows_cpu.h"
#include "ops/lookup/table_cpu.h"

typedef struct hash_table_s {
  leat_lookup_t base;
  leat_mutex_t mutex;
  _Atomic(bool) filled;  // only of a static table: |rows| will not change any more
  leat_key_rows_t rows;
} hash_table_t;

static void table_destroy(leat_lookup_t* self) {
  hash_table_t* table = (hash_table_t*)self;
  leat_key_rows_deinitialize(&table->rows);
  leat_mutex_deinitialize(&table->mutex);
  leat_allocator_free(leat_allocator_system(), table);
}

static leat_status_t table_create(const leat_lookup_vtable_t* vtable, int key_dtype,
                                  int value_dtype, const leat_shape_t* value_shape,
                                  leat_lookup_t** out_table) {
  hash_table_t* table;
  leat_shape_t scalar = leat_shape_scalar();
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &table));
  leat_lookup_initialize(vtable, key_dtype, value_dtype, &scalar, value_shape, &table->base);
  leat_mutex_initialize(&table->mutex);
  leat_key_rows_initialize(key_dtype, value_dtype, value_shape->element_count, &table->rows);
  *out_table = &table->base;
  return leat_ok_status();
}

// ---- Shared by both tables ----------------------------------------------------------------------

// Copies each key's row to |out_values|. A key that is not there gets row i of |fallback| where
// |one_each|, otherwise the only row of it. Rows of 4 or 8 bytes have copies of fixed size, which
// the compiler turns into a single move.
static leat_status_t find_rows(const leat_key_rows_t* rows, const leat_tensor_t* keys,
                               const leat_tensor_t* fallback, bool one_each,
                               leat_tensor_t* out_values) {
  size_t row_bytes = leat_key_rows_row_bytes(rows);
  int64_t count = keys->shape.element_count, width = rows->value_count;
  bool is_object = leat_dtype_in(rows->value_dtype, LEAT_DTYPES_OBJECT);
  for (int64_t i = 0; i < count; ++i) {
    int64_t row = leat_key_rows_find(rows, keys->data, i);
    const char* from = row >= 0 ? leat_key_rows_values(rows, row)
                                : (const char*)fallback->data + (one_each ? i : 0) * row_bytes;
    char* to = (char*)out_values->data + (size_t)i * row_bytes;
    if (is_object) {
      LEAT_RETURN_IF_ERROR(leat_object_copy(rows->value_dtype, from, to, width));
    } else if (row_bytes == 8) {
      memcpy(to, from, 8);
    } else if (row_bytes == 4) {
      memcpy(to, from, 4);
    } else {
      memcpy(to, from, row_bytes);
    }
  }
  return leat_ok_status();
}

static leat_status_t export_row(const leat_key_rows_t* rows, int64_t row, void* key,
                                void* values) {
  const char* from = rows->keys + (size_t)row * leat_dtype_size(rows->key_dtype);
  LEAT_RETURN_IF_ERROR(leat_tensor_copy_elements(rows->key_dtype, from, key, 1));
  return leat_tensor_copy_elements(rows->value_dtype, leat_key_rows_values(rows, row), values,
                                   rows->value_count);
}

// Exports the newest rows first, which is the order of TensorFlow's tables while they are small.
static leat_status_t export_rows(const leat_lookup_t* table, const leat_key_rows_t* rows,
                                 leat_buffer_source_t* memory, leat_tensor_t* out_keys,
                                 leat_tensor_t* out_values) {
  int64_t dims[LEAT_SHAPE_MAX_RANK], count = (int64_t)rows->count;
  size_t key_bytes = leat_dtype_size(rows->key_dtype);
  leat_shape_t vector = leat_shape_vector(count), shape;
  dims[0] = count;
  for (int i = 0; i < table->value_shape.rank; ++i) {
    dims[i + 1] = leat_shape_dim(&table->value_shape, i);
  }
  LEAT_RETURN_IF_ERROR(leat_shape_create(table->value_shape.rank + 1, dims, &shape));
  leat_status_t status = leat_tensor_allocate(memory, rows->key_dtype, &vector, out_keys);
  if (!status) status = leat_tensor_allocate(memory, rows->value_dtype, &shape, out_values);
  for (int64_t i = 0; i < count && !status; ++i) {
    status = export_row(rows, count - 1 - i, (char*)out_keys->data + (size_t)i * key_bytes,
                        (char*)out_values->data + (size_t)i * leat_key_rows_row_bytes(rows));
  }
  leat_shape_release(&shape);
  return status;
}

// ---- Filled once --------------------------------------------------------------------------------

bool leat_static_table_is_filled(leat_lookup_t* self) {
  return atomic_load_explicit(&((hash_table_t*)self)->filled, memory_order_acquire);
}

static leat_status_t static_find(leat_lookup_t* self, const leat_tensor_t* keys,
                                 const leat_tensor_t* fallback, leat_tensor_t* out_values) {
  if (!leat_static_table_is_filled(self)) {
    return leat_make_status(LEAT_FAILED_PRECONDITION, "Table not initialized.");
  }
  return find_rows(&((hash_table_t*)self)->rows, keys, fallback, false, out_values);
}

static leat_status_t unsupported(const char* what) {
  return leat_make_status(LEAT_UNIMPLEMENTED,
                          "%s not supported by InitializableLookupTable implementations", what);
}

static leat_status_t static_insert(leat_lookup_t* self, const leat_tensor_t* keys,
                                   const leat_tensor_t* values) {
  return unsupported("Insert");
}

static leat_status_t static_remove(leat_lookup_t* self, const leat_tensor_t* keys) {
  return unsupported("Remove");
}

// Whether two values are equal as numbers or texts: 0 equals -0, and NaN equals nothing.
static bool same_value(int dtype, const void* a, const void* b) {
  if (dtype == LEAT_DTYPE_FLOAT) return *(const float*)a == *(const float*)b;
  if (dtype == LEAT_DTYPE_DOUBLE) return *(const double*)a == *(const double*)b;
  if (dtype != LEAT_DTYPE_STRING) return memcmp(a, b, leat_dtype_size(dtype)) == 0;
  const TF_TString *x = a, *y = b;
  return leat_string_view_equal(
      leat_string_view_make(TF_TString_GetDataPointer(x), TF_TString_GetSize(x)),
      leat_string_view_make(TF_TString_GetDataPointer(y), TF_TString_GetSize(y)));
}

// Adds pair |index|. A key may come again only with the same value.
static leat_status_t fill_one(leat_key_rows_t* rows, const void* keys, const void* values,
                              int64_t index) {
  int64_t row;
  bool added;
  const char* value = (const char*)values + (size_t)index * leat_dtype_size(rows->value_dtype);
  LEAT_RETURN_IF_ERROR(leat_key_rows_find_or_add(rows, keys, index, &row, &added));
  void* place = leat_key_rows_values(rows, row);
  if (added) return leat_tensor_copy_elements(rows->value_dtype, value, place, 1);
  if (same_value(rows->value_dtype, place, value)) return leat_ok_status();
  return leat_make_status(LEAT_FAILED_PRECONDITION,
                          "HashTable has different value for same key, the one of row %lld",
                          (long long)index);
}

// |next| gives batches of pairs until it sets the end.
static leat_status_t fill_locked(hash_table_t* table, int64_t total, leat_lookup_next_fn_t next,
                                 void* data) {
  leat_key_rows_t* rows = &table->rows;
  if (leat_static_table_is_filled(&table->base)) {
    if (total == (int64_t)rows->count) return leat_ok_status();
    return leat_make_status(LEAT_FAILED_PRECONDITION,
                            "Table was already initialized with different data.");
  }
  leat_status_t status = leat_ok_status();
  for (bool end = false; !status;) {
    const leat_tensor_t *key, *value;
    status = next(data, &key, &value, &end);
    if (status || end) break;
    for (int64_t i = 0; i < key->shape.element_count && !status; ++i) {
      status = fill_one(rows, key->data, value->data, i);
    }
  }
  if (status) {
    leat_key_rows_clear(rows);
  } else {
    atomic_store_explicit(&table->filled, true, memory_order_release);
  }
  return status;
}

leat_status_t leat_static_table_fill(leat_lookup_t* self, int64_t total, leat_lookup_next_fn_t next,
                                     void* data) {
  hash_table_t* table = (hash_table_t*)self;
  leat_mutex_lock(&table->mutex);
  leat_status_t status = fill_locked(table, total, next, data);
  leat_mutex_unlock(&table->mutex);
  return status;
}

typedef struct pair_s {
  const leat_tensor_t* keys;
  const leat_tensor_t* values;
} pair_t;

// Gives all pairs as one batch, and then the end.
static leat_status_t next_pair(void* data, const leat_tensor_t** out_key,
                               const leat_tensor_t** out_value, bool* out_end) {
  pair_t* pair = data;
  *out_end = pair->keys == NULL;
  *out_key = pair->keys;
  *out_value = pair->values;
  pair->keys = NULL;
  return leat_ok_status();
}

static leat_status_t static_import(leat_lookup_t* self, const leat_tensor_t* keys,
                                   const leat_tensor_t* values) {
  if (keys->shape.element_count == 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "keys and values cannot be empty tensors.");
  }
  pair_t pair = {keys, values};
  return leat_static_table_fill(self, keys->shape.element_count, next_pair, &pair);
}

static leat_status_t static_export(leat_lookup_t* self, leat_buffer_source_t* memory,
                                   leat_tensor_t* out_keys, leat_tensor_t* out_values) {
  if (!leat_static_table_is_filled(self)) {
    return leat_make_status(LEAT_ABORTED, "HashTable is not initialized.");
  }
  return export_rows(self, &((hash_table_t*)self)->rows, memory, out_keys, out_values);
}

static int64_t static_size(leat_lookup_t* self) {
  return leat_static_table_is_filled(self) ? (int64_t)((hash_table_t*)self)->rows.count : 0;
}

static const leat_lookup_vtable_t kStaticVtable = {
    .destroy = table_destroy,
    .find = static_find,
    .insert = static_insert,
    .remove = static_remove,
    .import = static_import,
    .export = static_export,
    .size = static_size,
    .fills_once = true,
};

leat_status_t leat_static_table_create(int key_dtype, int value_dtype, leat_lookup_t** out_table) {
  leat_shape_t scalar = leat_shape_scalar();
  return table_create(&kStaticVtable, key_dtype, value_dtype, &scalar, out_table);
}

// ---- Changing -----------------------------------------------------------------------------------

static leat_status_t mutable_find(leat_lookup_t* self, const leat_tensor_t* keys,
                                  const leat_tensor_t* fallback, leat_tensor_t* out_values) {
  hash_table_t* table = (hash_table_t*)self;
  leat_mutex_lock(&table->mutex);
  bool one_each = fallback->shape.element_count == out_values->shape.element_count;
  leat_status_t status = find_rows(&table->rows, keys, fallback, one_each, out_values);
  leat_mutex_unlock(&table->mutex);
  return status;
}

// Adds or replaces the rows of |keys|.
static leat_status_t put_rows(leat_key_rows_t* rows, const leat_tensor_t* keys,
                              const leat_tensor_t* values) {
  size_t row_bytes = leat_key_rows_row_bytes(rows);
  for (int64_t i = 0; i < keys->shape.element_count; ++i) {
    int64_t row;
    bool added;
    LEAT_RETURN_IF_ERROR(leat_key_rows_find_or_add(rows, keys->data, i, &row, &added));
    LEAT_RETURN_IF_ERROR(leat_tensor_copy_elements(
        rows->value_dtype, (const char*)values->data + (size_t)i * row_bytes,
        leat_key_rows_values(rows, row), rows->value_count));
  }
  return leat_ok_status();
}

static leat_status_t mutable_insert(leat_lookup_t* self, const leat_tensor_t* keys,
                                    const leat_tensor_t* values) {
  hash_table_t* table = (hash_table_t*)self;
  leat_mutex_lock(&table->mutex);
  leat_status_t status = put_rows(&table->rows, keys, values);
  leat_mutex_unlock(&table->mutex);
  return status;
}

static leat_status_t mutable_remove(leat_lookup_t* self, const leat_tensor_t* keys) {
  hash_table_t* table = (hash_table_t*)self;
  leat_mutex_lock(&table->mutex);
  for (int64_t i = 0; i < keys->shape.element_count; ++i) {
    int64_t row = leat_key_rows_find(&table->rows, keys->data, i);
    if (row >= 0) leat_key_rows_remove(&table->rows, row);
  }
  leat_mutex_unlock(&table->mutex);
  return leat_ok_status();
}

// Replaces all rows. When that fails in the middle, the table keeps the rows that were put in.
static leat_status_t mutable_import(leat_lookup_t* self, const leat_tensor_t* keys,
                                    const leat_tensor_t* values) {
  hash_table_t* table = (hash_table_t*)self;
  leat_mutex_lock(&table->mutex);
  leat_key_rows_clear(&table->rows);
  leat_status_t status = put_rows(&table->rows, keys, values);
  leat_mutex_unlock(&table->mutex);
  return status;
}

static leat_status_t mutable_export(leat_lookup_t* self, leat_buffer_source_t* memory,
                                    leat_tensor_t* out_keys, leat_tensor_t* out_values) {
  hash_table_t* table = (hash_table_t*)self;
  leat_mutex_lock(&table->mutex);
  leat_status_t status = export_rows(self, &table->rows, memory, out_keys, out_values);
  leat_mutex_unlock(&table->mutex);
  return status;
}

static int64_t mutable_size(leat_lookup_t* self) {
  hash_table_t* table = (hash_table_t*)self;
  leat_mutex_lock(&table->mutex);
  int64_t size = (int64_t)table->rows.count;
  leat_mutex_unlock(&table->mutex);
  return size;
}

static const leat_lookup_vtable_t kMutableVtable = {
    .destroy = table_destroy,
    .find = mutable_find,
    .insert = mutable_insert,
    .remove = mutable_remove,
    .import = mutable_import,
    .export = mutable_export,
    .size = mutable_size,
};

leat_status_t leat_mutable_table_create(int key_dtype, int value_dtype,
                                        const leat_shape_t* value_shape,
                                        leat_lookup_t** out_table) {
  return table_create(&kMutableVtable, key_dtype, value_dtype, value_shape, out_table);
}
