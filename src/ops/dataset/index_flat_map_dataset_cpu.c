// The kernel of IndexFlatMapDataset, which makes several elements of each element of its input and
// can give them in any order. map_func makes of an element what can be indexed: one tensor, whose
// rows are the new elements, or several tensors, which are the new elements themselves. To which
// element of the input the new element |place| belongs, and where in it, says index_map_func:
//
//   place ──▶ index_map_func ──▶ (index, offset)
//   element |index| of the input ──▶ map_func ──▶ row |offset| of what it returned
//
// Read in order, the input is never sought: as in TensorFlow the next element of it is read
// whenever |index| is larger than before, by however much, and whatever was read last serves for
// any other index. After a seek the element is the one at |index|, and the elements end where the
// input has none there.
//
// A place is passed when its element was given. A function that fails, and an offset that is none,
// fail for as long as the same place is asked for, but an element of the input that fails is
// passed.
#include "ops/dataset/dataset_cpu.h"
#include "ops/kernel_rows.h"

// inputs[0] gives what is flattened. The tensors are those that map_func has captured, and then
// those of index_map_func.
typedef struct flat_s {
  leat_dataset_t base;  // |function| is map_func
  uint64_t index_function;
  int map_captured, map_returns, index_returns;
  int64_t cardinality;
} flat_t;

typedef struct flat_iterator_s {
  leat_iterator_t base;
  leat_application_t mapper, indexer;
  int64_t place;         // of the element that is given next
  bool has_target;       // |target| and |offset| are those of |place|
  uint64_t target, offset;
  bool has_mapped;       // |mapped| were made of element |index|
  uint64_t index;
  leat_tensor_t* mapped;  // [map_returns]
  bool is_sought;         // elements are asked for by their places
  bool is_input_sought;   // the input stands at |target|
} flat_iterator_t;

static const flat_t* flat_of(const flat_iterator_t* it) { return (const flat_t*)it->base.dataset; }

static leat_status_t flat_start(leat_iterator_t* self) {
  flat_iterator_t* it = (flat_iterator_t*)self;
  const flat_t* flat = flat_of(it);
  const int captured = flat->map_captured;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), (size_t)flat->map_returns + 1,
                                     &it->mapped));
  LEAT_RETURN_IF_ERROR(leat_iterator_prepare_calls_with(self, self->input->dataset->spec->count,
                                                        flat->map_returns, 0, captured,
                                                        &it->mapper));
  return leat_iterator_prepare_calls_with(self, 1, flat->index_returns, captured,
                                          self->dataset->tensor_count - captured, &it->indexer);
}

static void release_mapped(flat_iterator_t* it) {
  if (it->has_mapped) leat_element_release(it->mapped, flat_of(it)->map_returns);
  it->has_mapped = false;
}

static void flat_stop(leat_iterator_t* self) {
  flat_iterator_t* it = (flat_iterator_t*)self;
  release_mapped(it);
  leat_application_deinitialize(&it->mapper);
  leat_application_deinitialize(&it->indexer);
  leat_allocator_free(leat_allocator_system(), it->mapped);
}

static leat_status_t flat_seek(leat_iterator_t* self, int64_t index) {
  flat_iterator_t* it = (flat_iterator_t*)self;
  // In order, |mapped| need not be of the element whose index was asked for.
  if (!it->is_sought) release_mapped(it);
  it->is_sought = true;
  it->has_target = it->is_input_sought = false;
  it->place = index;
  return leat_ok_status();
}

// ---- Where an element is ------------------------------------------------------------------------

enum { INDEX_RETURNS = 2 };  // the index and the offset

// Starts the call of index_map_func. The answer is PENDING.
static leat_status_t ask_target(flat_iterator_t* it, leat_pull_t* pull, leat_poll_t* out_poll) {
  if (flat_of(it)->index_returns != INDEX_RETURNS) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "The `index_map_fn` for `index_flat_map` is expected to return two int "
                            "values representing the element index and an offset within the "
                            "element. It returns %d",
                            flat_of(it)->index_returns);
  }
  LEAT_RETURN_IF_ERROR(
      leat_tensor_scalar(LEAT_DTYPE_INT64, &it->place, &it->indexer.arguments[0]));
  *out_poll = LEAT_POLL_PENDING;
  leat_application_start(&it->indexer, pull, flat_of(it)->index_function);
  return leat_ok_status();
}

