// The hash table of key_table_cpu.h: open addressing with linear probing. At most about half of the
// slots are taken. The table begins small and grows with the different keys, not with all keys, so
// that a long tensor of few different elements has a table that stays in the cache.
//
//   slot, 64 bits:   | tag, 32 bits | number of the key + 1, 32 bits |     all 0: free
//
// The tag is the element itself where that has up to 4 bytes, so that a slot tells all; otherwise
// it is a part of the hash, and keys are looked up only where the tags agree. Elements of up to 8
// bytes are brought to one word in which equal numbers have equal bits: -0 becomes 0. Strings and
// slices are compared element by element.
//
// A NaN equals no key, so that each NaN is a new one. Its hash is made of its position: hashed by
// their bits, many NaNs would pile up in one run of slots and make the loop quadratic. Loops over
// single elements fetch the slots of later keys ahead.
#include "ops/index/key_table_cpu.h"

// What is marked so is inlined into the loops, which then know the type as a constant.
#define INLINE static inline __attribute__((always_inline))

typedef struct word_s {
  uint64_t bits;
  bool is_nan;
} word_t;

// Returns the size of an element; leat_dtype_size does too, but the compiler does not see through
// it.
INLINE size_t width_of(int dtype) {
  switch (dtype) {
    case LEAT_DTYPE_DOUBLE:
    case LEAT_DTYPE_INT64:
    case LEAT_DTYPE_UINT64: return 8;
    case LEAT_DTYPE_FLOAT:
    case LEAT_DTYPE_INT32:
    case LEAT_DTYPE_UINT32: return 4;
    case LEAT_DTYPE_INT8:
    case LEAT_DTYPE_UINT8:
    case LEAT_DTYPE_BOOL: return 1;
    default: return 2;
  }
}

