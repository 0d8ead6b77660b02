#include "ops/lookup/dense_key_cpu.h"

#include <string.h>

#include "base/fingerprint.h"
#include "kernel/kernel.h"

static leat_string_view_t view_of(const TF_TString* string) {
  return leat_string_view_make(TF_TString_GetDataPointer(string), TF_TString_GetSize(string));
}

static uint64_t hash_scalar(int dtype, const void* keys, int64_t index) {
  if (dtype == LEAT_DTYPE_INT64) return (uint64_t)((const int64_t*)keys)[index];
  if (dtype == LEAT_DTYPE_INT32) return (uint64_t)(int64_t)((const int32_t*)keys)[index];
  return leat_fingerprint_murmur(view_of(&((const TF_TString*)keys)[index]));
}

static size_t bytes_of(leat_dense_keys_t keys) {
  return (size_t)keys.size * leat_dtype_size(keys.dtype);
}

// A key of one element hashes as it is; the hashes of several are combined as TensorFlow combines
// them.
uint64_t leat_dense_key_hash(leat_dense_keys_t keys, const void* key) {
  if (keys.size == 1) return hash_scalar(keys.dtype, key, 0);
  uint64_t hash = 0;
  for (int64_t i = 0; i < keys.size; ++i) {
    uint64_t item = hash_scalar(keys.dtype, key, i);
    hash ^= item + UINT64_C(0x9e3779b97f4a7800) + (hash << 10) + (hash >> 4);
  }
  return hash;
}

uint64_t leat_dense_key_keyed_hash(leat_dense_keys_t keys, const uint64_t seed[2],
                                   const void* key) {
  if (keys.dtype != LEAT_DTYPE_STRING) {
    return leat_fingerprint_keyed(seed, leat_string_view_make(key, bytes_of(keys)));
  }
  // Each string is hashed with what came before as part of its key, so that it matters where one
  // string ends and the next begins.
  uint64_t words[2] = {seed[0], seed[1]};
  for (int64_t i = 0; i < keys.size; ++i) {
    words[1] ^= leat_fingerprint_keyed(words, view_of(&((const TF_TString*)key)[i]));
  }
  return words[1];
}

bool leat_dense_key_equal(leat_dense_keys_t keys, const void* a, const void* b) {
  if (keys.dtype != LEAT_DTYPE_STRING) return memcmp(a, b, bytes_of(keys)) == 0;
  for (int64_t i = 0; i < keys.size; ++i) {
    if (!leat_string_view_equal(view_of(&((const TF_TString*)a)[i]),
                                view_of(&((const TF_TString*)b)[i]))) {
      return false;
    }
  }
  return true;
}
