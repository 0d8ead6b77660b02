// Datasets, the variants that hold them, and the iterators over them: what all dataset kernels
// share. The interface and its rules are in dataset_cpu.h.
//
// A dataset is an immutable node of a pipeline. A kernel makes one, keeps its inputs and captured
// tensors in it, and puts it into a scalar variant as its output:
//
//     variant ──▶ Batch ──▶ Map ──▶ TensorSlice        datasets; each retains its inputs
//                   ▲        ▲          ▲
//     iterator:   Batch ──▶ Map ──▶ TensorSlice        one pass; each owns the one below it
//
// A dataset lies in one allocation: the kind's struct, then the pointers to its inputs, then its
// tensors. leat_iterator_next is the only way to an element. It checks that the step goes on, that
// a kind is not asked again after END, that the types are those of the spec, and that no kind's
// failure is OUT_OF_RANGE, which a reader would take for the end. The depth of pipelines is
// limited, because one call of |next| per level stands on the stack.
#include "ops/dataset/dataset_cpu.h"

#include "kernel/handle.h"
#include "ops/dataset/stats_cpu.h"

// ---- Elements -----------------------------------------------------------------------------------

void leat_element_release(leat_tensor_t* components, int count) {
  for (int i = 0; i < count; ++i) leat_tensor_release(&components[i]);
}

void leat_element_share(const leat_tensor_t* from, leat_tensor_t* to, int count) {
  for (int i = 0; i < count; ++i) to[i] = leat_tensor_share(&from[i]);
}

void leat_element_move(leat_tensor_t* from, leat_tensor_t* to, int count) {
  for (int i = 0; i < count; ++i) to[i] = leat_tensor_move(&from[i]);
}

// Moves |*part|, which shares the bytes of another tensor and so begins anywhere in its buffer, to
// |out|; or copies it, where that address has not the alignment which kernels demand.
static leat_status_t move_aligned(leat_tensor_t* part, leat_tensor_t* out) {
  if ((uintptr_t)part->data % LEAT_BUFFER_ALIGNMENT == 0) {
    *out = *part;
    return leat_ok_status();
  }
  leat_status_t status = leat_tensor_copy(leat_buffer_source_host(), part, out);
  leat_tensor_release(part);
  return status;
}

leat_status_t leat_element_row(const leat_tensor_t* tensor, int64_t index, leat_tensor_t* out_row) {
  leat_tensor_t row, slice;
  leat_shape_t shape;
  const int64_t* dims = leat_shape_dims(&tensor->shape);
  LEAT_RETURN_IF_ERROR(leat_shape_create(tensor->shape.rank - 1, dims + 1, &shape));
  leat_status_t status = leat_tensor_slice(tensor, index, index + 1, &slice);
  if (!status) {
    status = leat_tensor_reshape(&slice, &shape, &row);
    leat_tensor_release(&slice);
  }
  leat_shape_release(&shape);
  return status ? status : move_aligned(&row, out_row);
}

leat_status_t leat_element_rows(const leat_tensor_t* tensors, int64_t index, leat_tensor_t* out,
                                int count) {
  for (int i = 0; i < count; ++i) {
    leat_status_t status = leat_element_row(&tensors[i], index, &out[i]);
    if (!status) continue;
    leat_element_release(out, i);
    return status;
  }
  return leat_ok_status();
}

leat_status_t leat_element_slice(const leat_tensor_t* tensors, int64_t begin, int64_t end,
                                 leat_tensor_t* out, int count) {
  for (int i = 0; i < count; ++i) {
    leat_tensor_t slice;
    leat_status_t status = leat_tensor_slice(&tensors[i], begin, end, &slice);
    if (!status) status = move_aligned(&slice, &out[i]);
    if (!status) continue;
    leat_element_release(out, i);
    return status;
  }
  return leat_ok_status();
}

// ---- Datasets -----------------------------------------------------------------------------------

