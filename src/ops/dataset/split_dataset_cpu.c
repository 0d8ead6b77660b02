// The kernel of _SplitDataset: the elements of a source dataset for which somebody else says which
// comes next (kernel/split_source.h). A worker of a data service puts it in the place of the source
// in a dataset that is sharded dynamically:
//
//   RangeDataset        a split is the number itself
//   TensorSliceDataset  a split is the index of a row
//   TensorDataset       a split is its only element
//
// An iterator is one pass over the source. It asks for a split, answers PENDING, and goes on when
// the split has come. The pull that waits is woken exactly once, since the source answers each
// question exactly once.
#include "kernel/split_source.h"

#include "ops/dataset/dataset_cpu.h"
#include "ops/kernel_rows.h"

typedef enum { SPLIT_NUMBERS, SPLIT_ROWS, SPLIT_TENSORS } split_kind_t;

typedef struct split_dataset_s {
  leat_dataset_t base;
  split_kind_t kind;
  leat_split_source_t* source;
} split_dataset_t;

typedef struct split_iterator_s {
  leat_iterator_t base;
  int64_t pass;
  leat_pull_t* pull;       // which waits
  _Atomic(bool) has_come;  // the answer, which is in what follows
  bool is_asked, at_end;
  leat_status_t status;
  int64_t split;
} split_iterator_t;

static leat_status_t splits_start(leat_iterator_t* self) {
  leat_split_source_t* source = ((split_dataset_t*)self->dataset)->source;
  ((split_iterator_t*)self)->pass = atomic_fetch_add(&source->pass_count, 1);
  return leat_ok_status();
}

// A leat_split_done_fn_t.
static void take_answer(void* data, leat_status_t status, int64_t split, bool at_end) {
  split_iterator_t* it = data;
  leat_pull_t* pull = it->pull;
  it->status = status;
  it->split = split;
  it->at_end = at_end;
  atomic_store_explicit(&it->has_come, true, memory_order_release);
  leat_pull_wake(pull);
}

static leat_status_t make_element(const split_dataset_t* dataset, int64_t split,
                                  leat_tensor_t* out) {
  const leat_dataset_t* base = &dataset->base;
  if (dataset->kind == SPLIT_NUMBERS) {
    return leat_range_make_number(base->spec->types[0], split, out);
  }
  if (dataset->kind == SPLIT_TENSORS) {
    leat_element_share(base->tensors, out, base->tensor_count);
    return leat_ok_status();
  }
  for (int i = 0; i < base->tensor_count; ++i) {
    const int64_t count = leat_shape_dim(&base->tensors[i].shape, 0);
    if (split >= 0 && split < count) continue;
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Reading a split failed: it is row %lld, must be below %lld",
                            (long long)split, (long long)count);
  }
  return leat_element_rows(base->tensors, split, out, base->tensor_count);
}

static leat_status_t splits_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                 leat_poll_t* out_poll) {
  split_iterator_t* it = (split_iterator_t*)self;
  const split_dataset_t* dataset = (const split_dataset_t*)self->dataset;
  if (!it->is_asked) {
    it->is_asked = true;
    it->pull = pull;
    atomic_store_explicit(&it->has_come, false, memory_order_relaxed);
    *out_poll = LEAT_POLL_PENDING;
    dataset->source->next(dataset->source, it->pass, take_answer, it);
    return leat_ok_status();
  }
  LEAT_DCHECK(atomic_load_explicit(&it->has_come, memory_order_acquire));
  leat_status_t status = it->status;
  it->status = leat_ok_status();
  it->is_asked = false;
  LEAT_RETURN_IF_ERROR(status);
  if (it->at_end) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(make_element(dataset, it->split, out));
  *out_poll = LEAT_POLL_ELEMENT;
  return leat_ok_status();
}

static void splits_stop(leat_iterator_t* self) {
  leat_status_free(((split_iterator_t*)self)->status);
}

