// Graphs of datasets as messages: what a dispatcher changes of them, which sources a walk finds,
// and where a shard goes. Graphs are short texts, a line for a node: "name Op input input ...".
// Some are what no client makes: a dataset that reads itself, and one that is reached in 2^40 ways,
// on which no walk may hang. What the rewritten graphs give is tested against TensorFlow
// (tests/oracle/data_service_oracle.py).
#include "data_service/dataset_graph.h"

#include <stdio.h>
#include <string.h>

#include "base/test.h"
#include "data_service/dataset_shard.h"
#include "data_service/dataset_sources.h"
#include "formats/wire/encode.h"
#include "formats/wire/text.h"
#include "init.h"

typedef struct fixture_s {
  leat_arena_t arena;
  leat_dataset_graph_t graph;
} fixture_t;

// Appends the NodeDef of a line as text; the spec is that of scalars of int64.
static void add_node(leat_string_builder_t* text, char* line) {
  const char* name = strtok(line, " ");
  const char* op = strtok(NULL, " ");
  leat_string_builder_print(text, "node { name: '%s' op: '%s' device: '/GPU:1' ", name, op);
  for (const char* input; (input = strtok(NULL, " "));) {
    if (!strncmp(input, "f=", 2)) {
      leat_string_builder_print(text, "attr { key: 'f' value { func { name: '%s' } } } ",
                                input + 2);
    } else {
      leat_string_builder_print(text, "input: '%s' ", input);
    }
  }
  leat_string_builder_print(text,
                            "attr { key: '%soutput_types' value { list { type: DT_INT64 } } } "
                            "attr { key: 'output_shapes' value { list { shape { } } } } } ",
                            strcmp(op, "TensorSliceDataset") ? "" : "T");
}

static leat_status_t open_graph(fixture_t* f, const char* lines, const char* library) {
  char *copy = strdup(lines), *line = copy;
  leat_string_builder_t text, bytes;
  leat_pb_graph_def_t def;
  leat_string_view_t kept;
  leat_arena_initialize(leat_allocator_system(), 0, &f->arena);
  leat_string_builder_initialize(leat_allocator_system(), &text);
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  for (char* next; line; line = next) {
    next = strchr(line, '\n');
    if (next) *next++ = 0;
    if (*line) add_node(&text, line);
  }
  leat_string_builder_append(&text, leat_string_view_from(library));
  LEAT_EXPECT_OK(leat_text_parse(&leat_pb_graph_def_descriptor, leat_string_builder_view(&text),
                                 &f->arena, &def));
  LEAT_EXPECT_OK(leat_message_encode(&leat_pb_graph_def_descriptor, &def, &bytes));
  LEAT_EXPECT_OK(leat_arena_copy_string(&f->arena, leat_string_builder_view(&bytes), &kept));
  leat_string_builder_deinitialize(&text);
  leat_string_builder_deinitialize(&bytes);
  free(copy);
  return leat_dataset_graph_initialize(kept, &f->graph);
}

static void close_graph(fixture_t* f) {
  leat_dataset_graph_deinitialize(&f->graph);
  leat_arena_deinitialize(&f->arena);
}

// The way from _Retval along the first inputs, "A<-B<-C" for ops that A reads B reads C.
static void expect_way(const fixture_t* f, const char* expected) {
  char way[1000] = "";
  const leat_pb_node_def_t* node = leat_dataset_graph_input(&f->graph, &f->graph.retval, 0);
  for (int i = 0; node && i < 20; ++i) {
    snprintf(way + strlen(way), sizeof way - strlen(way), "%s%.*s", i ? "<-" : "",
             LEAT_SV_ARG(node->op));
    node = leat_dataset_graph_input(&f->graph, node, 0);
  }
  assert_string_equal(way, expected);
}

// ---- Reading and preparing ----------------------------------------------------------------------

static void a_graph_must_have_a_dataset(void** state) {
  static const char* const kWrong[] = {"", "a RangeDataset", "ret _Retval", "ret _Retval other"};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kWrong); ++i) {
    fixture_t f;
    LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT, open_graph(&f, kWrong[i], ""));
    leat_arena_deinitialize(&f.arena);
  }
}