leat_status_t leat_dataset_create(const leat_dataset_kind_t* kind, leat_element_spec_t* spec,
                                  int input_count, int tensor_count, leat_dataset_t** out_dataset) {
  leat_dataset_t* dataset;
  size_t own = ((size_t)kind->dataset_bytes + 7) & ~(size_t)7;
  size_t bytes = own + (size_t)input_count * sizeof *dataset->inputs +
                 (size_t)tensor_count *
                     (sizeof *dataset->tensors + sizeof *dataset->tensor_inputs);
  leat_status_t status = leat_allocator_allocate(leat_allocator_system(), bytes, (void**)&dataset);
  if (status) {
    leat_element_spec_release(spec);
    return status;
  }
  dataset->kind = kind;
  dataset->references = 1;
  atomic_init(&dataset->cardinality, LEAT_CARDINALITY_NOT_ASKED);
  dataset->depth = 1;
  dataset->seeks = kind->seek != NULL;
  dataset->spec = spec;
  dataset->input_count = input_count;
  dataset->tensor_count = tensor_count;
  dataset->inputs = (leat_dataset_t**)((char*)dataset + own);
  dataset->tensors = (leat_tensor_t*)(dataset->inputs + input_count);
  dataset->tensor_inputs = (int32_t*)(dataset->tensors + tensor_count);
  *out_dataset = dataset;
  return leat_ok_status();
}

void leat_dataset_retain(leat_dataset_t* dataset) {
  leat_reference_count_retain(&dataset->references);
}

void leat_dataset_release(leat_dataset_t* dataset) {
  if (!dataset || !leat_reference_count_release(&dataset->references)) return;
  if (dataset->kind->destroy) dataset->kind->destroy(dataset);
  for (int i = 0; i < dataset->input_count; ++i) leat_dataset_release(dataset->inputs[i]);
  leat_element_release(dataset->tensors, dataset->tensor_count);
  leat_dataset_node_release(&dataset->node);
  leat_tensor_release(&dataset->options);
  leat_element_spec_release(dataset->spec);
  leat_allocator_free(leat_allocator_system(), dataset);
}

// Kinds without a |cardinality| of their own give as many elements as their first input. A dataset
// may stand below another one in many ways, so that each keeps its number. Two threads that work
// out the same one come to the same number.
int64_t leat_dataset_cardinality(leat_dataset_t* dataset) {
  while (!dataset->kind->cardinality) dataset = dataset->inputs[0];
  int64_t count = atomic_load_explicit(&dataset->cardinality, memory_order_relaxed);
  if (count != LEAT_CARDINALITY_NOT_ASKED) return count;
  count = dataset->kind->cardinality(dataset);
  atomic_store_explicit(&dataset->cardinality, count, memory_order_relaxed);
  return count;
}

int64_t leat_dataset_unknown_cardinality(const leat_dataset_t* dataset) {
  return LEAT_CARDINALITY_UNKNOWN;
}

static leat_status_t check_depth(int depth) {
  if (depth <= LEAT_MAX_DATASET_DEPTH) return leat_ok_status();
  return leat_make_status(LEAT_RESOURCE_EXHAUSTED,
                          "datasets stand %d high on each other, must be at most %d", depth,
                          LEAT_MAX_DATASET_DEPTH);
}

// The depth of a dataset is that of its deepest input and one more.
leat_status_t leat_dataset_set_input(leat_dataset_t* dataset, int index, leat_dataset_t* input) {
  LEAT_RETURN_IF_ERROR(check_depth(input->depth + 1));
  if (dataset->depth <= input->depth) dataset->depth = input->depth + 1;
  leat_dataset_retain(input);
  dataset->inputs[index] = input;
  dataset->seeks = dataset->seeks && input->seeks;
  dataset->asserts = dataset->asserts || input->asserts;
  if (!input->options.dtype) return leat_ok_status();
  if (dataset->options.dtype) {
    return leat_dataset_add_options(dataset, leat_tensor_string_at(&input->options, 0));
  }
  dataset->options = leat_tensor_share(&input->options);
  return leat_ok_status();
}

// ---- In variants --------------------------------------------------------------------------------

static void variant_retain(void* self) { leat_dataset_retain(self); }
static void variant_release(void* self) { leat_dataset_release(self); }