// Negative numbers become large ones, as in TensorFlow.
static leat_status_t read_number(const leat_tensor_t* tensor, uint64_t* out_number) {
  const bool is_number = tensor->dtype == LEAT_DTYPE_INT64 || tensor->dtype == LEAT_DTYPE_INT32;
  if (!is_number || tensor->shape.rank != 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "The `index_map_func` for `index_flat_map` is expected to return two "
                            "int32/int64 values representing the element index and an offset "
                            "within the element. Got: %s of shape %s",
                            leat_dtype_name(tensor->dtype), LEAT_SHAPE_TEXT(&tensor->shape));
  }
  *out_number = (uint64_t)leat_tensor_index_at(tensor, 0);
  return leat_ok_status();
}

static leat_status_t take_target(flat_iterator_t* it, leat_pull_t* pull) {
  leat_tensor_t returned[INDEX_RETURNS];
  leat_status_t status = leat_application_take(&it->indexer, pull, returned);
  leat_application_release_element(&it->indexer);
  if (status) return status;
  status = read_number(&returned[0], &it->target);
  if (!status) status = read_number(&returned[1], &it->offset);
  it->has_target = !status;
  leat_element_release(returned, INDEX_RETURNS);
  return status;
}

// ---- What is there ------------------------------------------------------------------------------

// Whether |mapped| serve for the target.
static bool is_mapped(const flat_iterator_t* it) {
  if (!it->has_mapped) return false;
  return it->is_sought ? it->target == it->index : it->target <= it->index;
}

// Reads the element of the input and starts the call of map_func with it.
static leat_status_t read_input(flat_iterator_t* it, leat_pull_t* pull, leat_poll_t* out_poll) {
  leat_iterator_t* input = it->base.input;
  if (it->is_sought && !it->is_input_sought) {
    const int64_t count = leat_dataset_cardinality(input->dataset);
    if (count >= 0 && it->target >= (uint64_t)count) return leat_ok_status();
    LEAT_RETURN_IF_ERROR(leat_iterator_seek(input, (int64_t)(it->target & INT64_MAX)));
    it->is_input_sought = true;
  }
  leat_status_t status = leat_iterator_next(input, pull, it->mapper.arguments, out_poll);
  if (status ? !leat_pull_was_stopped(status) : *out_poll != LEAT_POLL_PENDING) {
    it->is_input_sought = false;
  }
  if (status || *out_poll != LEAT_POLL_ELEMENT) return status;
  *out_poll = LEAT_POLL_PENDING;
  leat_application_start(&it->mapper, pull, it->base.dataset->function);
  return leat_ok_status();
}

static leat_status_t take_mapped(flat_iterator_t* it, leat_pull_t* pull) {
  release_mapped(it);
  leat_status_t status = leat_application_take(&it->mapper, pull, it->mapped);
  leat_application_release_element(&it->mapper);
  it->has_mapped = !status;
  it->has_target = !status;
  it->index = it->target;
  return status;
}

static leat_status_t give(flat_iterator_t* it, leat_tensor_t* out, leat_poll_t* out_poll) {
  const leat_element_spec_t* spec = it->base.dataset->spec;
  const int returns = flat_of(it)->map_returns;
  const bool is_one = returns == 1, is_scalar = is_one && it->mapped[0].shape.rank == 0;
  const uint64_t count = is_scalar ? UINT64_MAX
                                   : is_one ? (uint64_t)leat_shape_dim(&it->mapped[0].shape, 0)
                                            : (uint64_t)returns;
  it->has_target = false;
  if (spec->count != 1) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Number of components does not match: expected %d types but got 1.",
                            spec->count);
  }
  if (!is_scalar && it->offset >= count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "`index_flat_map` got invalid `index_map_func` which returns offset "
                            "%llu, but the input element has %llu elements",
                            (unsigned long long)it->offset, (unsigned long long)count);
  }
  if (is_one && !is_scalar) {
    LEAT_RETURN_IF_ERROR(leat_element_row(&it->mapped[0], (int64_t)it->offset, out));
  } else {
    *out = leat_tensor_share(&it->mapped[is_one ? 0 : it->offset]);
  }
  ++it->place;
  *out_poll = LEAT_POLL_ELEMENT;
  return leat_ok_status();
}

