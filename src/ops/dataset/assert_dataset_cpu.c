// Kernels of the datasets that give the elements of their input and state what stands around them
// in the pipeline, so that a test of an optimizer sees what it has made of a pipeline.
//
// AssertNextDataset states which datasets read it, the nearest first. They are not known before
// somebody reads the pipeline, so that the whole is walked from its top when an iterator over it is
// made; a pipeline without such datasets is not walked (leat_dataset_t.asserts). The names are
// those of TensorFlow's iterators, "FiniteTake" or "Zip[1]". What a dataset that a function returns
// states is not looked at: TensorFlow's name of what reads it has the number of the call.
//
// AssertPrevDataset states which datasets are below it, each as a NameAttrList in text: the name of
// the op, of any version. A dataset here keeps no attributes of its node, so that a statement about
// these is UNIMPLEMENTED.
#include <ctype.h>

#include "base/string_builder.h"
#include "formats/generated/attr_value.h"
#include "formats/wire/text.h"
#include "ops/dataset/dataset_cpu.h"
#include "ops/kernel_rows.h"

// Where |name| without a version, a "V2" or the like at its end, ends.
static size_t unversioned_size(leat_string_view_t name) {
  size_t size = name.size;
  while (size && isdigit((unsigned char)name.data[size - 1])) --size;
  return size < name.size && size && name.data[size - 1] == 'V' ? size - 1 : name.size;
}

static bool matches_any_version(leat_string_view_t asserted, leat_string_view_t name) {
  return leat_string_view_equal(asserted, name) ||
         leat_string_view_equal(asserted,
                                leat_string_view_make(name.data, unversioned_size(name)));
}

static leat_string_view_t assertion(const leat_dataset_t* dataset, int64_t index) {
  return leat_tensor_string_at(&dataset->tensors[0], index);
}

static leat_status_t pass_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                               leat_poll_t* out_poll) {
  return leat_iterator_next(self->input, pull, out, out_poll);
}

// ---- What is above ------------------------------------------------------------------------------

static const leat_dataset_kind_t kAssertNext = {.name = "AssertNext",
                                                .dataset_bytes = sizeof(leat_dataset_t),
                                                .iterator_bytes = sizeof(leat_iterator_t),
                                                .opens_input = true,
                                                .next = pass_next};

// Datasets that read one dataset twice double the ways that lead to it, and each way has other
// datasets above. This is the limit of datasets that are met on all ways together.
enum { MAX_WAYS = 1 << 20 };

// A dataset on the way from the top, which reads the next one down as its input |input|.
typedef struct above_s {
  const struct above_s* up;
  leat_dataset_t* dataset;
  int input;
} above_t;

// TensorFlow's names of iterators that are not made of the op's name, by the op without its
// version. A number in brackets says which input it is.
static const struct {
  const char *op, *name;
  int first_number;  // of input 0; -1: there is none
} kIteratorNames[] = {
    {"CacheDataset", "MemoryCacheImpl", -1},
    {"ConcatenateDataset", "Concatenate", 0},
    {"DirectedInterleaveDataset", "DirectedInterleave", 1},
    {"RepeatDataset", "FiniteRepeat", 0},
    {"ShuffleAndRepeatDataset", "ShuffleAndRepeat", -1},
    {"ShuffleDataset", "Shuffle", -1},
    {"SkipDataset", "FiniteSkip", -1},
    {"SlidingWindowDataset", "Slide", -1},
    {"TakeDataset", "FiniteTake", -1},
    {"ZipDataset", "Zip", 0},
};

// Appends the name of the iterator over the dataset of |above|: as a rule the op's name without
// "Experimental" and "Dataset".
static void append_iterator_name(const above_t* above, leat_string_builder_t* out) {
  const leat_string_view_t former = LEAT_SV("Experimental"), dataset = LEAT_SV("Dataset");
  leat_string_view_t op = above->dataset->node.op->name;
  if (leat_string_view_starts_with(op, former)) op = leat_string_view_from_index(op, former.size);
  const leat_string_view_t noun = leat_string_view_make(op.data, unversioned_size(op));
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kIteratorNames); ++i) {
    if (!leat_string_view_equals(noun, kIteratorNames[i].op)) continue;
    const bool is_endless = leat_string_view_equals(noun, "RepeatDataset") &&
                            leat_dataset_cardinality(above->dataset) == LEAT_CARDINALITY_INFINITE;
    leat_string_builder_print(out, "%s", is_endless ? "ForeverRepeat" : kIteratorNames[i].name);
    if (kIteratorNames[i].first_number < 0) return;
    leat_string_builder_print(out, "[%d]", above->input - kIteratorNames[i].first_number);
    return;
  }
  const bool has_noun = leat_string_view_ends_with(noun, dataset);
  leat_string_builder_append(out, leat_string_view_make(noun.data, noun.size - has_noun *
                                                                       dataset.size));
  leat_string_builder_append(out, leat_string_view_from_index(op, noun.size));
}

static leat_status_t check_name(const above_t* above, leat_string_view_t asserted, int64_t index) {
  leat_string_builder_t name;
  leat_string_builder_initialize(leat_allocator_system(), &name);
  append_iterator_name(above, &name);
  leat_status_t status = leat_status_clone(name.status);
  if (!status && !matches_any_version(asserted, leat_string_builder_view(&name))) {
    status = leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Asserted transformation matching %.*s at offset %lld but "
                              "encountered %s transformation instead.",
                              LEAT_SV_ARG(asserted), (long long)index, name.data);
  }
  leat_string_builder_deinitialize(&name);
  return status;
}

