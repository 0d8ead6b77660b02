// CPU kernels of maps from tensors to tensors. A map is a value in a variant tensor. A kernel that
// changes a map does so in place when nothing else holds it, and otherwise on a copy, which shares
// the tensors. Keys are compared by type, shape and content, written as one string:
//
//   "1 [2] " + bytes        any type of numbers
//   "7 [] 3 abc"            strings: each with its length, so that ["ab", "c"] is not ["a", "bc"]
//
// The strings stand in the hash table of the lookup tables (key_rows_cpu.h), which gives each key a
// row number; the key and value tensors lie in arrays by that number. Removing a key moves the last
// row to its place. ZerosLike of a map is the empty map, and the sum of two maps has the keys of
// both, which is what the gradients in tensor_map.c need.
#include <string.h>

#include "kernel/tensor_sum.h"
#include "ops/kernel_rows.h"
#include "ops/list/values.h"
#include "ops/lookup/key_rows_cpu.h"

typedef struct tensor_map_s {
  leat_reference_count_t references;
  leat_key_rows_t rows;  // the keys as strings; the values of this table are not used
  leat_tensor_t* keys;   // [rows.count]
  leat_tensor_t* values;
  size_t key_room, value_room;
} tensor_map_t;

// ---- Life ---------------------------------------------------------------------------------------

static leat_status_t create_map(tensor_map_t** out_map) {
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, out_map));
  (*out_map)->references = 1;
  leat_key_rows_initialize(LEAT_DTYPE_STRING, LEAT_DTYPE_BOOL, 1, &(*out_map)->rows);
  return leat_ok_status();
}

static void map_retain(void* self) {
  leat_reference_count_retain(&((tensor_map_t*)self)->references);
}

static void map_release(void* self) {
  tensor_map_t* map = self;
  if (!leat_reference_count_release(&map->references)) return;
  for (size_t i = 0; i < map->rows.count; ++i) {
    leat_tensor_release(&map->keys[i]);
    leat_tensor_release(&map->values[i]);
  }
  leat_key_rows_deinitialize(&map->rows);
  leat_allocator_free(leat_allocator_system(), map->keys);
  leat_allocator_free(leat_allocator_system(), map->values);
  leat_allocator_free(leat_allocator_system(), map);
}

// ---- Keys ---------------------------------------------------------------------------------------

// Appends the string that stands for |key|. Only strings and numbers (and booleans) can be keys.
static leat_status_t write_key(const leat_tensor_t* key, leat_string_builder_t* out) {
  int64_t count = key->shape.element_count;
  leat_string_builder_print(out, "%d %s ", key->dtype, LEAT_SHAPE_TEXT(&key->shape));
  if (!leat_dtype_in(key->dtype, LEAT_DTYPES_OBJECT)) {
    size_t size = (size_t)count * leat_dtype_size(key->dtype);
    leat_string_builder_append(out, leat_string_view_make(key->data, size));
  } else if (key->dtype != LEAT_DTYPE_STRING) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Keys of maps cannot be of type %s",
                            leat_dtype_name(key->dtype));
  }
  for (int64_t i = 0; key->dtype == LEAT_DTYPE_STRING && i < count; ++i) {
    leat_string_view_t text = leat_tensor_string_at(key, i);
    leat_string_builder_print(out, "%zu ", text.size);
    leat_string_builder_append(out, text);
  }
  return leat_status_clone(out->status);
}

// Finds the row of |key|, or -1. With |add| a missing key gets a new row, and |out_added| says so;
// the caller then sets the row's tensors.
static leat_status_t find_row(tensor_map_t* map, const leat_tensor_t* key, bool add,
                              int64_t* out_row, bool* out_added) {
  leat_string_builder_t text;
  leat_string_builder_initialize(leat_allocator_system(), &text);
  leat_status_t status = write_key(key, &text);
  if (!status) {
    TF_TString view;
    TF_TString_Init(&view);
    TF_TString_AssignView(&view, text.data, text.size);
    if (add) {
      status = leat_key_rows_find_or_add(&map->rows, &view, 0, out_row, out_added);
    } else {
      *out_row = leat_key_rows_find(&map->rows, &view, 0);
    }
  }
  leat_string_builder_deinitialize(&text);
  return status;
}

