// CPU kernels of maps from numbers to sparse tensors. Queues carry dense tensors only; so a batch
// of sparse ones is put into a map, one integer for each row passes the queue, and the reader takes
// the tensors out of the map again.
//
// The map is a resource of the session, shared by name between the ops that write and those that
// read. Each tensor is taken once. A slot of the map is reused after its tensor was taken, but
// numbers are never reused, so a stale number is found to be one. The lock is held while a tensor
// is put in or taken out; copies of rows are made outside of it.
#include "base/map.h"
#include "kernel/handle.h"
#include "ops/kernel_rows.h"
#include "ops/sparse/entries_cpu.h"

typedef struct tensors_map_s {
  leat_resource_t resource;
  leat_mutex_t mutex;
  leat_word_map_t slots;  // the slot of each number
  leat_entries_t* items;  // by slot; a free slot has no tensors
  uint64_t* free_slots;
  size_t count, room, free_count, free_room;
  int64_t next;  // the next number
} tensors_map_t;

static void map_destroy(leat_resource_t* resource) {
  tensors_map_t* map = (tensors_map_t*)resource;
  for (size_t i = 0; i < map->count; ++i) leat_entries_release(&map->items[i]);
  leat_word_map_deinitialize(&map->slots);
  leat_mutex_deinitialize(&map->mutex);
  leat_allocator_free(leat_allocator_system(), map->items);
  leat_allocator_free(leat_allocator_system(), map->free_slots);
  leat_allocator_free(leat_allocator_system(), map);
}

static const leat_resource_kind_t kMapKind = {.name = "SparseTensorsMap", .destroy = map_destroy};

static leat_status_t make_map(void* data, leat_resource_t** out_resource) {
  (void)data;
  tensors_map_t* map;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &map));
  map->resource.kind = &kMapKind;
  map->resource.references = 1;
  leat_mutex_initialize(&map->mutex);
  leat_word_map_initialize(leat_allocator_system(), &map->slots);
  *out_resource = &map->resource;
  return leat_ok_status();
}

static leat_status_t writer_create(leat_kernel_creation_t* c, void* state) {
  return leat_handle_initialize(c, &kMapKind, true, state);
}

static leat_status_t reader_create(leat_kernel_creation_t* c, void* state) {
  return leat_handle_initialize(c, &kMapKind, false, state);
}

static void handle_destroy(void* state) { leat_handle_deinitialize(state); }

static leat_status_t find_map(leat_kernel_context_t* c, tensors_map_t** out_map) {
  return leat_handle_find_or_make(c, leat_kernel_state(c), &kMapKind, make_map, NULL,
                                  (leat_resource_t**)out_map);
}

// Puts |entries| into a slot and gives its number. The caller holds the lock. Both lists grow
// first, so that taking a tensor out can never fail for want of memory.
static leat_status_t put(tensors_map_t* map, leat_entries_t* entries, int64_t* out_number) {
  leat_allocator_t* allocator = leat_allocator_system();
  LEAT_RETURN_IF_ERROR(LEAT_GROW(allocator, map->count + 1, &map->items, &map->room));
  LEAT_RETURN_IF_ERROR(LEAT_GROW(allocator, map->count + 1, &map->free_slots, &map->free_room));
  bool is_new = map->free_count == 0;
  uint64_t slot = is_new ? map->count : map->free_slots[map->free_count - 1];
  LEAT_RETURN_IF_ERROR(leat_word_map_set(&map->slots, (uint64_t)map->next, slot));
  map->count += is_new;
  map->free_count -= !is_new;
  map->items[slot] = *entries;
  *out_number = map->next++;
  return leat_ok_status();
}

// Moves |entries| into the map, or releases them on failure.
static leat_status_t add(tensors_map_t* map, leat_entries_t* entries, int64_t* out_number) {
  leat_mutex_lock(&map->mutex);
  leat_status_t status = put(map, entries, out_number);
  leat_mutex_unlock(&map->mutex);
  if (status) leat_entries_release(entries);
  return status;
}

// Gives the inputs as tensors that may outlive the step.
static leat_status_t keep_inputs(leat_kernel_context_t* c, leat_entries_t* out_entries) {
  leat_shape_t dense;
  *out_entries = leat_entries_of_inputs(c, 0);
  LEAT_RETURN_IF_ERROR(leat_shape_create((int)out_entries->shape.shape.element_count,
                                         out_entries->shape.data, &dense));
  leat_shape_release(&dense);
  *out_entries = (leat_entries_t){0};
  leat_status_t status = leat_kernel_keep_input(c, 0, &out_entries->indices);
  if (!status) status = leat_kernel_keep_input(c, 1, &out_entries->values);
  if (!status) status = leat_kernel_keep_input(c, 2, &out_entries->shape);
  if (status) leat_entries_release(out_entries);
  return status;
}

static leat_status_t add__cpu(leat_kernel_context_t* c) {
  leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t* output;
  tensors_map_t* map;
  leat_entries_t entries;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &scalar, &output));
  LEAT_RETURN_IF_ERROR(keep_inputs(c, &entries));
  leat_status_t status = find_map(c, &map);
  if (status) {
    leat_entries_release(&entries);
    return status;
  }
  status = add(map, &entries, output->data);
  leat_resource_release(&map->resource);
  return status;
}