// A dataset has no serialized form: it may hold functions and resources of this process.
static leat_status_t variant_encode(void* self, char** out_metadata, size_t* out_metadata_size,
                                    struct leat_tensor_s** out_tensors, size_t* out_tensor_count) {
  return leat_make_status(LEAT_UNIMPLEMENTED, "A dataset cannot leave its process");
}

static const leat_variant_vtable_t kDatasetVariant = {
    .type_name = "tensorflow::DatasetVariantWrapper",
    .retain = variant_retain,
    .release = variant_release,
    .encode = variant_encode};

static const leat_variant_vtable_t kWrappedVariant = {
    .type_name = "tensorflow::data::WrappedDatasetVariant",
    .retain = variant_retain,
    .release = variant_release,
    .encode = variant_encode};

static bool holds(const leat_tensor_t* tensor, const leat_variant_vtable_t* vtable) {
  return tensor->dtype == LEAT_DTYPE_VARIANT && tensor->shape.rank == 0 &&
         ((const leat_variant_t*)tensor->data)->vtable == vtable;
}

// Finds the dataset in a scalar variant of the kind |vtable|; |what| names the kind.
static leat_status_t find_in(const leat_tensor_t* tensor, const leat_variant_vtable_t* vtable,
                             const char* what, leat_dataset_t** out_dataset) {
  if (!holds(tensor, vtable)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Tensor must be a %s object.", what);
  }
  *out_dataset = ((const leat_variant_t*)tensor->data)->self;
  return leat_ok_status();
}

bool leat_dataset_find(const leat_tensor_t* tensor, leat_dataset_t** out_dataset) {
  const bool is_dataset = holds(tensor, &kDatasetVariant);
  if (is_dataset) *out_dataset = ((const leat_variant_t*)tensor->data)->self;
  return is_dataset;
}

leat_status_t leat_dataset_of(const leat_tensor_t* tensor, leat_dataset_t** out_dataset) {
  return find_in(tensor, &kDatasetVariant, "Dataset", out_dataset);
}

leat_status_t leat_dataset_of_wrapped(const leat_tensor_t* tensor, leat_dataset_t** out_dataset) {
  return find_in(tensor, &kWrappedVariant, "WrappedDataset variant", out_dataset);
}

// The reference to |dataset| goes into the tensor, or is given up where that fails.
static leat_status_t put_into(leat_dataset_t* dataset, const leat_variant_vtable_t* vtable,
                              leat_tensor_t* out_tensor) {
  leat_shape_t scalar = leat_shape_scalar();
  leat_status_t status =
      leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_VARIANT, &scalar, out_tensor);
  if (status) {
    leat_dataset_release(dataset);
    return status;
  }
  *leat_tensor_data(out_tensor, leat_variant_t) = (leat_variant_t){vtable, dataset};
  return leat_ok_status();
}

leat_status_t leat_dataset_to_tensor(leat_dataset_t* dataset, leat_tensor_t* out_tensor) {
  return put_into(dataset, &kDatasetVariant, out_tensor);
}

leat_status_t leat_dataset_to_wrapped(leat_dataset_t* dataset, leat_tensor_t* out_tensor) {
  return put_into(dataset, &kWrappedVariant, out_tensor);
}

leat_status_t leat_dataset_set_output(leat_kernel_context_t* c, leat_dataset_t* dataset) {
  leat_tensor_t tensor;
  leat_status_t status = leat_dataset_set_node(c, dataset);
  if (status) {
    leat_dataset_release(dataset);
    return status;
  }
  LEAT_RETURN_IF_ERROR(leat_dataset_to_tensor(dataset, &tensor));
  leat_kernel_set_output(c, 0, tensor);
  return leat_ok_status();
}

// ---- Creation in kernels ------------------------------------------------------------------------