// Stores |value| (moved, also on failure) under |key| (shared), in place of a former value. All
// memory is allocated before the table is changed.
static leat_status_t put(tensor_map_t* map, const leat_tensor_t* key, leat_tensor_t value) {
  int64_t row;
  bool added = false;
  leat_allocator_t* allocator = leat_allocator_system();
  leat_status_t status = LEAT_GROW(allocator, map->rows.count + 1, &map->keys, &map->key_room);
  if (!status) {
    status = LEAT_GROW(allocator, map->rows.count + 1, &map->values, &map->value_room);
  }
  if (!status) status = find_row(map, key, true, &row, &added);
  if (status) {
    leat_tensor_release(&value);
    return status;
  }
  if (added) {
    map->keys[row] = leat_tensor_share(key);
  } else {
    leat_tensor_release(&map->values[row]);
  }
  map->values[row] = value;
  return leat_ok_status();
}

static void take_out(tensor_map_t* map, int64_t row) {
  leat_tensor_release(&map->keys[row]);
  leat_tensor_release(&map->values[row]);
  leat_key_rows_remove(&map->rows, row);  // the last row takes its place
  map->keys[row] = map->keys[map->rows.count];
  map->values[row] = map->values[map->rows.count];
}

static leat_status_t copy_map(const tensor_map_t* map, tensor_map_t** out_copy) {
  LEAT_RETURN_IF_ERROR(create_map(out_copy));
  for (size_t i = 0; i < map->rows.count; ++i) {
    leat_status_t status = put(*out_copy, &map->keys[i], leat_tensor_share(&map->values[i]));
    if (status) {
      map_release(*out_copy);
      return status;
    }
  }
  return leat_ok_status();
}

// ---- The variant --------------------------------------------------------------------------------

static leat_status_t map_zeros_like(void* self, leat_variant_t* out_variant) {
  tensor_map_t* empty;
  LEAT_RETURN_IF_ERROR(create_map(&empty));
  *out_variant = (leat_variant_t){&leat_tensor_map_vtable, empty};
  return leat_ok_status();
}

// Adds the entries of |other| to |sum|; the values of a key that both have are added.
static leat_status_t add_into(tensor_map_t* sum, const tensor_map_t* other) {
  for (size_t i = 0; i < other->rows.count; ++i) {
    int64_t row;
    leat_tensor_t value;
    LEAT_RETURN_IF_ERROR(find_row(sum, &other->keys[i], false, &row, NULL));
    if (row < 0) {
      value = leat_tensor_share(&other->values[i]);
    } else {
      LEAT_RETURN_IF_ERROR(leat_tensor_sum(&sum->values[row], &other->values[i], &value));
    }
    LEAT_RETURN_IF_ERROR(put(sum, &other->keys[i], value));
  }
  return leat_ok_status();
}

// Adds two maps. A key that only one has keeps its value.
static leat_status_t map_add(void* a, void* b, leat_variant_t* out_variant) {
  tensor_map_t* sum;
  LEAT_RETURN_IF_ERROR(copy_map(a, &sum));
  leat_status_t status = add_into(sum, b);
  if (status) {
    map_release(sum);
    return status;
  }
  *out_variant = (leat_variant_t){&leat_tensor_map_vtable, sum};
  return leat_ok_status();
}

// In a message a map is its keys and values in turn.
static leat_status_t map_encode(void* self, char** out_metadata, size_t* out_metadata_size,
                                struct leat_tensor_s** out_tensors, size_t* out_tensor_count) {
  const tensor_map_t* map = self;
  const size_t count = map->rows.count;
  *out_metadata = NULL;
  *out_metadata_size = 0;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 2 * count + 1, out_tensors));
  for (size_t i = 0; i < count; ++i) {
    (*out_tensors)[2 * i] = leat_tensor_share(&map->keys[i]);
    (*out_tensors)[2 * i + 1] = leat_tensor_share(&map->values[i]);
  }
  *out_tensor_count = 2 * count;
  return leat_ok_status();
}