static void devices_go_and_tables_get_names(void** state) {
  fixture_t f, again;
  leat_string_builder_t bytes;
  LEAT_EXPECT_OK(open_graph(&f, "t HashTableV2\nd RangeDataset\nret _Retval d:0",
                            "library { function { signature { name: 'f' } "
                            "node_def { name: 'n' op: 'NoOp' device: '/GPU:2' } } }"));
  LEAT_EXPECT_OK(leat_dataset_graph_prepare(&f.graph));
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  LEAT_EXPECT_OK(leat_dataset_graph_write(&f.graph, true, &bytes));
  LEAT_EXPECT_OK(leat_dataset_graph_initialize(leat_string_builder_view(&bytes), &again.graph));
  for (size_t i = 0; i < again.graph.def.node.count; ++i) {
    const leat_pb_node_def_t* node = &again.graph.def.node.items[i];
    const leat_pb_attr_value_t* shares = leat_node_def_attr(node, "use_node_name_sharing");
    assert_int_equal(node->device.size, 0);
    assert_int_equal(shares && shares->b, leat_string_view_equals(node->op, "HashTableV2"));
  }
  assert_int_equal(again.graph.def.library->function.items->node_def.items->device.size, 0);
  leat_dataset_graph_deinitialize(&again.graph);
  leat_string_builder_deinitialize(&bytes);
  close_graph(&f);
}

// ---- Sources ------------------------------------------------------------------------------------

static leat_status_t find_sources(fixture_t* f, bool rewrites, leat_dataset_sources_t* out) {
  const leat_runtime_t* runtime;
  LEAT_EXPECT_OK(leat_runtime_get(&runtime));
  return leat_dataset_graph_find_sources(&f->graph, runtime->ops, rewrites, out);
}

static void sources_are_found_in_order(void** state) {
  static leat_dataset_sources_t sources;
  fixture_t f;
  LEAT_EXPECT_OK(open_graph(&f,
                            "a Const\nr RangeDataset a a a\ns TensorSliceDataset a\n"
                            "z ZipDataset s r s\nt TakeDataset z a\nret _Retval t",
                            ""));
  for (int rewrites = 0; rewrites < 2; ++rewrites) {
    LEAT_EXPECT_OK(find_sources(&f, rewrites, &sources));
    assert_int_equal(sources.count, 3);
    assert_int_equal(sources.items[0].kind, LEAT_SOURCE_ROWS);
    assert_int_equal(sources.items[1].kind, LEAT_SOURCE_NUMBERS);
    assert_int_equal(sources.items[2].kind, LEAT_SOURCE_ROWS);
  }
  expect_way(&f, "TakeDataset<-ZipDataset<-_SplitDataset<-Const");
  close_graph(&f);
}

// A dataset that is joined with itself 40 times over, from |first| on.
static void print_doubled(const char* first, leat_string_builder_t* out) {
  leat_string_builder_initialize(leat_allocator_system(), out);
  leat_string_builder_append(out, leat_string_view_from(first));
  for (int i = 1; i <= 40; ++i) {
    leat_string_builder_print(out, "\nz%d ZipDataset z%d z%d", i, i - 1, i - 1);
  }
  leat_string_builder_append(out, LEAT_SV("\nret _Retval z40"));
}

static void walks_end(void** state) {
  static leat_dataset_sources_t sources;
  leat_string_builder_t numbers, files;
  print_doubled("z0 RangeDataset", &numbers);
  print_doubled("s TensorSliceDataset\nz0 TFRecordDataset s", &files);
  const struct {
    const char* lines;
    leat_status_code_t code;
  } kCases[] = {
      {numbers.data, LEAT_RESOURCE_EXHAUSTED},
      {files.data, LEAT_UNIMPLEMENTED},
      {"r RepeatDataset r\nret _Retval r", LEAT_INVALID_ARGUMENT},
      {"r RepeatDataset gone\nret _Retval r", LEAT_INVALID_ARGUMENT},
      {"r TextLineDataset\nret _Retval r", LEAT_UNIMPLEMENTED},
      {"r NoSuchDataset\nret _Retval r", LEAT_NOT_FOUND},
  };
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kCases); ++i) {
    fixture_t f;
    LEAT_EXPECT_OK(open_graph(&f, kCases[i].lines, ""));
    LEAT_EXPECT_CODE(kCases[i].code, find_sources(&f, true, &sources));
    leat_pb_processing_mode_def_t mode = {
        .sharding_policy = LEAT_PB_PROCESSING_MODE_DEF_SHARDING_POLICY_FILE};
    const leat_pb_task_def_t task = {.processing_mode_def = &mode, .num_workers = 2};
    leat_status_t status = leat_dataset_graph_shard(&f.graph, &task);
    assert_true(!status || leat_status_code(status) == LEAT_NOT_FOUND);
    leat_status_free(status);
    close_graph(&f);
  }
  leat_string_builder_deinitialize(&numbers);
  leat_string_builder_deinitialize(&files);
}

