// Kernels of the datasets that parse Example messages. An element of the input is a batch of
// serialized messages; the element that comes of it is a map from feature names to tensors, and its
// components are sorted by the names:
//
//     messages [n] string  ->  dense feature:  [n, shape...]
//                              sparse feature: [3] variant, which box the indices, values and dense
//                                              shape of a SparseTensor, as SerializeSparse does
//                              ragged feature: [] variant, which boxes the row splits and values of
//                                              a ragged tensor, as RaggedTensorToVariant does
//
// The parser is that of the ParseExample ops (ops/input/example_parse_cpu.h), which uses the step's
// thread pool within one batch; the parallel argument is checked and not used, so that batches come
// in order. The dataset keeps copies of the keys and shapes and shares of the default values,
// because it outlives the kernel that made it.
#include "kernel/boxed_tensors.h"
#include "ops/dataset/dataset_cpu.h"
#include "ops/input/example_layout_cpu.h"
#include "ops/kernel_rows.h"

typedef struct parse_dataset_s {
  leat_dataset_t base;
  leat_arena_t arena;
  leat_feature_spec_t* features;
  int* places;  // features[i] becomes component places[i]
} parse_dataset_t;

typedef struct parse_iterator_s {
  leat_iterator_t base;
  leat_tensor_t* messages;        // [components of the input], the element that is being parsed
  leat_feature_spec_t* features;  // a copy of the dataset's features, which the parser fills
} parse_iterator_t;

// ---- Iterators ----------------------------------------------------------------------------------

static leat_status_t parse_start(leat_iterator_t* self) {
  parse_iterator_t* it = (parse_iterator_t*)self;
  leat_allocator_t* allocator = leat_allocator_system();
  LEAT_RETURN_IF_ERROR(
      LEAT_ALLOCATE(allocator, (size_t)self->input->dataset->spec->count, &it->messages));
  return LEAT_ALLOCATE(allocator, (size_t)self->dataset->spec->count, &it->features);
}

static void parse_stop(leat_iterator_t* self) {
  parse_iterator_t* it = (parse_iterator_t*)self;
  leat_allocator_free(leat_allocator_system(), it->messages);
  leat_allocator_free(leat_allocator_system(), it->features);
}

// Joins the messages of |count| tensors into one vector.
static leat_status_t join_messages(const leat_tensor_t* tensors, int count,
                                   leat_tensor_t* out_messages) {
  int64_t total = 0, next = 0;
  for (int i = 0; i < count; ++i) total += tensors[i].shape.element_count;
  leat_shape_t shape = leat_shape_vector(total);
  LEAT_RETURN_IF_ERROR(
      leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_STRING, &shape, out_messages));
  leat_status_t status = leat_ok_status();
  for (int i = 0; i < count && !status; ++i) {
    int64_t size = tensors[i].shape.element_count;
    status = leat_tensor_copy_elements(LEAT_DTYPE_STRING, tensors[i].data,
                                       leat_tensor_data(out_messages, TF_TString) + next, size);
    next += size;
  }
  if (status) leat_tensor_release(out_messages);
  return status;
}

// Moves the three tensors of a sparse feature into variants.
static leat_status_t box_sparse(leat_feature_spec_t* feature, leat_tensor_t* out_component) {
  leat_tensor_t* parts[] = {&feature->indices, &feature->values, &feature->extent};
  leat_shape_t vector = leat_shape_vector(LEAT_ARRAY_SIZE(parts));
  LEAT_RETURN_IF_ERROR(
      leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_VARIANT, &vector, out_component));
  leat_variant_t* variants = out_component->data;
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(parts); ++i) {
    leat_boxed_tensors_t* box;
    leat_status_t status =
        leat_boxed_tensors_create(&leat_tensor_box_vtable, true, 1, &variants[i], &box);
    if (status) {
      leat_tensor_release(out_component);
      return status;
    }
    box->items[0] = leat_tensor_move(parts[i]);
  }
  return leat_ok_status();
}

// Moves the two tensors of a ragged feature into one variant.
static leat_status_t box_ragged(leat_feature_spec_t* feature, leat_tensor_t* out_component) {
  const leat_shape_t scalar = leat_shape_scalar();
  leat_boxed_tensors_t* box;
  LEAT_RETURN_IF_ERROR(
      leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_VARIANT, &scalar, out_component));
  leat_status_t status =
      leat_boxed_tensors_create(&leat_ragged_box_vtable, true, 2, out_component->data, &box);
  if (status) {
    leat_tensor_release(out_component);
    return status;
  }
  box->items[0] = leat_tensor_move(&feature->extent);
  box->items[1] = leat_tensor_move(&feature->values);
  return leat_ok_status();
}