static leat_status_t map_decode(leat_string_view_t metadata, leat_tensor_t* tensors, size_t count,
                                leat_variant_t* out_variant) {
  tensor_map_t* map;
  if (count % 2 != 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Tensor decode failed: a map has %zu tensors, must have two for each "
                            "entry",
                            count);
  }
  LEAT_RETURN_IF_ERROR(create_map(&map));
  for (size_t i = 0; i < count; i += 2) {
    leat_status_t status = put(map, &tensors[i], leat_tensor_move(&tensors[i + 1]));
    if (status) {
      map_release(map);
      return status;
    }
  }
  *out_variant = (leat_variant_t){&leat_tensor_map_vtable, map};
  return leat_ok_status();
}

const leat_variant_vtable_t leat_tensor_map_vtable = {
    .type_name = "tensorflow::TensorMap",
    .retain = map_retain,
    .release = map_release,
    .zeros_like = map_zeros_like,
    .add = map_add,
    .encode = map_encode,
    .decode = map_decode,
};

// ---- Kernels ------------------------------------------------------------------------------------

static leat_status_t input_map(leat_kernel_context_t* c, tensor_map_t** out_map) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  if (input->shape.rank != 0) {
    return leat_kernel_invalid(c, "Input map must be a scalar. Saw: %s",
                               LEAT_SHAPE_TEXT(&input->shape));
  }
  const leat_variant_t* variant = input->data;
  *out_map = variant->vtable == &leat_tensor_map_vtable ? variant->self : NULL;
  return *out_map ? leat_ok_status() : leat_kernel_invalid(c, "Input handle is not a map.");
}

// Finds the map at input 0 and the row of the key at input 1; |*out_row| is -1 where it has no such
// key.
static leat_status_t input_row(leat_kernel_context_t* c, tensor_map_t** out_map,
                               int64_t* out_row) {
  LEAT_RETURN_IF_ERROR(input_map(c, out_map));
  return find_row(*out_map, leat_kernel_input(c, 1), false, out_row, NULL);
}

static leat_status_t no_such_key(const leat_kernel_context_t* c) {
  return leat_kernel_invalid(c, "the key is none of the map's");
}

// Makes output 0 of the map at input 0 and returns its map, which may be changed.
static leat_status_t change_input(leat_kernel_context_t* c, tensor_map_t** out_map) {
  leat_tensor_t* output;
  tensor_map_t *map, *copy;
  LEAT_RETURN_IF_ERROR(input_map(c, &map));
  const leat_variant_t* from = leat_kernel_input(c, 0)->data;
  leat_shape_t scalar = leat_shape_scalar();
  LEAT_RETURN_IF_ERROR(leat_kernel_forward_or_allocate(c, 0, 0, &scalar, &output));
  leat_variant_t* to = leat_tensor_data(output, leat_variant_t);
  *out_map = map;
  if (to == from && atomic_load(&map->references) == 1) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(copy_map(map, &copy));
  leat_variant_t former = *to;
  *to = (leat_variant_t){&leat_tensor_map_vtable, copy};
  if (former.vtable) former.vtable->release(former.self);
  *out_map = copy;
  return leat_ok_status();
}

static leat_status_t empty__cpu(leat_kernel_context_t* c) {
  leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &scalar, &output));
  return map_zeros_like(NULL, leat_tensor_data(output, leat_variant_t));
}

static leat_status_t size__cpu(leat_kernel_context_t* c) {
  leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t* output;
  tensor_map_t* map;
  LEAT_RETURN_IF_ERROR(input_map(c, &map));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &scalar, &output));
  *leat_tensor_data(output, int32_t) = (int32_t)map->rows.count;
  return leat_ok_status();
}

static leat_status_t has_key__cpu(leat_kernel_context_t* c) {
  leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t* output;
  tensor_map_t* map;
  int64_t row;
  LEAT_RETURN_IF_ERROR(input_row(c, &map, &row));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &scalar, &output));
  *leat_tensor_data(output, bool) = row >= 0;
  return leat_ok_status();
}