leat_status_t leat_dataset_create_over(const leat_dataset_kind_t* kind, leat_element_spec_t* spec,
                                       leat_dataset_t* input, int tensor_count,
                                       leat_dataset_t** out_dataset) {
  leat_dataset_t* dataset;
  LEAT_RETURN_IF_ERROR(leat_dataset_create(kind, spec, 1, tensor_count, &dataset));
  leat_status_t status = leat_dataset_set_input(dataset, 0, input);
  if (status) {
    leat_dataset_release(dataset);
    return status;
  }
  *out_dataset = dataset;
  return leat_ok_status();
}

leat_status_t leat_dataset_create_over_input(leat_kernel_context_t* c,
                                             const leat_dataset_kind_t* kind,
                                             leat_dataset_t** out_dataset) {
  leat_dataset_t* input = NULL;
  LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(c, 0), &input));
  return leat_dataset_create_over(kind, leat_element_spec_retain(input->spec), input, 0,
                                  out_dataset);
}

leat_status_t leat_dataset_create_over_all(leat_kernel_context_t* c,
                                           const leat_dataset_kind_t* kind,
                                           leat_element_spec_t* spec,
                                           leat_dataset_t** out_dataset) {
  leat_dataset_t *dataset, *input = NULL;
  int count = leat_kernel_input_count(c);
  LEAT_RETURN_IF_ERROR(leat_dataset_create(kind, spec, count, 0, &dataset));
  leat_status_t status = leat_ok_status();
  for (int i = 0; i < count && !status; ++i) {
    status = leat_dataset_of(leat_kernel_input(c, i), &input);
    if (!status) status = leat_dataset_set_input(dataset, i, input);
  }
  if (status) {
    leat_dataset_release(dataset);
    return status;
  }
  *out_dataset = dataset;
  return leat_ok_status();
}

leat_status_t leat_dataset_keep_inputs(leat_kernel_context_t* c, int first_input, int first,
                                       int count, leat_dataset_t* dataset) {
  for (int i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_kernel_keep_input(c, first_input + i, &dataset->tensors[first + i]));
    dataset->tensor_inputs[first + i] = first_input + i + 1;
  }
  return leat_ok_status();
}

leat_status_t leat_dataset_set_deleter(leat_kernel_context_t* c, int index) {
  leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t* output;
  return leat_kernel_allocate_output(c, index, &scalar, &output);
}

leat_status_t leat_dataset_find_shared(const leat_kernel_context_t* c, int index,
                                       const leat_resource_kind_t* kind, const char* foreign_type,
                                       leat_resource_t** out_resource) {
  const leat_tensor_t* tensor = leat_kernel_input(c, index);
  const leat_resource_handle_t* handle =
      tensor->shape.element_count == 1 ? *leat_tensor_data(tensor, leat_resource_handle_t*) : NULL;
  *out_resource = NULL;
  if (!handle && tensor->shape.element_count == 1) return leat_ok_status();
  // A handle that was empty when it was written has no type.
  if (handle && (handle->type_name.size == 0 ||
                 leat_string_view_equals(handle->type_name, foreign_type))) {
    return leat_ok_status();
  }
  leat_status_t status = leat_handle_find(c, index, kind, out_resource);
  if (leat_status_code(status) != LEAT_NOT_FOUND) return status;
  leat_status_free(status);
  return leat_ok_status();
}

leat_status_t leat_dataset_function_create(leat_kernel_creation_t* c, const char* attr,
                                           void* state) {
  leat_dataset_function_t* function = state;
  LEAT_RETURN_IF_ERROR(leat_callee_initialize(c, attr, 0, &function->callee));
  return leat_element_spec_of_attrs(c, "output_types", &function->spec);
}

void leat_dataset_function_destroy(void* state) {
  leat_element_spec_release(((leat_dataset_function_t*)state)->spec);
}

