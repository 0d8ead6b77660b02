// Static sharding as TensorFlow's workers do it: by a ShardDataset that is put into the graph.
//
//   DATA          behind the whole dataset, apart from what prefetches and states options:
//                 each worker makes all elements, and keeps its own
//   FILE          before what reads the files, so that each worker reads its own files:
//                   names ─▶ shuffle ─▶ [shard] ─▶ shuffle ─▶ interleave(TFRecordDataset)
//                 A shuffle of the names moves behind the shard, since two workers would not
//                 shuffle them alike.
//   FILE_OR_DATA  the one or, where no files are found, the other
//   HINT          the ShardDatasets of the graph that state SHARD_HINT for the number of shards
//
// For FILE the graph is walked from its end: through datasets that pass elements on, or make others
// of them, to one that reads files or whose function does. The walk is made twice, first without a
// change, so that FILE_OR_DATA finds the graph as it was.
#include "data_service/dataset_shard.h"

#include <inttypes.h>
#include <string.h>

#include "tensor/dtype.h"

// Of datasets over datasets, and of functions in functions. A dataset that joins another one with
// itself, again and again, is reached in more ways than can be walked.
#define MAX_DEPTH 1000
#define MAX_VISITS 65536
#define SHARD_HINT -1   // tf.data.experimental.SHARD_HINT

typedef struct shard_s {
  leat_dataset_graph_t* graph;
  int64_t num_workers, index;
  bool changes;  // else only looks whether it could
  int visits;
} shard_t;

static const char* const kReaders[] = {"ArrayRecordDataset", "FixedLengthRecordDataset",
                                       "RecordIODataset",    "SSTableDataset",
                                       "TextLineDataset",    "TFRecordDataset"};
static const char* const kCallers[] = {"ExperimentalParallelInterleaveDataset", "FlatMapDataset",
                                       "InterleaveDataset", "LegacyParallelInterleaveDataset",
                                       "ParallelInterleaveDataset"};
static const char* const kPassing[] = {"AssertNextDataset",
                                       "BatchDataset",
                                       "CacheDataset",
                                       "ExperimentalMapAndBatchDataset",
                                       "ExperimentalParseExampleDataset",
                                       "ExperimentalRebatchDataset",
                                       "FilterDataset",
                                       "FinalizeDataset",
                                       "Identity",
                                       "MapAndBatchDataset",
                                       "MapDataset",
                                       "MaxIntraOpParallelismDataset",
                                       "ModelDataset",
                                       "OptimizeDataset",
                                       "OptionsDataset",
                                       "PaddedBatchDataset",
                                       "ParallelBatchDataset",
                                       "ParallelMapDataset",
                                       "ParseExampleDataset",
                                       "PrefetchDataset",
                                       "PrivateThreadPoolDataset",
                                       "ReduceDataset",
                                       "RebatchDataset",
                                       "RepeatDataset",
                                       "ShardDataset",
                                       "ShuffleAndRepeatDataset",
                                       "ShuffleDataset",
                                       "SkipDataset",
                                       "TakeDataset",
                                       "WindowDataset"};
static const char* const kJoining[] = {"ConcatenateDataset", "ZipDataset"};
static const char* const kEnding[] = {"PrefetchDataset", "OptionsDataset", "FinalizeDataset"};
static const char* const kShuffling[] = {"ShuffleDataset"};

// Whether |op| is |name|, or that with a version: "MapDatasetV2".
static bool is_version_of(leat_string_view_t op, const char* name) {
  const leat_string_view_t base = leat_string_view_from(name);
  if (!leat_string_view_starts_with(op, base)) return false;
  leat_string_view_t rest = leat_string_view_from_index(op, base.size);
  if (!rest.size) return true;
  if (rest.size < 2 || rest.data[0] != 'V') return false;
  for (size_t i = 1; i < rest.size; ++i) {
    if (rest.data[i] < '0' || rest.data[i] > '9') return false;
  }
  return true;
}

static bool is_one_of(leat_string_view_t op, const char* const* names, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (is_version_of(op, names[i])) return true;
  }
  return false;
}
#define IS(node, names) is_one_of((node)->op, (names), LEAT_ARRAY_SIZE(names))

// ---- The shard ----------------------------------------------------------------------------------

