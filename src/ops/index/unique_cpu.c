// The CPU kernels of Unique and its variants, and ListDiff. Both use a hash table, which
// is the first half of this file; its keys are the slices along an axis, mostly single elements.
//
//   Unique    x 7 7 3  ->  y 7 3 (first appearances), idx 0 0 1, count 2 1
//   ListDiff  x 7 3 9, y 3  ->  out 7 9, idx 0 2
//
// Unique numbers all keys, then copies each key from where it first appears; counts are made of the
// numbers. ListDiff puts y into a table and asks it twice for each item of x: once to count what is
// missing, since the outputs must be allocated, and once to write it.
#include "base/checked.h"
#include "kernel/kernel.h"
#include "ops/array/index_cpu.h"
#include "ops/array/strided_cpu.h"
#include "ops/array/types.h"
#include "ops/kernel_rows.h"

// ---- The table of keys --------------------------------------------------------------------------

// A key is a slice of a tensor [outer, count, inner] along the middle dimension, mostly a single
// element. The table numbers different keys in the order in which they first appear:
//
//   keys     7 7 3 7 9 3
//   numbers  0 0 1 0 2 1      firsts 0 2 4 (by number, where the key first appears)
//
// Keys are equal when their elements are equal as numbers: 0 and -0 are, and a NaN equals nothing,
// not even itself. The table borrows the tensor of its keys, and is used by one thread.
//
// It uses open addressing with linear probing, and at most about half of its slots are taken. It
// begins small and grows with the different keys, not with all keys, so that a long tensor of few
// different elements has a table that stays in the cache.
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

// The keys of a tensor [outer, count, inner], which is borrowed.
typedef struct keys_s {
  const leat_tensor_t* tensor;
  int64_t outer, count, inner;
} keys_t;

typedef struct key_table_s {
  keys_t keys;
  // uint64 each: a tag in the high 32 bits, the key's number + 1 in the low ones; 0 is a free slot.
  leat_tensor_t slots;
  leat_tensor_t firsts;  // int32: by number, the index of the key's first appearance
  uint64_t mask;         // the number of slots, a power of two, less 1
  int32_t size;          // different keys so far
} key_table_t;

// Returns the index at which key |number| first appears.
static int64_t key_table_first(const key_table_t* table, int64_t number) {
  return leat_tensor_data(&table->firsts, const int32_t)[number];
}

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
static inline int64_t element_of(const keys_t* keys, int64_t at, int64_t k) {
  return (k / keys->inner * keys->count + at) * keys->inner + k % keys->inner;
}