// Moves the parsed features to their components. |out| is zeroed before, so that the caller can
// release it whole after a failure.
static leat_status_t set_components(const parse_dataset_t* dataset, leat_feature_spec_t* features,
                                    leat_tensor_t* out) {
  const leat_element_spec_t* spec = dataset->base.spec;
  for (int i = 0; i < spec->count; ++i) {
    leat_tensor_t* component = &out[dataset->places[i]];
    if (features[i].kind == LEAT_FEATURE_SPARSE) {
      LEAT_RETURN_IF_ERROR(box_sparse(&features[i], component));
    } else if (features[i].kind == LEAT_FEATURE_RAGGED) {
      LEAT_RETURN_IF_ERROR(box_ragged(&features[i], component));
    } else {
      *component = leat_tensor_move(&features[i].values);
    }
  }
  return leat_element_spec_check_element(spec, out, spec->count);
}

// Tells what was counted in each message. Batches are parsed one after the other, by a step that
// waits for each, so that no call goes on when it ends.
static leat_status_t tell(parse_iterator_t* it, const leat_example_counts_t* counts,
                          int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_iterator_tell_each(&it->base, "features_count",
                                                 (double)counts[i].features));
    LEAT_RETURN_IF_ERROR(leat_iterator_tell_each(&it->base, "feature_values_count",
                                                 (double)counts[i].values));
  }
  return leat_iterator_tell_last(&it->base, "thread_utilization", 0);
}

// Parses |messages| into |out|. What the parser has allocated and was not moved out is released.
static leat_status_t parse_messages(parse_iterator_t* it, const leat_tensor_t* messages,
                                    leat_thread_pool_t* pool, leat_tensor_t* out) {
  const parse_dataset_t* dataset = (const parse_dataset_t*)it->base.dataset;
  int count = dataset->base.spec->count;
  memcpy(it->features, dataset->features, (size_t)count * sizeof *it->features);
  leat_example_parse_t parse = {.serialized = messages,
                                .features = it->features,
                                .feature_count = count,
                                .memory = leat_buffer_source_host(),
                                .pool = pool};
  const int64_t message_count = messages->shape.element_count;
  leat_status_t status = leat_ok_status();
  if (it->base.stats) {
    status = LEAT_ALLOCATE(leat_allocator_system(), (size_t)message_count + 1, &parse.counts);
  }
  if (!status) status = leat_example_parse(&parse);
  if (!status && parse.counts) status = tell(it, parse.counts, message_count);
  leat_allocator_free(leat_allocator_system(), parse.counts);
  if (!status) {
    memset(out, 0, (size_t)count * sizeof *out);
    status = set_components(dataset, it->features, out);
    if (status) leat_element_release(out, count);
  }
  leat_example_parse_release(&parse);
  return status;
}

static leat_status_t parse_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                leat_poll_t* out_poll) {
  parse_iterator_t* it = (parse_iterator_t*)self;
  int count = self->input->dataset->spec->count;
  LEAT_RETURN_IF_ERROR(leat_iterator_next(self->input, pull, it->messages, out_poll));
  if (*out_poll != LEAT_POLL_ELEMENT) return leat_ok_status();
  leat_tensor_t messages;
  leat_status_t status = join_messages(it->messages, count, &messages);
  leat_element_release(it->messages, count);
  LEAT_RETURN_IF_ERROR(status);
  status = parse_messages(it, &messages, pull->services->pool, out);
  leat_tensor_release(&messages);
  return status;
}

static void parse_destroy(leat_dataset_t* self) {
  leat_arena_deinitialize(&((parse_dataset_t*)self)->arena);
}

static const leat_dataset_kind_t kParse = {.name = "ParseExample",
                                           .dataset_bytes = sizeof(parse_dataset_t),
                                           .iterator_bytes = sizeof(parse_iterator_t),
                                           .opens_input = true,
                                           .destroy = parse_destroy,
                                           .start = parse_start,
                                           .next = parse_next,
                                           .stop = parse_stop};

// ---- Kernels ------------------------------------------------------------------------------------

typedef struct parser_s {
  leat_element_spec_t* spec;
  leat_example_layout_t layout;
} parser_t;

// Reads the node's attributes. output_types must have one item for each key.
static leat_status_t parser_create(leat_kernel_creation_t* c, void* state) {
  parser_t* parser = state;
  LEAT_RETURN_IF_ERROR(leat_element_spec_of_attrs(c, "output_types", &parser->spec));
  LEAT_RETURN_IF_ERROR(leat_example_layout_create_of_dataset(c, &parser->layout));
  int count = 0;
  for (int i = 0; i < parser->layout.group_count; ++i) count += parser->layout.groups[i].count;
  if (count == parser->spec->count) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Kernel creation failed for node '%.*s' (%s): output_types has %d items, "
                          "must have one for each of %d keys",
                          LEAT_SV_ARG(c->kernel->node_name), c->kernel->row->op,
                          parser->spec->count, count);
}

