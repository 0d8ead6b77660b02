// Open addressing, twice as many slots as keys. Elements of up to 8 bytes are brought to one word,
// in which equal numbers are equal; strings are compared as they are. A NaN, equal to none, is put
// by its place, so that many of them do not pile up.
#include "ops/array/key_table_cpu.h"

typedef struct word_s {
  uint64_t bits;
  bool is_nan;
} word_t;

static inline word_t word_of(int dtype, const void* elements, int64_t at) {
  word_t word = {0, false};
  uint64_t magnitude = 0, infinity = 0;
  switch (dtype) {
    case LEAT_DTYPE_FLOAT:
      word.bits = ((const uint32_t*)elements)[at];
      magnitude = word.bits & 0x7fffffff, infinity = 0x7f800000;
      break;
    case LEAT_DTYPE_DOUBLE:
      word.bits = ((const uint64_t*)elements)[at];
      magnitude = word.bits & INT64_MAX, infinity = UINT64_C(0x7ff0000000000000);
      break;
    case LEAT_DTYPE_HALF:
    case LEAT_DTYPE_BFLOAT16:
      word.bits = ((const uint16_t*)elements)[at];
      magnitude = word.bits & 0x7fff, infinity = dtype == LEAT_DTYPE_HALF ? 0x7c00 : 0x7f80;
      break;
    default:
      switch (leat_dtype_size(dtype)) {
        case 1: word.bits = ((const uint8_t*)elements)[at]; break;
        case 2: word.bits = ((const uint16_t*)elements)[at]; break;
        case 4: word.bits = ((const uint32_t*)elements)[at]; break;
        default: word.bits = ((const uint64_t*)elements)[at]; break;
      }
      return word;
  }
  if (magnitude == 0) word.bits = 0;
  word.is_nan = magnitude > infinity;
  return word;
}

static inline uint64_t mix(uint64_t x) {
  x ^= x >> 32;
  x *= UINT64_C(0xd6e8feb86659fd93);
  x ^= x >> 32;
  x *= UINT64_C(0xd6e8feb86659fd93);
  return x ^ x >> 32;
}

static inline bool is_single(const leat_keys_t* keys) { return keys->outer * keys->inner == 1; }

// Index in the tensor of element |k| of the slices' elements, for slice |at|.
static inline int64_t element_of(const leat_keys_t* keys, int64_t at, int64_t k) {
  return (k / keys->inner * keys->count + at) * keys->inner + k % keys->inner;
}

static uint64_t hash_of(const leat_keys_t* keys, int64_t at) {
  const leat_tensor_t* tensor = keys->tensor;
  bool is_string = tensor->dtype == LEAT_DTYPE_STRING;
  uint64_t hash = 0;
  for (int64_t k = 0; k < keys->outer * keys->inner; ++k) {
    int64_t element = element_of(keys, at, k);
    if (is_string) {
      hash = mix(hash + leat_string_view_hash(leat_tensor_string_at(tensor, element)));
    } else {
      word_t word = word_of(tensor->dtype, tensor->data, element);
      hash = mix(hash + (word.is_nan ? (uint64_t)at : word.bits));
    }
  }
  return hash;
}

static bool elements_equal(const leat_tensor_t* a, int64_t at_a, const leat_tensor_t* b,
                           int64_t at_b) {
  if (a->dtype == LEAT_DTYPE_STRING) {
    return leat_string_view_equal(leat_tensor_string_at(a, at_a), leat_tensor_string_at(b, at_b));
  }
  word_t x = word_of(a->dtype, a->data, at_a), y = word_of(b->dtype, b->data, at_b);
  return x.bits == y.bits && !x.is_nan;
}

static bool keys_equal(const leat_keys_t* a, int64_t at_a, const leat_keys_t* b, int64_t at_b) {
  for (int64_t k = 0; k < a->outer * a->inner; ++k) {
    if (!elements_equal(a->tensor, element_of(a, at_a, k), b->tensor, element_of(b, at_b, k))) {
      return false;
    }
  }
  return true;
}

// The slot of the key, or the free one where it would be.
static uint64_t find_slot(const leat_key_table_t* table, const leat_keys_t* keys, int64_t at) {
  const int32_t* slots = table->slots.data;
  const int32_t* firsts = table->firsts.data;
  uint64_t slot;
  if (is_single(keys) && keys->tensor->dtype != LEAT_DTYPE_STRING) {
    int dtype = keys->tensor->dtype;
    word_t word = word_of(dtype, keys->tensor->data, at);
    slot = mix(word.is_nan ? (uint64_t)at : word.bits) & table->mask;
    for (; slots[slot]; slot = (slot + 1) & table->mask) {
      if (word.is_nan) continue;
      const void* stored = table->keys.tensor->data;
      if (word_of(dtype, stored, firsts[slots[slot] - 1]).bits == word.bits) break;
    }
    return slot;
  }
  slot = hash_of(keys, at) & table->mask;
  for (; slots[slot]; slot = (slot + 1) & table->mask) {
    if (keys_equal(keys, at, &table->keys, firsts[slots[slot] - 1])) break;
  }
  return slot;
}

leat_status_t leat_key_table_initialize(leat_kernel_context_t* c, leat_keys_t keys,
                                        leat_key_table_t* out_table) {
  *out_table = (leat_key_table_t){.keys = keys};
  uint64_t capacity = 16;
  while (capacity < 2 * (uint64_t)keys.count) capacity *= 2;
  out_table->mask = capacity - 1;
  leat_shape_t slots = leat_shape_vector((int64_t)capacity), firsts = leat_shape_vector(keys.count);
  LEAT_RETURN_IF_ERROR(
      leat_kernel_allocate_temporary(c, LEAT_DTYPE_INT32, &slots, &out_table->slots));
  leat_status_t status =
      leat_kernel_allocate_temporary(c, LEAT_DTYPE_INT32, &firsts, &out_table->firsts);
  if (status) {
    leat_tensor_release(&out_table->slots);
    return status;
  }
  leat_tensor_fill_zero(&out_table->slots);
  return leat_ok_status();
}

void leat_key_table_deinitialize(leat_key_table_t* table) {
  leat_tensor_release(&table->slots);
  leat_tensor_release(&table->firsts);
}

int32_t leat_key_table_add(leat_key_table_t* table, int64_t at) {
  int32_t* slots = table->slots.data;
  uint64_t slot = find_slot(table, &table->keys, at);
  if (slots[slot]) return slots[slot] - 1;
  leat_tensor_data(&table->firsts, int32_t)[table->size] = (int32_t)at;
  slots[slot] = ++table->size;
  return table->size - 1;
}

bool leat_key_table_has(const leat_key_table_t* table, const leat_keys_t* keys, int64_t at) {
  return leat_tensor_data(&table->slots, const int32_t)[find_slot(table, keys, at)] != 0;
}