// ---- Shards -------------------------------------------------------------------------------------

static void shards_go_where_they_belong(void** state) {
  enum { FILE_ = 2, DATA, EITHER };
  static const struct {
    int policy;
    const char *lines, *way;
  } kCases[] = {
      {DATA, "r RangeDataset\np PrefetchDataset r\no OptionsDataset p\nret _Retval o",
       "OptionsDataset<-PrefetchDataset<-ShardDataset<-RangeDataset"},
      {FILE_, "s TensorSliceDataset\nb Const\nf ShuffleDatasetV3 s b\nm FlatMapDataset f f=read\n"
              "ret _Retval m",
       "FlatMapDataset<-ShuffleDatasetV3<-ShardDataset<-TensorSliceDataset"},
      {FILE_, "s TensorSliceDataset\nm MapDataset s f=other\nr TFRecordDatasetV2 m\n"
              "c AssertCardinalityDataset r\nb BatchDatasetV2 c\nret _Retval b",
       "BatchDatasetV2<-TFRecordDatasetV2<-ShardDataset<-MapDataset<-TensorSliceDataset"},
      {EITHER, "r RangeDataset\nm MapDataset r f=other\nret _Retval m",
       "ShardDataset<-MapDataset<-RangeDataset"},
  };
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kCases); ++i) {
    fixture_t f;
    leat_pb_processing_mode_def_t mode = {.sharding_policy = kCases[i].policy};
    const leat_pb_task_def_t task = {
        .processing_mode_def = &mode, .num_workers = 2, .worker_index = 1};
    LEAT_EXPECT_OK(open_graph(&f, kCases[i].lines,
                              "library { function { signature { name: 'read' } node_def { "
                              "name: 'n' op: 'TFRecordDataset' input: 'args_0' } } "
                              "function { signature { name: 'other' } } }"));
    LEAT_EXPECT_OK(leat_dataset_graph_shard(&f.graph, &task));
    expect_way(&f, kCases[i].way);
    close_graph(&f);
  }
}

static void shards_of_nobody_are_refused(void** state) {
  static const int64_t kWrong[][2] = {{0, 0}, {2, 2}, {2, -1}, {-1, 0}};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kWrong); ++i) {
    fixture_t f;
    leat_pb_processing_mode_def_t mode = {
        .sharding_policy = LEAT_PB_PROCESSING_MODE_DEF_SHARDING_POLICY_DATA};
    const leat_pb_task_def_t task = {.processing_mode_def = &mode,
                                     .num_workers = kWrong[i][0],
                                     .worker_index = kWrong[i][1]};
    LEAT_EXPECT_OK(open_graph(&f, "r RangeDataset\nret _Retval r", ""));
    LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT, leat_dataset_graph_shard(&f.graph, &task));
    close_graph(&f);
  }
}

int main(void) {
  const struct CMUnitTest cases[] = {
      cmocka_unit_test(a_graph_must_have_a_dataset),
      cmocka_unit_test(devices_go_and_tables_get_names),
      cmocka_unit_test(sources_are_found_in_order),
      cmocka_unit_test(walks_end),
      cmocka_unit_test(shards_go_where_they_belong),
      cmocka_unit_test(shards_of_nobody_are_refused),
  };
  return cmocka_run_group_tests(cases, NULL, NULL);
}
