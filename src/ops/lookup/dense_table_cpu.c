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
//
// TensorFlow's hash of a number is the number itself, so whoever chooses keys can give all of them
// one home, and with TensorFlow's probing alone n such keys would cost n * n / 2 steps. Another
// hash is no way out, since an exported layout would then be none that TensorFlow can read. So the
// table has a guard, which it starts when a search had to look at more buckets than any harmless
// one does (about twice the square root of their number). The guard knows the bucket of each key
// by a hash with random words in it, and for homes with long ways how far they are taken, so that
// nothing is walked twice. The layout stays one that TensorFlow reads; only what order removals
// leave behind may differ from TensorFlow's: a guarded table does not use a deleted bucket again
// before the buckets are made anew, since a way that is taken must stay so.
#include <string.h>

#include "base/map.h"
#include "base/random.h"
#include "ops/lookup/dense_key_cpu.h"
#include "ops/lookup/table_cpu.h"

#define SHORTEST_LIMIT 64  // so many probes never start the guard
#define SHORT_WAY 8        // a way of so few probes is not worth remembering

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
  int64_t probe_limit;  // a search that needs more starts the guard
  int64_t probe_count;  // buckets that searches looked at so far, for tests
  bool is_guarded;
  uint64_t seed[2];        // of the guard's hash
  leat_word_map_t places;  // guard: hash of a key -> its bucket, or GONE
  leat_word_map_t taken;   // guard: home, mixed -> its first probes that find no empty bucket
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

// ---- Keys ---------------------------------------------------------------------------------------

static leat_dense_keys_t keys_of(const dense_table_t* t) {
  return (leat_dense_keys_t){t->base.key_dtype, key_size(t)};
}

static bool same_key(const dense_table_t* t, const char* a, const char* b) {
  return leat_dense_key_equal(keys_of(t), a, b);
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

// ---- Searching, with the mutex held -------------------------------------------------------------

#define TOO_FAR (-2)         // a search ended at the limit
#define GONE (UINT64_MAX)    // a place whose key was removed; keys with the next hashes may follow

static int64_t home_of(const dense_table_t* t, const char* key) {
  return (int64_t)(leat_dense_key_hash(keys_of(t), key) & (uint64_t)(t->bucket_count - 1));
}

// Searches as TensorFlow does. Returns the bucket of |key| (with |*out_found|), or the first free
// bucket on its way where |takes_free|, or -1, or TOO_FAR after |limit| probes. With |takes_free|
// the search ends at a deleted bucket, even though the key may stand further on.
static int64_t walk(dense_table_t* t, const char* key, bool takes_free, int64_t limit,
                    bool* out_found) {
  int64_t mask = t->bucket_count - 1;
  int64_t bucket = home_of(t, key);
  *out_found = false;
  for (int64_t probes = 1; probes <= t->bucket_count; ++probes) {
    if (probes > limit) return TOO_FAR;
    const char* there = key_at(t, &t->keys, bucket);
    ++t->probe_count;
    *out_found = same_key(t, there, key);
    if (*out_found) return bucket;
    bool empty = is_empty(t, there);
    if (takes_free && (empty || is_deleted(t, there))) return bucket;
    if (empty) return -1;
    bucket = (bucket + probes) & mask;
  }
  return -1;
}

// ---- The guard ----------------------------------------------------------------------------------

static void end_guard(dense_table_t* t) {
  t->is_guarded = false;
  leat_word_map_deinitialize(&t->places);
  leat_word_map_deinitialize(&t->taken);
}

// The bucket where the guard knows |key|, or -1. Keys with one hash stand under the numbers that
// follow it.
static int64_t guarded_bucket(dense_table_t* t, const char* key) {
  uint64_t hash = leat_dense_key_keyed_hash(keys_of(t), t->seed, key), bucket;
  for (; leat_word_map_get(&t->places, hash, &bucket); ++hash) {
    ++t->probe_count;
    if (bucket == GONE) continue;
    if (same_key(t, key_at(t, &t->keys, (int64_t)bucket), key)) return (int64_t)bucket;
  }
  return -1;
}

static leat_status_t guard_key(dense_table_t* t, const char* key, int64_t bucket) {
  uint64_t hash = leat_dense_key_keyed_hash(keys_of(t), t->seed, key), other;
  while (leat_word_map_get(&t->places, hash, &other) && other != GONE) ++hash;
  return leat_word_map_set(&t->places, hash, (uint64_t)bucket);
}

// The guard forgets |key|, which was in |bucket|.
static void unguard_key(dense_table_t* t, const char* key, int64_t bucket) {
  uint64_t hash = leat_dense_key_keyed_hash(keys_of(t), t->seed, key), there;
  while (leat_word_map_get(&t->places, hash, &there) && there != (uint64_t)bucket) ++hash;
  LEAT_DCHECK(leat_word_map_get(&t->places, hash, NULL));
  if (leat_word_map_get(&t->places, hash + 1, NULL)) {
    leat_status_free(leat_word_map_set(&t->places, hash, GONE));  // it is there: no memory needed
  } else {
    leat_word_map_erase(&t->places, hash);
  }
}

// The first empty bucket on the way of |key|, or -1.
static int64_t first_empty(dense_table_t* t, const char* key) {
  const uint64_t mask = (uint64_t)t->bucket_count - 1, home = (uint64_t)home_of(t, key);
  const uint64_t mixed = leat_hash_mix(t->seed[0], home);  // no two homes give one number
  uint64_t probe = 0;
  leat_word_map_get(&t->taken, mixed, &probe);
  uint64_t way = probe & 1 ? (probe + 1) / 2 * probe : probe / 2 * (probe + 1);
  int64_t bucket = (int64_t)((home + way) & mask);
  while (probe <= mask) {
    ++t->probe_count;
    if (is_empty(t, key_at(t, &t->keys, bucket))) break;
    bucket = (int64_t)(((uint64_t)bucket + ++probe) & mask);
  }
  // Without memory the way is walked again next time.
  if (probe >= SHORT_WAY) leat_status_free(leat_word_map_set(&t->taken, mixed, probe));
  return probe <= mask ? bucket : -1;
}

static leat_status_t rebucket(dense_table_t* t, int64_t count);

// Turns the guard on and lets it learn all keys by making the buckets anew. That also drops deleted
// buckets, and keys that stand where no search finds them. On failure the guard stays off.
static leat_status_t start_guard(dense_table_t* t) {
  t->seed[0] = leat_random_seed();
  t->seed[1] = leat_random_seed();
  t->is_guarded = true;
  return rebucket(t, t->bucket_count);
}

static int64_t guarded_search(dense_table_t* t, const char* key, bool takes_free,
                              bool* out_found) {
  int64_t bucket = guarded_bucket(t, key);
  *out_found = bucket >= 0;
  if (*out_found || !takes_free) return bucket;
  bucket = first_empty(t, key);
  if (bucket >= 0) return bucket;
  // What is not taken is deleted.
  leat_status_t status = rebucket(t, t->bucket_count);
  if (!status) return first_empty(t, key);
  leat_status_free(status);
  return walk(t, key, true, INT64_MAX, out_found);
}

// As walk(), without a limit, and by way of the guard where there is one. May make the buckets
// anew, so what the caller knew of buckets holds no longer.
static int64_t find_bucket(dense_table_t* t, const char* key, bool takes_free, bool* out_found) {
  if (!t->is_guarded) {
    int64_t bucket = walk(t, key, takes_free, t->probe_limit, out_found);
    if (bucket != TOO_FAR) return bucket;
    leat_status_free(start_guard(t));  // without memory for a guard the search takes its time
  }
  return t->is_guarded ? guarded_search(t, key, takes_free, out_found)
                       : walk(t, key, takes_free, INT64_MAX, out_found);
}

// ---- Buckets, with the mutex held ---------------------------------------------------------------

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
  t->keys = keys;
  t->values = values;
  t->bucket_count = count;
  t->probe_limit = SHORTEST_LIMIT;
  while (t->probe_limit < count / t->probe_limit * 4) t->probe_limit *= 2;
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
    if (t->is_guarded) LEAT_RETURN_IF_ERROR(guard_key(t, key, bucket));
    LEAT_RETURN_IF_ERROR(leat_tensor_copy_elements(t->base.key_dtype, key,
                                                   key_at(t, &t->keys, bucket), key_size(t)));
    ++t->entry_count;
  }
  return leat_tensor_copy_elements(t->base.value_dtype, value, value_at(t, &t->values, bucket),
                                   value_size(t));
}