// Nodes have one of the two attributes, or none, where the order is an input.
leat_status_t leat_dataset_order_create(leat_kernel_creation_t* c,
                                        leat_dataset_order_t* out_order) {
  leat_string_view_t word;
  const leat_attr_value_t* sloppy = leat_attr_find(c->attrs, c->attr_count,
                                                   leat_string_view_from("sloppy"));
  *out_order = sloppy && sloppy->b ? LEAT_ORDER_ANY : LEAT_ORDER_DEFAULT;
  const leat_attr_value_t* deterministic =
      leat_attr_find(c->attrs, c->attr_count, leat_string_view_from("deterministic"));
  if (sloppy || !deterministic) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "deterministic", &word));
  if (leat_string_view_equal(word, leat_string_view_from("true"))) {
    *out_order = LEAT_ORDER_KEPT;
  } else if (leat_string_view_equal(word, leat_string_view_from("false"))) {
    *out_order = LEAT_ORDER_ANY;
  } else if (!leat_string_view_equal(word, leat_string_view_from("default"))) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "attribute 'deterministic' is '%.*s', must be 'true', 'false' or "
                            "'default'",
                            LEAT_SV_ARG(word));
  }
  return leat_ok_status();
}

bool leat_dataset_order_is_any(leat_dataset_order_t order, const leat_iterator_t* iterator) {
  if (order == LEAT_ORDER_DEFAULT) order = iterator->order;
  return order == LEAT_ORDER_ANY;
}

leat_status_t leat_dataset_fold_create(leat_kernel_creation_t* c, void* state) {
  const leat_attr_value_t* types;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, "Tstate", &types));
  ((leat_dataset_fold_t*)state)->state_count = (int)types->count;
  return leat_dataset_function_create(c, "f", state);
}

// The captured tensors are the kernel's inputs after the dataset, and become the arguments of the
// function after the elements.
leat_status_t leat_dataset_create_calling_over(leat_kernel_context_t* c,
                                               const leat_dataset_kind_t* kind,
                                               leat_dataset_t* input, leat_element_spec_t* spec,
                                               int captured_count, leat_dataset_t** out_dataset) {
  leat_dataset_function_t* function = leat_kernel_state(c);
  leat_dataset_t* dataset;
  if (!input) LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(c, 0), &input));
  if (!spec) spec = input->spec;
  LEAT_RETURN_IF_ERROR(leat_dataset_create_over(kind, leat_element_spec_retain(spec), input,
                                                captured_count, &dataset));
  leat_status_t status = leat_callee_find(c, &function->callee, &dataset->function);
  if (!status) status = leat_dataset_keep_inputs(c, 1, 0, captured_count, dataset);
  if (status) {
    leat_dataset_release(dataset);
    return status;
  }
  *out_dataset = dataset;
  return leat_ok_status();
}

leat_status_t leat_dataset_create_calling(leat_kernel_context_t* c, const leat_dataset_kind_t* kind,
                                          leat_element_spec_t* spec, int captured_count,
                                          leat_dataset_t** out_dataset) {
  return leat_dataset_create_calling_over(c, kind, NULL, spec, captured_count, out_dataset);
}

static leat_status_t check_scalar(const leat_kernel_context_t* c, int index, const char* name) {
  if (leat_kernel_input(c, index)->shape.rank == 0) return leat_ok_status();
  return leat_kernel_invalid(c, "%s has shape %s, must be a scalar", name,
                             LEAT_SHAPE_TEXT(&leat_kernel_input(c, index)->shape));
}

leat_status_t leat_dataset_int_input(const leat_kernel_context_t* c, int index, const char* name,
                                     int64_t* out_value) {
  LEAT_RETURN_IF_ERROR(check_scalar(c, index, name));
  *out_value = leat_tensor_index_at(leat_kernel_input(c, index), 0);
  return leat_ok_status();
}

leat_status_t leat_dataset_bool_input(const leat_kernel_context_t* c, int index, const char* name,
                                      bool* out_value) {
  LEAT_RETURN_IF_ERROR(check_scalar(c, index, name));
  *out_value = *leat_tensor_data(leat_kernel_input(c, index), const bool);
  return leat_ok_status();
}

leat_status_t leat_dataset_string_input(const leat_kernel_context_t* c, int index, const char* name,
                                        leat_string_view_t* out_value) {
  LEAT_RETURN_IF_ERROR(check_scalar(c, index, name));
  *out_value = leat_tensor_string_at(leat_kernel_input(c, index), 0);
  return leat_ok_status();
}