// Returns element |at| as a word in which equal numbers have equal bits.
INLINE word_t word_of(int dtype, const void* elements, int64_t at) {
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
      switch (width_of(dtype)) {
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

// Spreads every bit of |x| over the result, because keys are often small consecutive integers.
static inline uint64_t mix(uint64_t x) {
  x ^= x >> 32;
  x *= UINT64_C(0xd6e8feb86659fd93);
  x ^= x >> 32;
  x *= UINT64_C(0xd6e8feb86659fd93);
  return x ^ x >> 32;
}

// Returns the index in the tensor of element |k| of key |at|.
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

// ---- Slots --------------------------------------------------------------------------------------

#define FIRST_CAPACITY 2048
#define GROWTH 4
#define AHEAD 8  // keys whose slots are fetched early

// Says whether the tag is the whole key.
INLINE bool is_exact(int dtype) { return width_of(dtype) <= 4; }

INLINE uint64_t tag_of(int dtype, uint64_t bits, uint64_t hash) {
  return is_exact(dtype) ? bits << 32 : hash & UINT64_C(0xffffffff00000000);
}

// Returns the slot of a key of the single element |word|, or the free slot where it belongs.
INLINE uint64_t find_word(const leat_key_table_t* table, int dtype, word_t word,
                          uint64_t hash) {
  const uint64_t* slots = table->slots.data;
  uint64_t tag = tag_of(dtype, word.bits, hash), slot = hash & table->mask;
  for (; slots[slot]; slot = (slot + 1) & table->mask) {
    if (word.is_nan || (slots[slot] ^ tag) >> 32) continue;
    if (is_exact(dtype)) break;
    int64_t first = leat_key_table_first(table, (int64_t)(uint32_t)slots[slot] - 1);
    if (word_of(dtype, table->keys.tensor->data, first).bits == word.bits) break;
  }
  return slot;
}

INLINE uint64_t hash_word(word_t word, int64_t at) {
  return mix(word.is_nan ? (uint64_t)at : word.bits);
}

// Returns the slot of key |at| of |keys|, which are strings or slices, or the free slot where it
// belongs.
static uint64_t find_slice(const leat_key_table_t* table, const leat_keys_t* keys, int64_t at,
                           uint64_t hash) {
  const uint64_t* slots = table->slots.data;
  uint64_t slot = hash & table->mask;
  for (; slots[slot]; slot = (slot + 1) & table->mask) {
    if ((slots[slot] ^ hash) >> 32) continue;
    int64_t first = leat_key_table_first(table, (int64_t)(uint32_t)slots[slot] - 1);
    if (keys_equal(keys, at, &table->keys, first)) break;
  }
  return slot;
}

// Says whether a key is a single element that word_of takes.
static inline bool is_word(const leat_keys_t* keys) {
  return keys->outer * keys->inner == 1 && keys->tensor->dtype != LEAT_DTYPE_STRING;
}

// ---- Growth -------------------------------------------------------------------------------------

static leat_status_t allocate_slots(leat_kernel_context_t* c, uint64_t capacity,
                                    leat_key_table_t* table) {
  leat_shape_t shape = leat_shape_vector((int64_t)capacity);
  LEAT_RETURN_IF_ERROR(
      leat_kernel_allocate_temporary(c, LEAT_DTYPE_UINT64, &shape, &table->slots));
  leat_tensor_fill_zero(&table->slots);
  table->mask = capacity - 1;
  return leat_ok_status();
}

// Makes the table GROWTH times as large. The keys in it are different, so that each takes the first
// free slot from its hash on and none is compared.
static leat_status_t grow(leat_key_table_t* table, leat_kernel_context_t* c) {
  leat_tensor_t old = leat_tensor_move(&table->slots);
  leat_status_t status = allocate_slots(c, (table->mask + 1) * GROWTH, table);
  const uint64_t* from = old.data;
  uint64_t* slots = table->slots.data;
  const leat_keys_t* keys = &table->keys;
  for (int64_t i = 0; !status && i < old.shape.element_count; ++i) {
    if (!from[i]) continue;
    int64_t first = leat_key_table_first(table, (int64_t)(uint32_t)from[i] - 1);
    uint64_t hash = is_word(keys) ? hash_word(word_of(keys->tensor->dtype, keys->tensor->data,
                                                      first), first)
                                  : hash_of(keys, first);
    uint64_t slot = hash & table->mask;
    while (slots[slot]) slot = (slot + 1) & table->mask;
    slots[slot] = from[i];
  }
  leat_tensor_release(&old);
  return status;
}

leat_status_t leat_key_table_initialize(leat_kernel_context_t* c, leat_keys_t keys,
                                        leat_key_table_t* out_table) {
  *out_table = (leat_key_table_t){.keys = keys};
  leat_shape_t firsts = leat_shape_vector(keys.count);
  LEAT_RETURN_IF_ERROR(allocate_slots(c, FIRST_CAPACITY, out_table));
  leat_status_t status =
      leat_kernel_allocate_temporary(c, LEAT_DTYPE_INT32, &firsts, &out_table->firsts);
  if (status) leat_tensor_release(&out_table->slots);
  return status;
}

void leat_key_table_deinitialize(leat_key_table_t* table) {
  leat_tensor_release(&table->slots);
  leat_tensor_release(&table->firsts);
}

// ---- Adding -------------------------------------------------------------------------------------

// Returns the number of key |at|, whose slot is |slot|. In a free slot it becomes a new key.
INLINE int32_t take_slot(leat_key_table_t* table, uint64_t slot, uint64_t tag, int64_t at) {
  uint64_t* slots = table->slots.data;
  if (slots[slot]) return (int32_t)((uint32_t)slots[slot] - 1);
  leat_tensor_data(&table->firsts, int32_t)[table->size] = (int32_t)at;
  slots[slot] = (tag & UINT64_C(0xffffffff00000000)) | (uint32_t)++table->size;
  return table->size - 1;
}

INLINE void set_number(leat_tensor_t* numbers, int64_t at, int32_t number) {
  if (!numbers) return;
  if (numbers->dtype == LEAT_DTYPE_INT32) leat_tensor_data(numbers, int32_t)[at] = number;
  else leat_tensor_data(numbers, int64_t)[at] = number;
}

// Adds all keys, which are single elements of |dtype|.
INLINE leat_status_t add_words(leat_key_table_t* table, leat_kernel_context_t* c,
                               leat_tensor_t* numbers, int dtype) {
  const void* elements = table->keys.tensor->data;
  for (int64_t i = 0; i < table->keys.count; ++i) {
    if (LEAT_UNLIKELY((uint64_t)table->size * 2 > table->mask)) {
      LEAT_RETURN_IF_ERROR(grow(table, c));
    }
    if (i + AHEAD < table->keys.count) {
      word_t next = word_of(dtype, elements, i + AHEAD);
      __builtin_prefetch((uint64_t*)table->slots.data + (hash_word(next, 0) & table->mask));
    }
    word_t word = word_of(dtype, elements, i);
    uint64_t hash = hash_word(word, i), slot = find_word(table, dtype, word, hash);
    set_number(numbers, i, take_slot(table, slot, tag_of(dtype, word.bits, hash), i));
  }
  return leat_ok_status();
}

static leat_status_t add_slices(leat_key_table_t* table, leat_kernel_context_t* c,
                                leat_tensor_t* numbers) {
  for (int64_t i = 0; i < table->keys.count; ++i) {
    if ((uint64_t)table->size * 2 > table->mask) LEAT_RETURN_IF_ERROR(grow(table, c));
    uint64_t hash = hash_of(&table->keys, i);
    uint64_t slot = find_slice(table, &table->keys, i, hash);
    set_number(numbers, i, take_slot(table, slot, hash, i));
  }
  return leat_ok_status();
}

leat_status_t leat_key_table_add_all(leat_key_table_t* table, leat_kernel_context_t* c,
                                     leat_tensor_t* out_numbers) {
  int dtype = table->keys.tensor->dtype;
  if (!is_word(&table->keys)) return add_slices(table, c, out_numbers);
  // The constants give frequent types loops that are compiled for them.
  switch (dtype) {
    case LEAT_DTYPE_INT32: return add_words(table, c, out_numbers, LEAT_DTYPE_INT32);
    case LEAT_DTYPE_INT64: return add_words(table, c, out_numbers, LEAT_DTYPE_INT64);
    case LEAT_DTYPE_FLOAT: return add_words(table, c, out_numbers, LEAT_DTYPE_FLOAT);
    default: return add_words(table, c, out_numbers, dtype);
  }
}

bool leat_key_table_has(const leat_key_table_t* table, const leat_keys_t* keys, int64_t at) {
  const uint64_t* slots = table->slots.data;
  if (!is_word(keys)) return slots[find_slice(table, keys, at, hash_of(keys, at))] != 0;
  int dtype = keys->tensor->dtype;
  word_t word = word_of(dtype, keys->tensor->data, at);
  return slots[find_word(table, dtype, word, hash_word(word, at))] != 0;
}
