// Dense hash tables (MutableDenseHashTable): open addressing in two tensors, one of keys and one of
// values, with a bucket in each row. An export shares these tensors and an import takes such
// tensors over, also between TensorFlow and Leat; therefore the layout, hashes and probing are
// TensorFlow's:
//
//   keys    [buckets, key size]       empty key | k1 | deleted key | k2 | ...
//   values  [buckets, value size]         0     | v1 |      ?      | v2 | ...
//   bucket of the i-th probe = (hash(key) + i * (i + 1) / 2) mod buckets,  i = 0, 1, 2, ...
//
// With a power of two of buckets, these triangular steps visit each bucket once. Two keys that the
// user gives up mark the buckets that are empty and those whose key was removed; a search ends at
// an empty bucket but goes on past a deleted one. The buckets double when entries exceed the load
// factor; deleted buckets do not count as entries. Exported tensors must not change under their
// holders, so a change first copies tensors that somebody else holds.
#include <string.h>

#include "ops/lookup/table_cpu.h"

typedef struct dense_table_s {
  leat_lookup_t base;
  leat_mutex_t mutex;
  leat_tensor_t empty_key;
  leat_tensor_t deleted_key;  // dtype 0: nothing can be removed
  float max_load_factor;
  // Under the mutex.
  leat_tensor_t keys;    // [bucket_count, key_size]
  leat_tensor_t values;  // [bucket_count, value_size]
  int64_t bucket_count;
  int64_t entry_count;  // keys that are neither empty nor deleted
} dense_table_t;

static int64_t key_size(const dense_table_t* t) { return t->base.key_shape.element_count; }
static int64_t value_size(const dense_table_t* t) { return t->base.value_shape.element_count; }

// Key or value |index| in a tensor of keys or values, which may be the buckets or an input.
static char* key_at(const dense_table_t* t, const leat_tensor_t* keys, int64_t index) {
  return (char*)keys->data +
         (size_t)(index * key_size(t)) * leat_dtype_size(t->base.key_dtype);
}

static char* value_at(const dense_table_t* t, const leat_tensor_t* values, int64_t index) {
  return (char*)values->data +
         (size_t)(index * value_size(t)) * leat_dtype_size(t->base.value_dtype);
}

// ---- Hashes -------------------------------------------------------------------------------------

// MurmurHash64A (public domain, Austin Appleby) with TensorFlow's seed.
static uint64_t hash_bytes(leat_string_view_t s) {
  const uint64_t m = UINT64_C(0xc6a4a7935bd1e995);
  uint64_t hash = UINT64_C(0xDECAFCAFFE) ^ (s.size * m);
  const char* p = s.data;
  size_t left = s.size;
  for (; left >= 8; left -= 8, p += 8) {
    uint64_t word;
    memcpy(&word, p, 8);
    word *= m;
    word ^= word >> 47;
    hash = (hash ^ (word * m)) * m;
  }
  if (left) {
    uint64_t word = 0;
    for (size_t i = 0; i < left; ++i) word |= (uint64_t)(unsigned char)p[i] << (8 * i);
    hash = (hash ^ word) * m;
  }
  hash ^= hash >> 47;
  hash *= m;
  return hash ^ hash >> 47;
}

static leat_string_view_t view_of(const TF_TString* string) {
  return leat_string_view_make(TF_TString_GetDataPointer(string), TF_TString_GetSize(string));
}

static uint64_t hash_scalar(int dtype, const void* keys, int64_t index) {
  if (dtype == LEAT_DTYPE_INT64) return (uint64_t)((const int64_t*)keys)[index];
  if (dtype == LEAT_DTYPE_INT32) return (uint64_t)(int64_t)((const int32_t*)keys)[index];
  return hash_bytes(view_of(&((const TF_TString*)keys)[index]));
}

// A key of one element hashes as it is; the hashes of several are combined as TensorFlow combines
// them.
static uint64_t hash_key(const dense_table_t* t, const char* key) {
  if (key_size(t) == 1) return hash_scalar(t->base.key_dtype, key, 0);
  uint64_t hash = 0;
  for (int64_t i = 0; i < key_size(t); ++i) {
    uint64_t item = hash_scalar(t->base.key_dtype, key, i);
    hash ^= item + UINT64_C(0x9e3779b97f4a7800) + (hash << 10) + (hash >> 4);
  }
  return hash;
}