static leat_status_t lookup__cpu(leat_kernel_context_t* c) {
  tensor_map_t* map;
  int64_t row;
  LEAT_RETURN_IF_ERROR(input_row(c, &map, &row));
  if (row < 0) return no_such_key(c);
  if (map->values[row].dtype != c->kernel->output_types[0]) {
    return leat_kernel_error(c, LEAT_INTERNAL, "the key's value is of type %s, must be %s",
                             leat_dtype_name(map->values[row].dtype),
                             leat_dtype_name(c->kernel->output_types[0]));
  }
  leat_kernel_set_output(c, 0, leat_tensor_share(&map->values[row]));
  return leat_ok_status();
}

static leat_status_t insert__cpu(leat_kernel_context_t* c) {
  leat_tensor_t key, value;
  tensor_map_t* map;
  LEAT_RETURN_IF_ERROR(change_input(c, &map));
  LEAT_RETURN_IF_ERROR(leat_kernel_keep_input(c, 1, &key));
  leat_status_t status = leat_kernel_keep_input(c, 2, &value);
  if (!status) status = put(map, &key, value);
  leat_tensor_release(&key);
  return status;
}

static leat_status_t erase__cpu(leat_kernel_context_t* c) {
  tensor_map_t* map;
  int64_t row;
  LEAT_RETURN_IF_ERROR(input_row(c, &map, &row));
  if (row < 0) return no_such_key(c);
  LEAT_RETURN_IF_ERROR(change_input(c, &map));  // a copy has the same row numbers
  take_out(map, row);
  return leat_ok_status();
}

static leat_status_t check_keys(const leat_kernel_context_t* c, const tensor_map_t* map) {
  if (map->rows.count == 0) {
    return leat_kernel_invalid(c, "TensorMapStackKeys cannot be called on empty map.");
  }
  for (size_t i = 0; i < map->rows.count; ++i) {
    if (map->keys[i].dtype != c->kernel->output_types[0]) {
      return leat_kernel_invalid(c, "Key does not match requested dtype.");
    }
    if (!leat_shape_equal(&map->keys[i].shape, &map->keys[0].shape)) {
      return leat_kernel_invalid(c, "Keys must all have the same shape.");
    }
  }
  return leat_ok_status();
}

static leat_status_t stack_keys__cpu(leat_kernel_context_t* c) {
  tensor_map_t* map;
  leat_tensor_t* output;
  int64_t dims[LEAT_SHAPE_MAX_RANK + 1];
  LEAT_RETURN_IF_ERROR(input_map(c, &map));
  LEAT_RETURN_IF_ERROR(check_keys(c, map));
  const leat_shape_t* one = &map->keys[0].shape;
  dims[0] = (int64_t)map->rows.count;
  for (int i = 0; i < one->rank; ++i) dims[i + 1] = leat_shape_dim(one, i);
  leat_status_t status = leat_kernel_allocate_sized(c, 0, one->rank + 1, dims, &output);
  size_t bytes = (size_t)one->element_count * leat_dtype_size(map->keys[0].dtype);
  for (size_t i = 0; i < map->rows.count && !status; ++i) {
    status = leat_tensor_copy_elements(output->dtype, map->keys[i].data,
                                       (char*)output->data + i * bytes, one->element_count);
  }
  return status;
}

#define KERNEL(op_name, fn) {.op = op_name, .device_type = "CPU", .compute = fn##__cpu}

const leat_kernel_row_t leat_tensor_map_kernels_cpu[] = {
    KERNEL("EmptyTensorMap", empty),         KERNEL("TensorMapSize", size),
    KERNEL("TensorMapLookup", lookup),       KERNEL("TensorMapInsert", insert),
    KERNEL("TensorMapErase", erase),         KERNEL("TensorMapHasKey", has_key),
    KERNEL("TensorMapStackKeys", stack_keys), LEAT_KERNEL_ROWS_END,
};