static uint64_t hash_of(const keys_t* keys, int64_t at) {
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

static bool keys_equal(const keys_t* a, int64_t at_a, const keys_t* b, int64_t at_b) {
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
INLINE uint64_t find_word(const key_table_t* table, int dtype, word_t word,
                          uint64_t hash) {
  const uint64_t* slots = table->slots.data;
  uint64_t tag = tag_of(dtype, word.bits, hash), slot = hash & table->mask;
  for (; slots[slot]; slot = (slot + 1) & table->mask) {
    if (word.is_nan || (slots[slot] ^ tag) >> 32) continue;
    if (is_exact(dtype)) break;
    int64_t first = key_table_first(table, (int64_t)(uint32_t)slots[slot] - 1);
    if (word_of(dtype, table->keys.tensor->data, first).bits == word.bits) break;
  }
  return slot;
}

INLINE uint64_t hash_word(word_t word, int64_t at) {
  return mix(word.is_nan ? (uint64_t)at : word.bits);
}

// Returns the slot of key |at| of |keys|, which are strings or slices, or the free slot where it
// belongs.
static uint64_t find_slice(const key_table_t* table, const keys_t* keys, int64_t at,
                           uint64_t hash) {
  const uint64_t* slots = table->slots.data;
  uint64_t slot = hash & table->mask;
  for (; slots[slot]; slot = (slot + 1) & table->mask) {
    if ((slots[slot] ^ hash) >> 32) continue;
    int64_t first = key_table_first(table, (int64_t)(uint32_t)slots[slot] - 1);
    if (keys_equal(keys, at, &table->keys, first)) break;
  }
  return slot;
}

// Says whether a key is a single element that word_of takes.
static inline bool is_word(const keys_t* keys) {
  return keys->outer * keys->inner == 1 && keys->tensor->dtype != LEAT_DTYPE_STRING;
}

// ---- Growth -------------------------------------------------------------------------------------

static leat_status_t allocate_slots(leat_kernel_context_t* c, uint64_t capacity,
                                    key_table_t* table) {
  leat_shape_t shape = leat_shape_vector((int64_t)capacity);
  LEAT_RETURN_IF_ERROR(
      leat_kernel_allocate_temporary(c, LEAT_DTYPE_UINT64, &shape, &table->slots));
  leat_tensor_fill_zero(&table->slots);
  table->mask = capacity - 1;
  return leat_ok_status();
}

// Makes the table GROWTH times as large. The keys in it are different, so that each takes the first
// free slot from its hash on and none is compared.
static leat_status_t grow(key_table_t* table, leat_kernel_context_t* c) {
  leat_tensor_t old = leat_tensor_move(&table->slots);
  leat_status_t status = allocate_slots(c, (table->mask + 1) * GROWTH, table);
  const uint64_t* from = old.data;
  uint64_t* slots = table->slots.data;
  const keys_t* keys = &table->keys;
  for (int64_t i = 0; !status && i < old.shape.element_count; ++i) {
    if (!from[i]) continue;
    int64_t first = key_table_first(table, (int64_t)(uint32_t)from[i] - 1);
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

// Makes an empty table for |keys|, of which there must be less than 2^31. Its memory is the step's;
// key_table_deinitialize releases it.
static leat_status_t key_table_initialize(leat_kernel_context_t* c, keys_t keys,
                                          key_table_t* out_table) {
  *out_table = (key_table_t){.keys = keys};
  leat_shape_t firsts = leat_shape_vector(keys.count);
  LEAT_RETURN_IF_ERROR(allocate_slots(c, FIRST_CAPACITY, out_table));
  leat_status_t status =
      leat_kernel_allocate_temporary(c, LEAT_DTYPE_INT32, &firsts, &out_table->firsts);
  if (status) leat_tensor_release(&out_table->slots);
  return status;
}

static void key_table_deinitialize(key_table_t* table) {
  leat_tensor_release(&table->slots);
  leat_tensor_release(&table->firsts);
}

// ---- Adding -------------------------------------------------------------------------------------

// Returns the number of key |at|, whose slot is |slot|. In a free slot it becomes a new key.
INLINE int32_t take_slot(key_table_t* table, uint64_t slot, uint64_t tag, int64_t at) {
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
INLINE leat_status_t add_words(key_table_t* table, leat_kernel_context_t* c,
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

static leat_status_t add_slices(key_table_t* table, leat_kernel_context_t* c,
                                leat_tensor_t* numbers) {
  for (int64_t i = 0; i < table->keys.count; ++i) {
    if ((uint64_t)table->size * 2 > table->mask) LEAT_RETURN_IF_ERROR(grow(table, c));
    uint64_t hash = hash_of(&table->keys, i);
    uint64_t slot = find_slice(table, &table->keys, i, hash);
    set_number(numbers, i, take_slot(table, slot, hash, i));
  }
  return leat_ok_status();
}

// Adds all of the table's keys. |out_numbers| (int32 or int64 [count], or NULL) gets the number of
// each. Fails only for want of memory.
static leat_status_t key_table_add_all(key_table_t* table, leat_kernel_context_t* c,
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

// Says whether key |at| of |keys|, which have the same type and slice size, is in the table.
static bool key_table_has(const key_table_t* table, const keys_t* keys, int64_t at) {
  const uint64_t* slots = table->slots.data;
  if (!is_word(keys)) return slots[find_slice(table, keys, at, hash_of(keys, at))] != 0;
  int dtype = keys->tensor->dtype;
  word_t word = word_of(dtype, keys->tensor->data, at);
  return slots[find_word(table, dtype, word, hash_word(word, at))] != 0;
}

// ---- The kernels --------------------------------------------------------------------------------

// Reads the axis; without one x must be a vector.
static leat_status_t read_axis(const leat_kernel_context_t* c, int rank, int* out_axis) {
  *out_axis = 0;
  const leat_tensor_t* axis = leat_kernel_input_count(c) > 1 ? leat_kernel_input(c, 1) : NULL;
  if (axis && (axis->shape.rank != 1 || axis->shape.element_count > 1)) {
    return leat_kernel_invalid(c, "axis expects a 1D vector. It has shape %s, and at most one item",
                               LEAT_SHAPE_TEXT(&axis->shape));
  }
  if (axis && axis->shape.element_count == 1) return leat_axis_read(c, 1, rank, out_axis);
  if (rank == 1) return leat_ok_status();
  return leat_kernel_invalid(c, "unique expects a 1D vector. The rank of x is %d", rank);
}

// Output 0 becomes the different keys, in the order in which they first appear.
static leat_status_t take_unique(leat_kernel_context_t* c, const key_table_t* table,
                                 int axis) {
  const keys_t* keys = &table->keys;
  const leat_tensor_t* input = keys->tensor;
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  memcpy(dims, leat_shape_dims(&input->shape), (size_t)input->shape.rank * sizeof(int64_t));
  dims[axis] = table->size;
  leat_tensor_t* output;
  leat_status_t status = leat_kernel_allocate_sized(c, 0, input->shape.rank, dims, &output);
  for (int64_t o = 0; !status && o < keys->outer && keys->inner > 0; ++o) {
    for (int64_t i = 0; !status && i < table->size; ++i) {
      int64_t from = (o * keys->count + key_table_first(table, i)) * keys->inner;
      int64_t to = (o * table->size + i) * keys->inner;
      if (keys->inner == 1 && leat_dtype_size(input->dtype) == 4) {
        leat_tensor_data(output, uint32_t)[to] = leat_tensor_data(input, const uint32_t)[from];
        continue;
      }
      status = leat_tensor_copy_elements(
          input->dtype, leat_element_at(input->data, input->dtype, from),
          leat_element_at(output->data, input->dtype, to), keys->inner);
    }
  }
  return status;
}

// Output 2, where the op has one, becomes how often each key appears.
static leat_status_t count_unique(leat_kernel_context_t* c, int32_t size) {
  if (c->kernel->output_count < 3) return leat_ok_status();
  const leat_tensor_t* numbers = leat_kernel_output(c, 1);
  leat_shape_t shape = leat_shape_vector(size);
  leat_tensor_t* counts;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 2, &shape, &counts));
  leat_tensor_fill_zero(counts);
  for (int64_t i = 0; i < numbers->shape.element_count; ++i) {
    int64_t number = leat_tensor_index_at(numbers, i);
    leat_index_write(counts, number, leat_tensor_index_at(counts, number) + 1);
  }
  return leat_ok_status();
}

static leat_status_t number_keys(leat_kernel_context_t* c, key_table_t* table, int axis) {
  leat_shape_t shape = leat_shape_vector(table->keys.count);
  leat_tensor_t* numbers;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 1, &shape, &numbers));
  LEAT_RETURN_IF_ERROR(key_table_add_all(table, c, numbers));
  LEAT_RETURN_IF_ERROR(take_unique(c, table, axis));
  return count_unique(c, table->size);
}

static leat_status_t unique__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  const leat_shape_t* shape = &input->shape;
  int axis;
  LEAT_RETURN_IF_ERROR(read_axis(c, shape->rank, &axis));
  keys_t keys = {.tensor = input,
                      .outer = leat_shape_product(shape, 0, axis),
                      .count = leat_shape_dim(shape, axis),
                      .inner = leat_shape_product(shape, axis + 1, shape->rank)};
  if (shape->element_count > INT32_MAX || keys.count > INT32_MAX) {
    return leat_kernel_invalid(c, "x has shape %s, must have less than 2^31 elements",
                               LEAT_SHAPE_TEXT(shape));
  }
  key_table_t table;
  LEAT_RETURN_IF_ERROR(key_table_initialize(c, keys, &table));
  leat_status_t status = number_keys(c, &table, axis);
  key_table_deinitialize(&table);
  return status;
}

// ---- ListDiff -----------------------------------------------------------------------------------

static keys_t keys_of(const leat_tensor_t* vector) {
  return (keys_t){vector, 1, vector->shape.element_count, 1};
}

// Outputs the |keys| that are not in |table|, and their positions.
static leat_status_t list_missing(leat_kernel_context_t* c, const key_table_t* table,
                                  const keys_t* keys) {
  const leat_tensor_t* x = keys->tensor;
  int64_t size = 0;
  for (int64_t i = 0; i < keys->count; ++i) size += !key_table_has(table, keys, i);
  leat_shape_t shape = leat_shape_vector(size);
  leat_tensor_t *output, *positions;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &shape, &output));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 1, &shape, &positions));
  int64_t next = 0;
  for (int64_t i = 0; next < size; ++i) {
    if (key_table_has(table, keys, i)) continue;
    LEAT_RETURN_IF_ERROR(leat_tensor_copy_elements(
        x->dtype, leat_element_at(x->data, x->dtype, i),
        leat_element_at(output->data, x->dtype, next), 1));
    leat_index_write(positions, next++, i);
  }
  return leat_ok_status();
}