static bool same_key(const dense_table_t* t, const char* a, const char* b) {
  if (t->base.key_dtype != LEAT_DTYPE_STRING) {
    return memcmp(a, b, (size_t)key_size(t) * leat_dtype_size(t->base.key_dtype)) == 0;
  }
  for (int64_t i = 0; i < key_size(t); ++i) {
    if (!leat_string_view_equal(view_of(&((const TF_TString*)a)[i]),
                                view_of(&((const TF_TString*)b)[i]))) {
      return false;
    }
  }
  return true;
}

static bool is_empty(const dense_table_t* t, const char* key) {
  return same_key(t, key, t->empty_key.data);
}

static bool is_deleted(const dense_table_t* t, const char* key) {
  return t->deleted_key.dtype && same_key(t, key, t->deleted_key.data);
}

// The two marker keys cannot be keys of the table.
static leat_status_t check_key(const dense_table_t* t, const char* key) {
  bool empty = is_empty(t, key);
  if (!empty && !is_deleted(t, key)) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Using the %s_key as a table key is not allowed",
                          empty ? "empty" : "deleted");
}

// ---- Buckets, with the mutex held ---------------------------------------------------------------

// Returns the bucket of |key| (with |*out_found|), or the first free bucket on its way where
// |takes_free|, or -1. With |takes_free| the search ends at a deleted bucket, as in TensorFlow,
// even though the key may stand further on.
static int64_t find_bucket(const dense_table_t* t, const char* key, bool takes_free,
                           bool* out_found) {
  int64_t mask = t->bucket_count - 1;
  int64_t bucket = (int64_t)(hash_key(t, key) & (uint64_t)mask);
  *out_found = false;
  for (int64_t probes = 1; probes <= t->bucket_count; ++probes) {
    const char* there = key_at(t, &t->keys, bucket);
    *out_found = same_key(t, there, key);
    if (*out_found) return bucket;
    bool empty = is_empty(t, there);
    if (takes_free && (empty || is_deleted(t, there))) return bucket;
    if (empty) return -1;
    bucket = (bucket + probes) & mask;
  }
  return -1;
}

// Allocates |count| empty buckets.
static leat_status_t make_buckets(dense_table_t* t, int64_t count, leat_tensor_t* out_keys,
                                  leat_tensor_t* out_values) {
  leat_shape_t shape;
  *out_keys = *out_values = (leat_tensor_t){0};
  if (count < 4 || (count & (count - 1))) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Number of buckets must be at least 4 and a power of 2, got: %lld",
                            (long long)count);
  }
  leat_buffer_source_t* memory = leat_buffer_source_host();
  LEAT_RETURN_IF_ERROR(leat_shape_create(2, (const int64_t[]){count, key_size(t)}, &shape));
  leat_status_t status = leat_tensor_allocate(memory, t->base.key_dtype, &shape, out_keys);
  for (int64_t i = 0; i < count && !status; ++i) {
    status = leat_tensor_copy_elements(t->base.key_dtype, t->empty_key.data,
                                       key_at(t, out_keys, i), key_size(t));
  }
  if (!status) status = leat_shape_create(2, (const int64_t[]){count, value_size(t)}, &shape);
  if (!status) status = leat_tensor_allocate(memory, t->base.value_dtype, &shape, out_values);
  if (!status) leat_tensor_fill_zero(out_values);
  if (status) leat_tensor_release(out_keys);
  return status;
}

// Replaces the buckets; the tensors are moved.
static void set_buckets(dense_table_t* t, leat_tensor_t keys, leat_tensor_t values,
                        int64_t count) {
  leat_tensor_release(&t->keys);
  leat_tensor_release(&t->values);
  t->keys = keys;
  t->values = values;
  t->bucket_count = count;
}