static leat_status_t put_all(dense_table_t* t, const leat_tensor_t* keys,
                             const leat_tensor_t* values, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const char* key = key_at(t, keys, i);
    if (is_empty(t, key) || is_deleted(t, key)) continue;
    LEAT_RETURN_IF_ERROR(put(t, key, value_at(t, values, i)));
  }
  return leat_ok_status();
}

// Moves all entries to |count| new buckets, which also drops the deleted ones. On failure the old
// buckets stay, without a guard.
static leat_status_t rebucket(dense_table_t* t, int64_t count) {
  leat_tensor_t keys, values;
  leat_status_t status = make_buckets(t, count, &keys, &values);
  if (status) {
    end_guard(t);
    return status;
  }
  leat_tensor_t old_keys = leat_tensor_move(&t->keys), old_values = leat_tensor_move(&t->values);
  const int64_t old_count = t->bucket_count, old_entries = t->entry_count;
  set_buckets(t, keys, values, count);
  t->entry_count = 0;
  leat_word_map_clear(&t->places);
  leat_word_map_clear(&t->taken);
  status = put_all(t, &old_keys, &old_values, old_count);
  if (status) {
    end_guard(t);
    leat_tensor_release(&t->keys);
    leat_tensor_release(&t->values);
    set_buckets(t, old_keys, old_values, old_count);
    t->entry_count = old_entries;
    return status;
  }
  leat_tensor_release(&old_keys);
  leat_tensor_release(&old_values);
  return leat_ok_status();
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
    if (t->is_guarded) unguard_key(t, key_at(t, keys, i), bucket);
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
  end_guard(t);
  leat_tensor_release(&t->keys);
  leat_tensor_release(&t->values);
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
  end_guard(t);
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
  leat_tensor_t keys, values;
  LEAT_RETURN_IF_ERROR(make_buckets(t, o->bucket_count, &keys, &values));
  set_buckets(t, keys, values, o->bucket_count);
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
  leat_word_map_initialize(leat_allocator_system(), &t->places);
  leat_word_map_initialize(leat_allocator_system(), &t->taken);
  t->max_load_factor = options->max_load_factor;
  leat_status_t status = fill_in(options, t);
  if (status) {
    leat_resource_release(&t->base.resource);
    return status;
  }
  *out_table = &t->base;
  return leat_ok_status();
}

int64_t leat_dense_table_probe_count(leat_lookup_t* table) {
  dense_table_t* t = (dense_table_t*)table;
  leat_mutex_lock(&t->mutex);
  int64_t count = t->probe_count;
  leat_mutex_unlock(&t->mutex);
  return count;
}