// Checks what |dataset|, an AssertNextDataset, states of the datasets above it.
static leat_status_t check_above(const leat_dataset_t* dataset, const above_t* above) {
  const int64_t count = dataset->tensors[0].shape.element_count;
  int64_t found = 0;
  for (const above_t* a = above; a; a = a->up) ++found;
  if (count > found) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Asserted next %lld transformations but encountered only %lld.",
                            (long long)count, (long long)found);
  }
  for (int64_t i = 0; i < count; ++i, above = above->up) {
    LEAT_RETURN_IF_ERROR(check_name(above, assertion(dataset, i), i));
  }
  return leat_ok_status();
}

// Options, and datasets that are part of another one, have no iterators in TensorFlow.
static bool has_name(const leat_dataset_t* dataset) {
  return dataset->node.op && !leat_string_view_equals(dataset->node.op->name, "OptionsDataset");
}

static leat_status_t check_below(leat_dataset_t* dataset, const above_t* above, int64_t* ways) {
  if (!dataset->asserts) return leat_ok_status();
  if (--*ways < 0) {
    return leat_make_status(LEAT_RESOURCE_EXHAUSTED,
                            "AssertNextDataset is read in more than %d ways", MAX_WAYS);
  }
  if (dataset->kind == &kAssertNext) LEAT_RETURN_IF_ERROR(check_above(dataset, above));
  for (int i = 0; i < dataset->input_count; ++i) {
    const above_t own = {above, dataset, i};
    LEAT_RETURN_IF_ERROR(check_below(dataset->inputs[i], has_name(dataset) ? &own : above, ways));
  }
  return leat_ok_status();
}

leat_status_t leat_dataset_check_assertions(leat_dataset_t* dataset) {
  int64_t ways = MAX_WAYS;
  return check_below(dataset, NULL, &ways);
}

// ---- What is below ------------------------------------------------------------------------------

static leat_status_t check_transformation(const leat_dataset_t* dataset, leat_string_view_t text,
                                          leat_arena_t* arena) {
  leat_pb_name_attr_list_t asserted;
  LEAT_RETURN_IF_ERROR(leat_status_annotate(
      leat_text_parse(&leat_pb_name_attr_list_descriptor, text, arena, &asserted),
      "Couldn't parse a transformation"));
  if (!matches_any_version(asserted.name, dataset->node.op->name)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Asserted transformation matching '%.*s', but found '%.*s'.",
                            LEAT_SV_ARG(asserted.name), LEAT_SV_ARG(dataset->node.op->name));
  }
  if (!asserted.attr.count) return leat_ok_status();
  return leat_make_status(LEAT_UNIMPLEMENTED,
                          "asserted attributes of '%.*s', of which this library keeps none",
                          LEAT_SV_ARG(asserted.name));
}

static leat_status_t assert_prev_start(leat_iterator_t* self) {
  const int64_t count = self->dataset->tensors[0].shape.element_count;
  const leat_dataset_t* below = self->dataset;
  for (int64_t i = 0; i < count; ++i) {
    leat_arena_t arena;
    do {
      if (!below->input_count) {
        return leat_make_status(LEAT_INVALID_ARGUMENT,
                                "Asserted previous %lld transformations but encountered only "
                                "%lld.",
                                (long long)count, (long long)i);
      }
      below = below->inputs[below->input_count - 1];
    } while (!below->node.op);
    leat_arena_initialize(leat_allocator_system(), 512, &arena);
    leat_status_t status = check_transformation(below, assertion(self->dataset, i), &arena);
    leat_arena_deinitialize(&arena);
    if (status) return leat_status_annotate(status, "Failure checking transformations");
  }
  return leat_ok_status();
}

static const leat_dataset_kind_t kAssertPrev = {.name = "AssertPrev",
                                                .dataset_bytes = sizeof(leat_dataset_t),
                                                .iterator_bytes = sizeof(leat_iterator_t),
                                                .opens_input = true,
                                                .start = assert_prev_start,
                                                .next = pass_next};

// ---- The kernels --------------------------------------------------------------------------------

static leat_status_t make_asserting(leat_kernel_context_t* c, const leat_dataset_kind_t* kind) {
  const leat_element_spec_state_t* node = leat_kernel_state(c);
  const leat_shape_t* shape = &leat_kernel_input(c, 1)->shape;
  leat_dataset_t *input, *dataset;
  LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(c, 0), &input));
  if (shape->rank != 1) {
    return leat_kernel_invalid(c, "transformations has shape %s, must be a vector",
                               LEAT_SHAPE_TEXT(shape));
  }
  LEAT_RETURN_IF_ERROR(leat_element_spec_check(node->spec, input->spec));
  LEAT_RETURN_IF_ERROR(leat_dataset_create_over(kind, leat_element_spec_retain(node->spec), input,
                                                1, &dataset));
  dataset->asserts = dataset->asserts || kind == &kAssertNext;
  leat_status_t status = leat_dataset_keep_inputs(c, 1, 0, 1, dataset);
  if (!status) return leat_dataset_set_output(c, dataset);
  leat_dataset_release(dataset);
  return status;
}

static leat_status_t next__cpu(leat_kernel_context_t* c) { return make_asserting(c, &kAssertNext); }
static leat_status_t prev__cpu(leat_kernel_context_t* c) { return make_asserting(c, &kAssertPrev); }

#define KERNEL(name, how)                                                                \
  LEAT_CPU_KERNEL(name, NULL, leat_element_spec_state_t, leat_element_spec_state_create, \
                  how##__cpu, .destroy = leat_element_spec_state_destroy)

const leat_kernel_row_t leat_assert_dataset_kernels_cpu[] = {
    KERNEL("AssertNextDataset", next),
    KERNEL("ExperimentalAssertNextDataset", next),
    KERNEL("AssertPrevDataset", prev),
    LEAT_KERNEL_ROWS_END,
};