// Copies |tensor| when an export shares it, so that the exported tensor stays as it is.
static leat_status_t make_exclusive(leat_tensor_t* tensor) {
  leat_tensor_t copy;
  if (!tensor->buffer || leat_buffer_is_exclusive(tensor->buffer)) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_tensor_copy(leat_buffer_source_host(), tensor, &copy));
  leat_tensor_release(tensor);
  *tensor = copy;
  return leat_ok_status();
}

// Adds or replaces one entry. The caller has made sure that a bucket is free.
static leat_status_t put(dense_table_t* t, const char* key, const char* value) {
  bool found;
  int64_t bucket = find_bucket(t, key, true, &found);
  if (bucket < 0) return leat_make_status(LEAT_INTERNAL, "MutableDenseHashTable insert: full");
  if (!found) {
    LEAT_RETURN_IF_ERROR(leat_tensor_copy_elements(t->base.key_dtype, key,
                                                   key_at(t, &t->keys, bucket), key_size(t)));
    ++t->entry_count;
  }
  return leat_tensor_copy_elements(t->base.value_dtype, value, value_at(t, &t->values, bucket),
                                   value_size(t));
}

// Moves all entries to |count| new buckets, which also drops the deleted ones.
static leat_status_t rebucket(dense_table_t* t, int64_t count) {
  leat_tensor_t keys, values;
  LEAT_RETURN_IF_ERROR(make_buckets(t, count, &keys, &values));
  leat_tensor_t old_keys = leat_tensor_move(&t->keys), old_values = leat_tensor_move(&t->values);
  int64_t old_count = t->bucket_count;
  t->keys = keys;
  t->values = values;
  t->bucket_count = count;
  t->entry_count = 0;
  leat_status_t status = leat_ok_status();
  for (int64_t i = 0; i < old_count && !status; ++i) {
    const char* key = key_at(t, &old_keys, i);
    if (is_empty(t, key) || is_deleted(t, key)) continue;
    status = put(t, key, value_at(t, &old_values, i));
  }
  leat_tensor_release(&old_keys);
  leat_tensor_release(&old_values);
  return status;
}

static leat_status_t insert_locked(dense_table_t* t, const leat_tensor_t* keys,
                                   const leat_tensor_t* values, int64_t count) {
  int64_t wanted = t->entry_count + count, buckets = t->bucket_count;
  while ((float)wanted > (float)buckets * t->max_load_factor && buckets < INT64_C(1) << 60) {
    buckets *= 2;
  }
  if (buckets != t->bucket_count) LEAT_RETURN_IF_ERROR(rebucket(t, buckets));
  LEAT_RETURN_IF_ERROR(make_exclusive(&t->keys));
  LEAT_RETURN_IF_ERROR(make_exclusive(&t->values));
  for (int64_t i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(check_key(t, key_at(t, keys, i)));
    LEAT_RETURN_IF_ERROR(put(t, key_at(t, keys, i), value_at(t, values, i)));
  }
  return leat_ok_status();
}

static leat_status_t remove_locked(dense_table_t* t, const leat_tensor_t* keys, int64_t count) {
  if (!t->deleted_key.dtype) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Remove failed: the table has no deleted_key");
  }
  LEAT_RETURN_IF_ERROR(make_exclusive(&t->keys));
  for (int64_t i = 0; i < count; ++i) {
    bool found;
    LEAT_RETURN_IF_ERROR(check_key(t, key_at(t, keys, i)));
    int64_t bucket = find_bucket(t, key_at(t, keys, i), false, &found);
    if (!found) continue;
    LEAT_RETURN_IF_ERROR(leat_tensor_copy_elements(t->base.key_dtype, t->deleted_key.data,
                                                   key_at(t, &t->keys, bucket), key_size(t)));
    --t->entry_count;
  }
  return leat_ok_status();
}

static leat_status_t find_locked(dense_table_t* t, const leat_tensor_t* keys,
                                 const leat_tensor_t* fallback, leat_tensor_t* out_values,
                                 int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    bool found;
    LEAT_RETURN_IF_ERROR(check_key(t, key_at(t, keys, i)));
    int64_t bucket = find_bucket(t, key_at(t, keys, i), false, &found);
    const char* value = found ? value_at(t, &t->values, bucket) : fallback->data;
    LEAT_RETURN_IF_ERROR(leat_tensor_copy_elements(
        t->base.value_dtype, value, value_at(t, out_values, i), value_size(t)));
  }
  return leat_ok_status();
}