// Adds each row of a batch. Rows that have entries get their numbers first, then the empty ones, as
// in TensorFlow.
static leat_status_t add_rows(tensors_map_t* map, const leat_entries_t* batch, int64_t* numbers,
                              int64_t count) {
  int64_t total = batch->values.shape.element_count, rank = batch->shape.shape.element_count;
  leat_entries_t row;
  for (int64_t i = 0; i < count; ++i) numbers[i] = -1;
  for (int64_t place = 0; place < total;) {
    int64_t number = leat_tensor_data(&batch->indices, const int64_t)[place * rank];
    LEAT_RETURN_IF_ERROR(leat_entries_take_row(batch, number, &place, &row));
    LEAT_RETURN_IF_ERROR(add(map, &row, &numbers[number]));
  }
  for (int64_t i = 0; i < count; ++i) {
    if (numbers[i] >= 0) continue;
    LEAT_RETURN_IF_ERROR(leat_entries_take_row(batch, i, &total, &row));
    LEAT_RETURN_IF_ERROR(add(map, &row, &numbers[i]));
  }
  return leat_ok_status();
}

static leat_status_t add_many__cpu(leat_kernel_context_t* c) {
  leat_entries_t batch;
  leat_tensor_t* output;
  tensors_map_t* map;
  LEAT_RETURN_IF_ERROR(leat_entries_of_batch(c, 0, true, &batch));
  leat_shape_t vector = leat_shape_vector(*leat_tensor_data(&batch.shape, const int64_t));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &vector, &output));
  LEAT_RETURN_IF_ERROR(find_map(c, &map));
  leat_status_t status = add_rows(map, &batch, output->data, vector.element_count);
  leat_resource_release(&map->resource);
  return status;
}

// Takes the tensor with |number| out of the map. The caller holds the lock.
static leat_status_t take_out(const leat_kernel_context_t* c, tensors_map_t* map, int64_t number,
                              leat_entries_t* out_entries) {
  uint64_t slot;
  if (!leat_word_map_get(&map->slots, (uint64_t)number, &slot)) {
    const leat_handle_t* handle = c->kernel->state;
    return leat_kernel_invalid(c, "Unable to find SparseTensor: %lld in map: %.*s",
                               (long long)number, LEAT_SV_ARG(handle->name));
  }
  leat_word_map_erase(&map->slots, (uint64_t)number);
  *out_entries = map->items[slot];
  map->items[slot] = (leat_entries_t){0};
  map->free_slots[map->free_count++] = slot;
  return leat_ok_status();
}

// Takes |count| tensors out into |rows|, and checks their types. The caller releases all of |rows|,
// also on failure.
static leat_status_t take_rows(leat_kernel_context_t* c, tensors_map_t* map, int64_t count,
                               leat_entries_t* rows) {
  leat_status_t status = leat_ok_status();
  const int64_t* numbers = leat_kernel_input(c, 0)->data;
  leat_mutex_lock(&map->mutex);
  for (int64_t i = 0; i < count && !status; ++i) status = take_out(c, map, numbers[i], &rows[i]);
  leat_mutex_unlock(&map->mutex);
  for (int64_t i = 0; i < count && !status; ++i) {
    if (rows[i].values.dtype == (int32_t)leat_dtype_base(c->kernel->output_types[1])) continue;
    status = leat_kernel_invalid(c, "Requested SparseTensor of type %s but SparseTensor[%lld]"
                                 ".values.dtype() == %s",
                                 leat_dtype_name(c->kernel->output_types[1]), (long long)i,
                                 leat_dtype_name(rows[i].values.dtype));
  }
  return status;
}

static leat_status_t take_many__cpu(leat_kernel_context_t* c) {
  const leat_shape_t* shape = &leat_kernel_input(c, 0)->shape;
  int64_t count = shape->element_count;
  tensors_map_t* map;
  leat_entries_t* rows;
  if (count == 0) {
    return leat_kernel_invalid(c, "Must have at least 1 serialized SparseTensor, but input matrix "
                               "has 0 rows");
  }
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), (size_t)count, &rows));
  leat_status_t status = find_map(c, &map);
  if (!status) {
    status = take_rows(c, map, count, rows);
    leat_resource_release(&map->resource);
  }
  if (!status) status = leat_entries_join(c, rows, count, 1, &count);
  for (int64_t i = 0; i < count; ++i) leat_entries_release(&rows[i]);
  leat_allocator_free(leat_allocator_system(), rows);
  return status;
}

#define TYPES                                                                               \
  "bfloat16, bool, complex128, complex64, double, float, half, int16, int32, int64, int8, " \
  "resource, string, uint16, uint32, uint64, uint8, variant"
#define KERNEL(op_name, types, make, fn)                                              \
  LEAT_CPU_KERNEL(op_name, types, leat_handle_t, make, fn, .destroy = handle_destroy)

const leat_kernel_row_t leat_tensors_map_kernels_cpu[] = {
    KERNEL("AddSparseToTensorsMap", NULL, writer_create, add__cpu),
    KERNEL("AddManySparseToTensorsMap", "T: " TYPES, writer_create, add_many__cpu),
    KERNEL("TakeManySparseFromTensorsMap", "dtype: " TYPES, reader_create, take_many__cpu),
    LEAT_KERNEL_ROWS_END,
};