// The attributes of a dataset that gives what |dataset| gives.
static leat_status_t copy_spec(leat_dataset_graph_t* graph, const leat_pb_node_def_t* dataset,
                               leat_pb_node_def_t* node) {
  struct {
    leat_pb_attr_value_t types, shapes;
    leat_pb_attr_value_list_value_t type_list, shape_list;
    leat_pb_tensor_shape_proto_t unknown;
    int32_t string;
  }* strings;
  leat_pb_attr_value_t* types = leat_node_def_attr(dataset, "output_types");
  leat_pb_attr_value_t* shapes = leat_node_def_attr(dataset, "output_shapes");
  if (!types) types = leat_node_def_attr(dataset, "Toutput_types");
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&graph->arena, 1, &strings));
  strings->unknown.unknown_rank = true;
  strings->string = LEAT_DTYPE_STRING;
  strings->type_list.type = (leat_pb_int32_list_t){&strings->string, 1};
  strings->shape_list.shape = (leat_pb_tensor_shape_proto_list_t){&strings->unknown, 1};
  strings->types = (leat_pb_attr_value_t){.value_case = 1, .list = &strings->type_list};
  strings->shapes = (leat_pb_attr_value_t){.value_case = 1, .list = &strings->shape_list};
  LEAT_RETURN_IF_ERROR(leat_dataset_graph_set_attr(graph, node, "output_types",
                                                   types ? types : &strings->types));
  return leat_dataset_graph_set_attr(graph, node, "output_shapes",
                                     shapes ? shapes : &strings->shapes);
}

// Adds a ShardDataset over the node |input|, which is a dataset.
static leat_status_t add_shard(const shard_t* shard, leat_string_view_t input,
                               leat_string_view_t* out_name) {
  leat_dataset_graph_t* graph = shard->graph;
  leat_string_view_t count, index;
  leat_pb_node_def_t* node;
  leat_pb_attr_value_t* yes;
  LEAT_RETURN_IF_ERROR(leat_dataset_graph_add_number(graph, shard->num_workers, &count));
  LEAT_RETURN_IF_ERROR(leat_dataset_graph_add_number(graph, shard->index, &index));
  LEAT_RETURN_IF_ERROR(
      leat_dataset_graph_add(graph, "data_service/shard", "ShardDataset", 3, &node));
  node->input.items[0] = input;
  node->input.items[1] = count;
  node->input.items[2] = index;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&graph->arena, 1, &yes));
  *yes = (leat_pb_attr_value_t){.value_case = 5, .b = true};
  LEAT_RETURN_IF_ERROR(leat_dataset_graph_set_attr(graph, node, "require_non_empty", yes));
  *out_name = node->name;
  return copy_spec(graph, leat_dataset_graph_input(graph, node, 0), node);
}

// ---- By element ---------------------------------------------------------------------------------

static leat_status_t shard_by_data(const shard_t* shard) {
  leat_dataset_graph_t* graph = shard->graph;
  leat_pb_node_def_t* reader = &graph->retval;
  leat_pb_node_def_t* node = leat_dataset_graph_input(graph, reader, 0);
  leat_string_view_t name;
  for (int depth = 0; node && IS(node, kEnding) && depth < MAX_DEPTH; ++depth) {
    reader = node;
    node = leat_dataset_graph_input(graph, reader, 0);
  }
  // The inputs stay where they are when nodes are added.
  leat_string_view_t* input = &reader->input.items[0];
  if (!node) return leat_ok_status();  // which import refuses
  LEAT_RETURN_IF_ERROR(add_shard(shard, node->name, &name));
  *input = name;
  return leat_ok_status();
}

// ---- By file ------------------------------------------------------------------------------------

static const leat_pb_function_def_t* find_function(const leat_dataset_graph_t* graph,
                                                   leat_string_view_t name) {
  const leat_pb_function_def_library_t* library = graph->def.library;
  for (size_t i = 0; library && i < library->function.count; ++i) {
    const leat_pb_function_def_t* function = &library->function.items[i];
    if (function->signature && leat_string_view_equal(function->signature->name, name)) {
      return function;
    }
  }
  return NULL;
}

// Whether the function of |node| reads files, or a function in it does.
static bool reads_files(shard_t* shard, const leat_pb_node_def_t* node, int depth) {
  const leat_pb_attr_value_t* attr = leat_node_def_attr(node, "f");
  if (!attr || !attr->func || depth > MAX_DEPTH || ++shard->visits > MAX_VISITS) return false;
  const leat_pb_function_def_t* function = find_function(shard->graph, attr->func->name);
  for (size_t i = 0; function && i < function->node_def.count; ++i) {
    const leat_pb_node_def_t* inner = &function->node_def.items[i];
    if (IS(inner, kReaders) && inner->input.count) return true;
    if (IS(inner, kCallers) && reads_files(shard, inner, depth + 1)) return true;
  }
  return false;
}

