// Keys of dense hash tables (dense_table_cpu.c): one or several elements of int32, int64 or string,
// behind each other in a tensor. There are two hashes. One is TensorFlow's, which decides in which
// bucket a key lies, and which whoever knows TensorFlow can foresee. The other one is keyed with
// random words, so that nobody who chooses keys can foresee it.
#ifndef LEAT_OPS_LOOKUP_DENSE_KEY_CPU_H_
#define LEAT_OPS_LOOKUP_DENSE_KEY_CPU_H_

#include <stdbool.h>
#include <stdint.h>

// What the keys of a table are.
typedef struct leat_dense_keys_s {
  int dtype;
  int64_t size;  // elements of one key
} leat_dense_keys_t;

// TensorFlow's hash.
uint64_t leat_dense_key_hash(leat_dense_keys_t keys, const void* key);
// A hash that depends on |seed| in every bit.
uint64_t leat_dense_key_keyed_hash(leat_dense_keys_t keys, const uint64_t seed[2],
                                   const void* key);
bool leat_dense_key_equal(leat_dense_keys_t keys, const void* a, const void* b);

#endif  // LEAT_OPS_LOOKUP_DENSE_KEY_CPU_H_