static void splits_destroy(leat_dataset_t* self) {
  split_dataset_t* dataset = (split_dataset_t*)self;
  if (dataset->source) leat_resource_release(&dataset->source->resource);
}

static const leat_dataset_kind_t kSplits = {.name = "Split",
                                            .dataset_bytes = sizeof(split_dataset_t),
                                            .iterator_bytes = sizeof(split_iterator_t),
                                            .destroy = splits_destroy,
                                            .start = splits_start,
                                            .next = splits_next,
                                            .stop = splits_stop,
                                            .cardinality = leat_dataset_unknown_cardinality};

// ---- The kernel ---------------------------------------------------------------------------------

typedef struct split_state_s {
  leat_element_spec_t* spec;
  split_kind_t kind;
  char name[64];
} split_state_t;

static leat_status_t split_create(leat_kernel_creation_t* c, void* state) {
  static const char* const kKinds[] = {"numbers", "rows", "tensors"};
  split_state_t* kept = state;
  leat_string_view_t kind, name;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "kind", &kind));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "split_source", &name));
  while (!leat_string_view_equals(kind, kKinds[kept->kind])) ++kept->kind;
  if (name.size >= sizeof kept->name) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "split_source has %zu bytes, must have fewer than %zu", name.size,
                            sizeof kept->name);
  }
  memcpy(kept->name, name.data ? name.data : "", name.size);
  return leat_element_spec_of_attrs(c, "output_types", &kept->spec);
}

static void split_destroy(void* state) {
  leat_element_spec_release(((split_state_t*)state)->spec);
}

static leat_status_t check_components(leat_kernel_context_t* c, const split_state_t* state) {
  const int count = leat_kernel_input_count(c), wanted = state->spec->count;
  const bool has_inputs = state->kind != SPLIT_NUMBERS;
  if (has_inputs ? count != wanted : count != 0 || wanted != 1) {
    return leat_kernel_invalid(c, "there are %d components, must be %d", count,
                               has_inputs ? wanted : 0);
  }
  for (int i = 0; i < count; ++i) {
    const leat_tensor_t* input = leat_kernel_input(c, i);
    if (input->dtype != state->spec->types[i] ||
        (state->kind == SPLIT_ROWS && input->shape.rank == 0)) {
      return leat_kernel_invalid(c, "component %d is %s of rank %d, must be %s with rows", i,
                                 leat_dtype_name(input->dtype), input->shape.rank,
                                 leat_dtype_name(state->spec->types[i]));
    }
  }
  return leat_ok_status();
}

static leat_status_t split__cpu(leat_kernel_context_t* c) {
  const split_state_t* state = leat_kernel_state(c);
  leat_dataset_t* dataset;
  leat_resource_t* source;
  LEAT_RETURN_IF_ERROR(check_components(c, state));
  LEAT_RETURN_IF_ERROR(leat_resource_manager_find(c->services->resources, LEAT_SV(""),
                                                  leat_string_view_from(state->name),
                                                  &leat_split_source_kind, &source));
  leat_status_t status =
      leat_dataset_create(&kSplits, leat_element_spec_retain(state->spec), 0,
                          leat_kernel_input_count(c), &dataset);
  if (status) {
    leat_resource_release(source);
    return status;
  }
  ((split_dataset_t*)dataset)->source = (leat_split_source_t*)source;
  ((split_dataset_t*)dataset)->kind = state->kind;
  status = leat_dataset_keep_inputs(c, 0, 0, leat_kernel_input_count(c), dataset);
  if (!status) return leat_dataset_set_output(c, dataset);
  leat_dataset_release(dataset);
  return status;
}

const leat_kernel_row_t leat_split_dataset_kernels_cpu[] = {
    LEAT_CPU_KERNEL("_SplitDataset", NULL, split_state_t, split_create, split__cpu,
                    .destroy = split_destroy),
    LEAT_KERNEL_ROWS_END,
};