// ---- The table ----------------------------------------------------------------------------------

// Returns the number of keys in |keys|, which must be [n, key shape...] or a single scalar key.
static leat_status_t count_keys(const dense_table_t* t, const leat_tensor_t* keys,
                                int64_t* out_count) {
  *out_count = keys->shape.rank == 0 ? 1 : leat_shape_dim(&keys->shape, 0);
  if (keys->shape.element_count == *out_count * key_size(t)) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Expected keys of %lld items each, got shape %s",
                          (long long)key_size(t), LEAT_SHAPE_TEXT(&keys->shape));
}

static leat_status_t dense_find(leat_lookup_t* self, const leat_tensor_t* keys,
                                const leat_tensor_t* fallback, leat_tensor_t* out_values) {
  dense_table_t* t = (dense_table_t*)self;
  int64_t count;
  LEAT_RETURN_IF_ERROR(count_keys(t, keys, &count));
  leat_mutex_lock(&t->mutex);
  leat_status_t status = find_locked(t, keys, fallback, out_values, count);
  leat_mutex_unlock(&t->mutex);
  return status;
}

static leat_status_t dense_insert(leat_lookup_t* self, const leat_tensor_t* keys,
                                  const leat_tensor_t* values) {
  dense_table_t* t = (dense_table_t*)self;
  int64_t count;
  LEAT_RETURN_IF_ERROR(count_keys(t, keys, &count));
  leat_mutex_lock(&t->mutex);
  leat_status_t status = insert_locked(t, keys, values, count);
  leat_mutex_unlock(&t->mutex);
  return status;
}

static leat_status_t dense_remove(leat_lookup_t* self, const leat_tensor_t* keys) {
  dense_table_t* t = (dense_table_t*)self;
  int64_t count;
  LEAT_RETURN_IF_ERROR(count_keys(t, keys, &count));
  leat_mutex_lock(&t->mutex);
  leat_status_t status = remove_locked(t, keys, count);
  leat_mutex_unlock(&t->mutex);
  return status;
}

// Copies |tensor| as a matrix of |count| buckets of |width| elements.
static leat_status_t copy_buckets(const leat_tensor_t* tensor, int64_t count, int64_t width,
                                  leat_tensor_t* out_buckets) {
  leat_shape_t shape;
  leat_tensor_t copy;
  LEAT_RETURN_IF_ERROR(leat_shape_create(2, (const int64_t[]){count, width}, &shape));
  LEAT_RETURN_IF_ERROR(leat_tensor_copy(leat_buffer_source_host(), tensor, &copy));
  leat_status_t status = leat_tensor_reshape(&copy, &shape, out_buckets);
  leat_tensor_release(&copy);
  return status;
}

// Takes over the buckets of an export. Entries are counted anew, since the buckets do not say how
// many there are.
static leat_status_t dense_import(leat_lookup_t* self, const leat_tensor_t* keys,
                                  const leat_tensor_t* values) {
  dense_table_t* t = (dense_table_t*)self;
  leat_tensor_t own_keys, own_values;
  int64_t count;
  LEAT_RETURN_IF_ERROR(count_keys(t, keys, &count));
  if (count < 1 || (count & (count - 1)) ||
      values->shape.element_count != count * value_size(t)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Import failed: keys have shape %s and values %s, must be buckets, a "
                            "power of 2",
                            LEAT_SHAPE_TEXT(&keys->shape), LEAT_SHAPE_TEXT(&values->shape));
  }
  LEAT_RETURN_IF_ERROR(copy_buckets(keys, count, key_size(t), &own_keys));
  leat_status_t status = copy_buckets(values, count, value_size(t), &own_values);
  if (status) {
    leat_tensor_release(&own_keys);
    return status;
  }
  leat_mutex_lock(&t->mutex);
  set_buckets(t, own_keys, own_values, count);
  t->entry_count = 0;
  for (int64_t i = 0; i < count; ++i) {
    const char* key = key_at(t, &t->keys, i);
    t->entry_count += !is_empty(t, key) && !is_deleted(t, key);
  }
  leat_mutex_unlock(&t->mutex);
  return leat_ok_status();
}