static leat_status_t list_diff__cpu(leat_kernel_context_t* c) {
  keys_t x = keys_of(leat_kernel_input(c, 0)), y = keys_of(leat_kernel_input(c, 1));
  if (x.tensor->shape.rank != 1 || y.tensor->shape.rank != 1) {
    return leat_kernel_invalid(c, "x and y have shapes %s and %s, must be vectors",
                               LEAT_SHAPE_TEXT(&x.tensor->shape),
                               LEAT_SHAPE_TEXT(&y.tensor->shape));
  }
  if (x.count >= INT32_MAX || y.count >= INT32_MAX) {
    return leat_kernel_invalid(c, "x has %lld items and y %lld, must have less than 2^31 - 1",
                               (long long)x.count, (long long)y.count);
  }
  key_table_t table;
  LEAT_RETURN_IF_ERROR(key_table_initialize(c, y, &table));
  leat_status_t status = key_table_add_all(&table, c, NULL);
  if (!status) status = list_missing(c, &table, &x);
  key_table_deinitialize(&table);
  return status;
}

#define UNIQUE_TYPES "T: " LEAT_TYPES_REAL ", bool, string; out_idx: " LEAT_TYPES_INDEX

const leat_kernel_row_t leat_unique_kernels_cpu[] = {
    {.op = "Unique", .device_type = "CPU", .constraints = UNIQUE_TYPES, .compute = unique__cpu},
    {.op = "UniqueV2", .device_type = "CPU", .constraints = UNIQUE_TYPES, .compute = unique__cpu},
    {.op = "UniqueWithCounts",
     .device_type = "CPU",
     .constraints = UNIQUE_TYPES,
     .compute = unique__cpu},
    {.op = "UniqueWithCountsV2",
     .device_type = "CPU",
     .constraints = UNIQUE_TYPES,
     .compute = unique__cpu},
    {.op = "ListDiff",
     .device_type = "CPU",
     .constraints = "T: " LEAT_TYPES_REAL ", string; out_idx: " LEAT_TYPES_INDEX,
     .compute = list_diff__cpu},
    LEAT_KERNEL_ROWS_END,
};