// ---- Iterators ----------------------------------------------------------------------------------

// An iterator is freed by leat_iterator_free even where its |start| failed, so that |stop| must
// accept what |start| has left.
leat_status_t leat_iterator_create(leat_dataset_t* dataset, const leat_iterator_t* owner,
                                   leat_iterator_t** out_iterator) {
  const leat_dataset_kind_t* kind = dataset->kind;
  const int depth = owner ? owner->depth + 1 : 1;
  leat_iterator_t* iterator;
  *out_iterator = NULL;
  LEAT_RETURN_IF_ERROR(check_depth(depth));
  if (!owner) LEAT_RETURN_IF_ERROR(leat_dataset_check_assertions(dataset));
  LEAT_RETURN_IF_ERROR(
      leat_allocator_allocate(leat_allocator_system(), kind->iterator_bytes, (void**)&iterator));
  iterator->dataset = dataset;
  iterator->depth = depth;
  iterator->order = owner ? owner->order : LEAT_ORDER_DEFAULT;
  leat_dataset_retain(dataset);
  leat_iterator_find_name(iterator, owner);
  leat_status_t status = leat_ok_status();
  if (owner) {
    iterator->stats = owner->stats;
    leat_stats_retain(owner->stats);
    iterator->draw_counts = owner->draw_counts;
    leat_draw_counts_retain(owner->draw_counts);
  } else {
    status = leat_draw_counts_create(&iterator->draw_counts);
  }
  if (!status && kind->opens_input) status = leat_iterator_open_input(iterator, dataset->inputs[0]);
  if (!status && kind->start) status = kind->start(iterator);
  if (status) {
    leat_iterator_free(iterator);
    return status;
  }
  *out_iterator = iterator;
  return leat_ok_status();
}

void leat_iterator_free(leat_iterator_t* iterator) {
  if (!iterator) return;
  if (iterator->dataset->kind->stop) iterator->dataset->kind->stop(iterator);
  leat_iterator_free(iterator->input);
  leat_draw_counts_release(iterator->draw_counts);
  leat_stats_release(iterator->stats);
  leat_dataset_release(iterator->dataset);
  leat_allocator_free(leat_allocator_system(), iterator);
}

leat_status_t leat_iterator_seek(leat_iterator_t* iterator, int64_t index) {
  LEAT_DCHECK(iterator->dataset->seeks && index >= 0);
  iterator->at_end = false;
  return iterator->dataset->kind->seek(iterator, index);
}

leat_status_t leat_iterator_open_input(leat_iterator_t* iterator, leat_dataset_t* dataset) {
  leat_iterator_free(iterator->input);
  return leat_iterator_create(dataset, iterator, &iterator->input);
}

leat_status_t leat_iterator_create_all(leat_iterator_t* iterator, leat_iterator_t*** out_inputs) {
  const leat_dataset_t* dataset = iterator->dataset;
  LEAT_RETURN_IF_ERROR(
      LEAT_ALLOCATE(leat_allocator_system(), (size_t)dataset->input_count, out_inputs));
  for (int i = 0; i < dataset->input_count; ++i) {
    LEAT_RETURN_IF_ERROR(
        leat_iterator_create(dataset->inputs[i], iterator, &(*out_inputs)[i]));
  }
  return leat_ok_status();
}

void leat_iterator_free_all(leat_iterator_t* iterator, leat_iterator_t** inputs) {
  for (int i = 0; inputs && i < iterator->dataset->input_count; ++i) {
    leat_iterator_free(inputs[i]);
  }
  leat_allocator_free(leat_allocator_system(), inputs);
}

leat_status_t leat_iterator_prepare_calls_with(leat_iterator_t* iterator, int element_count,
                                               int return_count, int first, int captured,
                                               leat_application_t* out_application) {
  const leat_dataset_t* dataset = iterator->dataset;
  LEAT_DCHECK(first >= 0 && captured >= 0 && first + captured <= dataset->tensor_count);
  LEAT_RETURN_IF_ERROR(leat_application_initialize(iterator->draw_counts, element_count, captured,
                                                   return_count, out_application));
  for (int i = 0; i < captured; ++i) {
    out_application->arguments[element_count + i] = dataset->tensors[first + i];
  }
  return leat_ok_status();
}