static leat_status_t flat_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                               leat_poll_t* out_poll) {
  flat_iterator_t* it = (flat_iterator_t*)self;
  if (it->indexer.pending) LEAT_RETURN_IF_ERROR(take_target(it, pull));
  if (it->mapper.pending) LEAT_RETURN_IF_ERROR(take_mapped(it, pull));
  if (!it->has_target) return ask_target(it, pull, out_poll);
  if (!is_mapped(it)) return read_input(it, pull, out_poll);
  return give(it, out, out_poll);
}

static int64_t flat_cardinality(const leat_dataset_t* self) {
  return ((const flat_t*)self)->cardinality;
}

static const leat_dataset_kind_t kFlat = {.name = "IndexFlatMap",
                                          .dataset_bytes = sizeof(flat_t),
                                          .iterator_bytes = sizeof(flat_iterator_t),
                                          .opens_input = true,
                                          .start = flat_start,
                                          .next = flat_next,
                                          .stop = flat_stop,
                                          .cardinality = flat_cardinality,
                                          .seek = flat_seek};

// ---- The kernel ---------------------------------------------------------------------------------

typedef struct flat_node_s {
  leat_element_spec_t* spec;
  leat_callee_t mapper, indexer;
  int map_captured;
} flat_node_t;

static leat_status_t flat_create(leat_kernel_creation_t* c, void* state) {
  flat_node_t* node = state;
  const leat_attr_value_t* types;
  LEAT_RETURN_IF_ERROR(leat_element_metadata_create(c, state));
  LEAT_RETURN_IF_ERROR(leat_callee_initialize(c, "map_func", 0, &node->mapper));
  LEAT_RETURN_IF_ERROR(leat_callee_initialize(c, "index_map_func", 0, &node->indexer));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, "Tmap_func_args", &types));
  node->map_captured = (int)types->count;
  return leat_element_spec_of_attrs(c, "output_types", &node->spec);
}

static leat_status_t find_functions(leat_kernel_context_t* c, flat_t* flat) {
  flat_node_t* node = leat_kernel_state(c);
  leat_function_runtime_t* functions = c->services->functions;
  int arguments;
  LEAT_RETURN_IF_ERROR(leat_callee_find(c, &node->mapper, &flat->base.function));
  LEAT_RETURN_IF_ERROR(leat_callee_find(c, &node->indexer, &flat->index_function));
  LEAT_DCHECK(functions);  // the node's functions were found there
  LEAT_RETURN_IF_ERROR(functions->vtable->signature(functions, flat->base.function, &arguments,
                                                    &flat->map_returns));
  return functions->vtable->signature(functions, flat->index_function, &arguments,
                                      &flat->index_returns);
}

static leat_status_t set_flat(leat_kernel_context_t* c, flat_t* flat) {
  const int last = leat_kernel_input_count(c) - 1;
  flat->map_captured = ((const flat_node_t*)leat_kernel_state(c))->map_captured;
  LEAT_RETURN_IF_ERROR(
      leat_dataset_int_input(c, last, "output_cardinality", &flat->cardinality));
  LEAT_RETURN_IF_ERROR(find_functions(c, flat));
  return leat_dataset_keep_inputs(c, 1, 0, flat->base.tensor_count, &flat->base);
}

static leat_status_t flat__cpu(leat_kernel_context_t* c) {
  const flat_node_t* node = leat_kernel_state(c);
  leat_dataset_t *input, *dataset;
  LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(c, 0), &input));
  LEAT_RETURN_IF_ERROR(leat_dataset_create_over(&kFlat, leat_element_spec_retain(node->spec), input,
                                                leat_kernel_input_count(c) - 2, &dataset));
  leat_status_t status = set_flat(c, (flat_t*)dataset);
  if (!status) return leat_dataset_set_output(c, dataset);
  leat_dataset_release(dataset);
  return status;
}

const leat_kernel_row_t leat_index_flat_map_dataset_kernels_cpu[] = {
    LEAT_CPU_KERNEL("IndexFlatMapDataset", NULL, flat_node_t, flat_create, flat__cpu,
                    .destroy = leat_element_spec_state_destroy),
    LEAT_KERNEL_ROWS_END,
};