static void parser_destroy(void* state) {
  parser_t* parser = state;
  leat_element_spec_release(parser->spec);
  leat_example_layout_destroy(&parser->layout);
}

// Sets |places|: a feature's component is the number of keys that sort before its key. Two equal
// keys are an error.
static leat_status_t find_places(const leat_kernel_context_t* c, parse_dataset_t* dataset) {
  int count = dataset->base.spec->count;
  for (int i = 0; i < count; ++i) {
    dataset->places[i] = 0;
    for (int k = 0; k < count; ++k) {
      int order = leat_string_view_compare(dataset->features[k].key, dataset->features[i].key);
      if (order == 0 && k != i) {
        return leat_kernel_invalid(c, "Duplicate key not allowed: %.*s",
                                   LEAT_SV_ARG(dataset->features[i].key));
      }
      dataset->places[i] += order < 0;
    }
  }
  return leat_ok_status();
}

// Makes |feature| independent of the kernel: the key and shape are copied into the dataset's arena,
// and the default value is |fallback|, one of the dataset's tensors.
static leat_status_t keep_feature(parse_dataset_t* dataset, leat_feature_spec_t* feature,
                                  const leat_tensor_t* fallback) {
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&dataset->arena, feature->key, &feature->key));
  if (feature->kind != LEAT_FEATURE_DENSE) return leat_ok_status();
  feature->fallback = fallback;
  return leat_partial_shape_create(feature->shape.rank, feature->shape.dims, &dataset->arena,
                                   &feature->shape);
}

static leat_status_t set_features(leat_kernel_context_t* c, parse_dataset_t* dataset) {
  const parser_t* parser = leat_kernel_state(c);
  leat_example_parse_t wanted = {0};
  int defaults = 0;
  LEAT_RETURN_IF_ERROR(leat_dataset_keep_inputs(c, parser->layout.defaults_input, 0,
                                                dataset->base.tensor_count, &dataset->base));
  LEAT_RETURN_IF_ERROR(leat_example_layout_read(c, &parser->layout, &dataset->arena, &wanted));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&dataset->arena, (size_t)wanted.feature_count, &dataset->places));
  dataset->features = wanted.features;
  for (int i = 0; i < wanted.feature_count; ++i) {
    leat_feature_spec_t* feature = &dataset->features[i];
    LEAT_RETURN_IF_ERROR(keep_feature(dataset, feature, &dataset->base.tensors[defaults]));
    defaults += feature->kind == LEAT_FEATURE_DENSE;
  }
  return find_places(c, dataset);
}

static leat_status_t parse_dataset__cpu(leat_kernel_context_t* c) {
  const parser_t* parser = leat_kernel_state(c);
  int64_t calls;
  leat_dataset_t *input, *dataset;
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, 1, "num_parallel_calls", &calls));
  if (calls <= 0 && calls != LEAT_DATASET_AUTOTUNE) {
    return leat_kernel_invalid(c, "num_parallel_calls must be greater than zero.");
  }
  LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(c, 0), &input));
  for (int i = 0; i < input->spec->count; ++i) {
    if (input->spec->types[i] == LEAT_DTYPE_STRING) continue;
    return leat_kernel_invalid(c, "component %d of the input is of type %s, must be string", i,
                               leat_dtype_name(input->spec->types[i]));
  }
  LEAT_RETURN_IF_ERROR(leat_dataset_create_over(
      &kParse, leat_element_spec_retain(parser->spec), input,
      leat_kernel_input_count(c) - parser->layout.defaults_input, &dataset));
  leat_arena_initialize(leat_allocator_system(), 0, &((parse_dataset_t*)dataset)->arena);
  leat_status_t status = set_features(c, (parse_dataset_t*)dataset);
  if (status) {
    leat_dataset_release(dataset);
    return status;
  }
  return leat_dataset_set_output(c, dataset);
}

#define KERNEL(name)                                                       \
  LEAT_CPU_KERNEL(name, NULL, parser_t, parser_create, parse_dataset__cpu, \
                  .destroy = parser_destroy)

const leat_kernel_row_t leat_parse_dataset_kernels_cpu[] = {
    KERNEL("ParseExampleDataset"),
    KERNEL("ExperimentalParseExampleDataset"),
    KERNEL("ParseExampleDatasetV2"),
    LEAT_KERNEL_ROWS_END,
};