static leat_status_t dense_export(leat_lookup_t* self, leat_buffer_source_t* memory,
                                  leat_tensor_t* out_keys, leat_tensor_t* out_values) {
  dense_table_t* t = (dense_table_t*)self;
  leat_mutex_lock(&t->mutex);
  *out_keys = leat_tensor_share(&t->keys);
  *out_values = leat_tensor_share(&t->values);
  leat_mutex_unlock(&t->mutex);
  return leat_ok_status();
}

static int64_t dense_size(leat_lookup_t* self) {
  dense_table_t* t = (dense_table_t*)self;
  leat_mutex_lock(&t->mutex);
  int64_t size = t->entry_count;
  leat_mutex_unlock(&t->mutex);
  return size;
}

static void dense_destroy(leat_lookup_t* self) {
  dense_table_t* t = (dense_table_t*)self;
  leat_tensor_release(&t->empty_key);
  leat_tensor_release(&t->deleted_key);
  leat_tensor_release(&t->keys);
  leat_tensor_release(&t->values);
  leat_mutex_deinitialize(&t->mutex);
  leat_allocator_free(leat_allocator_system(), t);
}

static const leat_lookup_vtable_t kDenseVtable = {
    .destroy = dense_destroy,
    .find = dense_find,
    .insert = dense_insert,
    .remove = dense_remove,
    .import = dense_import,
    .export = dense_export,
    .size = dense_size,
    .imports_matrix = true,
};

static leat_status_t check_options(const leat_dense_options_t* o) {
  if (!(o->max_load_factor > 0 && o->max_load_factor < 1)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "max_load_factor must be between 0 and 1, got: %g",
                            (double)o->max_load_factor);
  }
  if (o->value_shape.rank > 1 || o->empty_key->shape.rank > 1) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Empty key and value must be a scalar or a vector, got shapes %s and "
                            "%s",
                            LEAT_SHAPE_TEXT(&o->empty_key->shape),
                            LEAT_SHAPE_TEXT(&o->value_shape));
  }
  if (o->deleted_key && !leat_shape_equal(&o->empty_key->shape, &o->deleted_key->shape)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Empty and deleted keys must have same shape, got shapes: %s and %s",
                            LEAT_SHAPE_TEXT(&o->empty_key->shape),
                            LEAT_SHAPE_TEXT(&o->deleted_key->shape));
  }
  return leat_ok_status();
}

static leat_status_t fill_in(const leat_dense_options_t* o, dense_table_t* t) {
  leat_buffer_source_t* memory = leat_buffer_source_host();
  LEAT_RETURN_IF_ERROR(leat_tensor_copy(memory, o->empty_key, &t->empty_key));
  if (o->deleted_key) {
    if (is_empty(t, o->deleted_key->data)) {
      return leat_make_status(LEAT_INVALID_ARGUMENT, "Empty and deleted keys cannot be equal");
    }
    LEAT_RETURN_IF_ERROR(leat_tensor_copy(memory, o->deleted_key, &t->deleted_key));
  }
  LEAT_RETURN_IF_ERROR(make_buckets(t, o->bucket_count, &t->keys, &t->values));
  t->bucket_count = o->bucket_count;
  return leat_ok_status();
}

leat_status_t leat_dense_table_create(const leat_dense_options_t* options,
                                      leat_lookup_t** out_table) {
  dense_table_t* t;
  LEAT_RETURN_IF_ERROR(check_options(options));
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &t));
  leat_lookup_initialize(&kDenseVtable, options->empty_key->dtype, options->value_dtype,
                        &options->empty_key->shape, &options->value_shape, &t->base);
  leat_mutex_initialize(&t->mutex);
  t->max_load_factor = options->max_load_factor;
  leat_status_t status = fill_in(options, t);
  if (status) {
    leat_resource_release(&t->base.resource);
    return status;
  }
  *out_table = &t->base;
  return leat_ok_status();
}