leat_status_t leat_iterator_prepare_calls(leat_iterator_t* iterator, int element_count,
                                          int return_count, leat_application_t* out_application) {
  return leat_iterator_prepare_calls_with(iterator, element_count, return_count, 0,
                                          iterator->dataset->tensor_count, out_application);
}

leat_status_t leat_iterator_open_returned(leat_iterator_t* owner, leat_application_t* application,
                                          leat_pull_t* pull, leat_iterator_t** out_iterator) {
  leat_tensor_t returned;
  leat_dataset_t* dataset = NULL;
  LEAT_RETURN_IF_ERROR(leat_application_take(application, pull, &returned));
  leat_status_t status = leat_dataset_of(&returned, &dataset);
  if (status) {
    status = leat_status_annotate(status, "Function must return a scalar dataset");
  } else {
    status = leat_element_spec_check_types(owner->dataset->spec, dataset->spec);
  }
  if (!status) status = leat_iterator_create(dataset, owner, out_iterator);
  leat_tensor_release(&returned);
  return status;
}

// The reader of an element relies on the types in the spec, and a function may return other types
// than its attributes declare. On a mismatch the element is released.
static leat_status_t check_types(const leat_element_spec_t* spec, leat_tensor_t* element) {
  for (int i = 0; i < spec->count; ++i) {
    if (element[i].dtype == spec->types[i]) continue;
    leat_status_t status = leat_make_status(
        LEAT_INVALID_ARGUMENT, "Data type mismatch at component %d: expected %s but got %s.", i,
        leat_dtype_name(spec->types[i]), leat_dtype_name(element[i].dtype));
    leat_element_release(element, spec->count);
    return status;
  }
  return leat_ok_status();
}

// Replaces a failure of code OUT_OF_RANGE by one of INTERNAL: whoever pulls takes OUT_OF_RANGE for
// the end of the elements. Other failures are returned as they are.
static leat_status_t not_the_end(const leat_iterator_t* iterator, leat_status_t status) {
  if (leat_status_code(status) != LEAT_OUT_OF_RANGE) return status;
  leat_status_t internal =
      leat_make_status(LEAT_INTERNAL, "Iterator \"%s\" returned `OutOfRange`: %s",
                       iterator->dataset->kind->name, leat_status_message(status));
  leat_status_free(status);
  return internal;
}

leat_status_t leat_iterator_next(leat_iterator_t* iterator, leat_pull_t* pull, leat_tensor_t* out,
                                 leat_poll_t* out_poll) {
  *out_poll = LEAT_POLL_END;
  LEAT_RETURN_IF_ERROR(leat_pull_check(pull));
  if (iterator->at_end) return leat_ok_status();
  const leat_dataset_t* dataset = iterator->dataset;
  leat_status_t status = dataset->kind->next(iterator, pull, out, out_poll);
  if (status) return not_the_end(iterator, status);
  iterator->at_end = *out_poll == LEAT_POLL_END;
  if (*out_poll != LEAT_POLL_ELEMENT) return leat_ok_status();
  ++iterator->given;
  return check_types(dataset->spec, out);
}

// A function that fails with OUT_OF_RANGE ends the elements, as in TensorFlow, unless the dataset
// must give as many elements as its input.
leat_status_t leat_function_failure(leat_status_t status, bool preserves_cardinality,
                                    leat_poll_t* out_poll) {
  if (leat_status_code(status) != LEAT_OUT_OF_RANGE) return status;
  leat_status_t failure = leat_ok_status();
  if (preserves_cardinality) {
    failure =
        leat_make_status(LEAT_INVALID_ARGUMENT, "Function invocation produced OutOfRangeError: %s",
                         leat_status_message(status));
  }
  *out_poll = LEAT_POLL_END;
  leat_status_free(status);
  return failure;
}