static leat_status_t not_found(const leat_pb_node_def_t* node) {
  return leat_make_status(LEAT_NOT_FOUND,
                          "Sharding a dataset by files failed: its source is node '%.*s' (%.*s), "
                          "must be files; DATA shards the elements of any dataset",
                          LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op));
}

// The names of the files may be a tensor, which cannot be sharded.
static bool is_dataset(const leat_pb_node_def_t* node) {
  for (size_t i = 0; i < node->op.size; ++i) {
    const leat_string_view_t rest = leat_string_view_from_index(node->op, i);
    if (leat_string_view_starts_with(rest, LEAT_SV("Dataset"))) return true;
  }
  return false;
}

// Takes the shuffles before |*input| out, and gives the first of them, or a node without an op.
static void take_shuffles(leat_dataset_graph_t* graph, leat_string_view_t* input,
                                   leat_pb_node_def_t* out_shuffle) {
  const leat_pb_node_def_t* node;
  leat_pb_node_def_t reader = {.input = {input, 1}};
  *out_shuffle = (leat_pb_node_def_t){0};
  for (int depth = 0; depth < MAX_DEPTH; ++depth) {
    node = leat_dataset_graph_input(graph, &reader, 0);
    if (!node || !node->input.count) break;
    if (IS(node, kShuffling)) {
      *out_shuffle = *node;
      reader.input.items[0] = node->input.items[0];
    } else {
      reader.input.items = node->input.items;
    }
  }
}

// Puts the shard, and a shuffle that was before it, between |node| and what it reads.
static leat_status_t shard_input(const shard_t* shard, leat_pb_node_def_t* node) {
  leat_dataset_graph_t* graph = shard->graph;
  leat_pb_node_def_t shuffle, *copy;
  leat_string_view_t name;
  const leat_pb_node_def_t* source = leat_dataset_graph_input(graph, node, 0);
  if (!source || !is_dataset(source)) return not_found(source ? source : node);
  if (!shard->changes) return leat_ok_status();
  leat_string_view_t* input = &node->input.items[0];
  take_shuffles(graph, input, &shuffle);
  LEAT_RETURN_IF_ERROR(add_shard(shard, leat_dataset_graph_input(graph, node, 0)->name, &name));
  *input = name;
  if (!shuffle.op.size) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_dataset_graph_add(graph, "data_service/shuffle", "",
                                              shuffle.input.count, &copy));
  copy->op = shuffle.op;
  copy->attr = shuffle.attr;
  memcpy(copy->input.items, shuffle.input.items, shuffle.input.count * sizeof *input);
  copy->input.items[0] = name;
  *input = copy->name;
  return leat_ok_status();
}

// Shards what |reader| reads at |index|.
static leat_status_t shard_by_file(shard_t* shard, leat_pb_node_def_t* reader, size_t index,
                                   int depth) {
  leat_dataset_graph_t* graph = shard->graph;
  leat_pb_node_def_t* node = leat_dataset_graph_input(graph, reader, index);
  if (!node || depth > MAX_DEPTH || ++shard->visits > MAX_VISITS) return not_found(reader);
  if (leat_string_view_equals(node->op, "AssertCardinalityDataset") && node->input.count) {
    // A shard has fewer elements than it states.
    leat_string_view_t* input = &reader->input.items[index];
    leat_pb_node_def_t rest = {.name = node->name, .op = node->op, .input = {input, 1}};
    if (!shard->changes) return shard_by_file(shard, node, 0, depth + 1);
    *input = node->input.items[0];
    return shard_by_file(shard, &rest, 0, depth + 1);
  }
  if (IS(node, kJoining)) {
    const leat_pb_node_def_t inputs = *node;  // nodes may move
    for (size_t i = 0; i < inputs.input.count; ++i) {
      leat_pb_node_def_t copy = inputs;
      LEAT_RETURN_IF_ERROR(shard_by_file(shard, &copy, i, depth + 1));
    }
    return leat_ok_status();
  }
  const bool passes = IS(node, kCallers) || IS(node, kPassing);
  if (IS(node, kReaders) || (passes && reads_files(shard, node, 0))) {
    return shard_input(shard, node);
  }
  return passes ? shard_by_file(shard, node, 0, depth + 1) : not_found(node);
}

static leat_status_t shard_files(shard_t* shard) {
  LEAT_RETURN_IF_ERROR(shard_by_file(shard, &shard->graph->retval, 0, 0));
  shard->changes = true;
  shard->visits = 0;
  return shard_by_file(shard, &shard->graph->retval, 0, 0);
}

// ---- By hint ------------------------------------------------------------------------------------

static bool is_hint(const leat_dataset_graph_t* graph, const leat_pb_node_def_t* node) {
  if (!leat_string_view_equals(node->op, "ShardDataset") || node->input.count < 3) return false;
  const leat_pb_node_def_t* count = leat_dataset_graph_input(graph, node, 1);
  const leat_pb_attr_value_t* value =
      count && leat_string_view_equals(count->op, "Const") ? leat_node_def_attr(count, "value")
                                                           : NULL;
  const leat_pb_tensor_proto_t* tensor = value ? value->tensor : NULL;
  if (!tensor || tensor->dtype != LEAT_DTYPE_INT64) return false;
  if (tensor->int64_val.count) return tensor->int64_val.items[0] == SHARD_HINT;
  int64_t number = 0;
  if (tensor->tensor_content.size != sizeof number) return false;
  memcpy(&number, tensor->tensor_content.data, sizeof number);
  return number == SHARD_HINT;
}

static leat_status_t shard_by_hint(const shard_t* shard) {
  leat_dataset_graph_t* graph = shard->graph;
  leat_string_view_t count, index;
  leat_pb_attr_value_t* yes;
  const size_t node_count = graph->def.node.count;
  LEAT_RETURN_IF_ERROR(leat_dataset_graph_add_number(graph, shard->num_workers, &count));
  LEAT_RETURN_IF_ERROR(leat_dataset_graph_add_number(graph, shard->index, &index));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&graph->arena, 1, &yes));
  *yes = (leat_pb_attr_value_t){.value_case = 5, .b = true};
  for (size_t i = 0; i < node_count; ++i) {
    leat_pb_node_def_t* node = &graph->def.node.items[i];
    if (!is_hint(graph, node)) continue;
    node->input.items[1] = count;
    node->input.items[2] = index;
    LEAT_RETURN_IF_ERROR(leat_dataset_graph_set_attr(graph, node, "require_non_empty", yes));
  }
  return leat_ok_status();
}

// ---- Policies -----------------------------------------------------------------------------------

static leat_status_t apply(shard_t* shard, int32_t policy) {
  leat_status_t status;
  switch (policy) {
    case LEAT_PB_PROCESSING_MODE_DEF_SHARDING_POLICY_FILE:
      return shard_files(shard);
    case LEAT_PB_PROCESSING_MODE_DEF_SHARDING_POLICY_DATA:
      return shard_by_data(shard);
    case LEAT_PB_PROCESSING_MODE_DEF_SHARDING_POLICY_FILE_OR_DATA:
      status = shard_files(shard);
      if (leat_status_code(status) != LEAT_NOT_FOUND) return status;
      leat_status_free(status);
      return shard_by_data(shard);
    case LEAT_PB_PROCESSING_MODE_DEF_SHARDING_POLICY_HINT:
      return shard_by_hint(shard);
    default:
      return leat_ok_status();
  }
}

leat_status_t leat_dataset_graph_shard(leat_dataset_graph_t* graph,
                                       const leat_pb_task_def_t* task) {
  const leat_pb_processing_mode_def_t* mode = task->processing_mode_def;
  shard_t shard = {
      .graph = graph, .num_workers = task->num_workers, .index = task->worker_index};
  const bool is_static =
      mode && mode->sharding_policy >= LEAT_PB_PROCESSING_MODE_DEF_SHARDING_POLICY_FILE;
  if (!is_static) return leat_ok_status();
  if (shard.num_workers < 1 || shard.index < 0 || shard.index >= shard.num_workers) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Sharding a dataset failed: worker_index is %" PRId64
                            ", must be from 0 to %" PRId64,
                            shard.index, shard.num_workers - 1);
  }
  // All of it is the only worker's.
  if (shard.num_workers == 1 &&
      mode->sharding_policy != LEAT_PB_PROCESSING_MODE_DEF_SHARDING_POLICY_HINT) {
    return leat_ok_status();
  }
  return apply(&shard, mode->sharding_policy);
}
