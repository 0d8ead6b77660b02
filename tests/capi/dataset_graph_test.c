// DatasetToGraph, DatasetFromGraph and DatasetFingerprint through the front door: a graph that one
// session wrote makes the same elements in another one, whatever functions that has, and what
// cannot be written or read is refused. tests/oracle/dataset_graph_oracle.py exchanges graphs with
// TensorFlow.
#include <stdio.h>
#include <string.h>

#include "capi/dataset_kit.h"
#include "capi/kit.h"

#define BATCHES \
  TYPES("output_types", "DT_INT64") " attr { key: 'output_shapes' value { list { shape { " \
  "unknown_rank: true } } } }"
#define RANGE                         \
  NODE("zero", "Const", , INT64("0")) \
  NODE("one", "Const", , INT64("1"))  \
  NODE("five", "Const", , INT64("5")) \
  NODE("range", "RangeDataset", IN("zero") IN("five") IN("one"), ELEMENT)
#define MAP(name, below, function) \
  NODE(name, "MapDataset", IN(below), ELEMENT NO_ARGUMENTS FUNC("f", function))
#define POLICY(value) " attr { key: 'external_state_policy' value { i: " value " } }"
#define WRITE(dataset, policy) NODE("graph", "DatasetToGraphV2", IN(dataset), POLICY(policy))
#define ALL_OF(dataset)                                                     \
  NODE("many", "Const", , INT64("64"))                                      \
  NODE("batch", "BatchDataset", IN(dataset) IN("many"), BATCHES)            \
  NODE("all", "DatasetToSingleElement", IN("batch"), BATCHES)
#define READ_GRAPH                                          \
  NODE("x", "Placeholder", , TYPE("dtype", "STRING"))       \
  NODE("read", "DatasetFromGraph", IN("x"), )

// A function of one number, which is what |op| gives of it and |other|.
#define WITH(name, op, other)                                                          \
  FUNCTION(name, ARG("a", "INT64") OUT("r", "INT64"),                                  \
           DEF("c", "Const", , INT64(other))                                           \
               DEF("b", op, IN("a") IN("c:output:0"), TYPE("T", "INT64")) RET("r", "b:z:0"))
// A function that calls "Inner".
#define OUTER                                                                          \
  FUNCTION("Outer", ARG("a", "INT64") OUT("r", "INT64"),                               \
           DEF("b", "Inner", IN("a"), ) RET("r", "b:r:0"))
#define RANDOM                                                                         \
  FUNCTION("Random", ARG("a", "INT64") OUT("r", "INT64"),                              \
           DEF("shape", "Const", ,                                                     \
               TYPE("dtype", "INT32") " attr { key: 'value' value { tensor { dtype: DT_INT32 " \
               "tensor_shape { dim { size: 0 } } } } }")                               \
               DEF("u", "RandomUniform", IN("shape:output:0"),                         \
                   TYPE("T", "INT32") TYPE("dtype", "FLOAT"))                          \
                   DEF("b", "Cast", IN("u:output:0"),                                  \
                       TYPE("SrcT", "FLOAT") TYPE("DstT", "INT64")) RET("r", "b:y:0"))
#define PLAIN LIBRARY WITH("Inner", "AddV2", "10") OUTER END

// The graph that |text|'s node "graph" writes.
static TF_Tensor* written(const char* text) {
  functions_t f = functions_open(text);
  TF_Tensor* graph = functions_run(&f, "graph", 0, NULL, NULL);
  functions_close(&f);
  return graph;
}

// What "all" gives of |graph|, which is deleted, in the session |f|.
static void expect_all(functions_t* f, TF_Tensor* graph, int count, const int64_t* wanted) {
  TF_Tensor* all = functions_run(f, "all", 0, graph, NULL);
  assert_int_equal(TF_TensorElementCount(all), count);
  assert_memory_equal(TF_TensorData(all), wanted, (size_t)count * sizeof *wanted);
  TF_DeleteTensor(all);
}

static void expect_in(const char* reader, TF_Tensor* graph, int count, const int64_t* wanted) {
  functions_t f = functions_open(reader);
  expect_all(&f, graph, count, wanted);
  functions_close(&f);
}
#define EXPECT(reader, graph, ...)                                                     \
  expect_in(reader, graph, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), \
            (const int64_t[]){__VA_ARGS__})

static void test_a_graph_brings_its_functions(void** state) {
  EXPECT(READ_GRAPH ALL_OF("read"), written(PLAIN RANGE MAP("map", "range", "Outer")
                                                WRITE("map", "0")),
         10, 11, 12, 13, 14);
}

// Both sessions have a function "Inner". Each of the maps calls its own.
static void test_functions_of_one_name_are_kept_apart(void** state) {
  EXPECT(LIBRARY WITH("Inner", "Mul", "3") OUTER END READ_GRAPH MAP("map", "read", "Outer")
             ALL_OF("map"),
         written(PLAIN RANGE MAP("map", "range", "Outer") WRITE("map", "0")), 30, 33, 36, 39, 42);
}

// Two functions "Inner" would have to be in one graph.
static void test_such_functions_make_no_graph(void** state) {
  functions_t f = functions_open(LIBRARY WITH("Inner", "Mul", "3") OUTER END READ_GRAPH MAP(
      "map", "read", "Outer") WRITE("map", "0"));
  TF_Tensor* graph = written(PLAIN RANGE MAP("map", "range", "Outer") WRITE("map", "0"));
  assert_int_equal(functions_try(&f, "graph", graph, 0), TF_INVALID_ARGUMENT);
  functions_close(&f);
}

static void test_what_was_read_is_written(void** state) {
  TF_Tensor* first = written(PLAIN RANGE MAP("map", "range", "Outer") WRITE("map", "0"));
  functions_t f = functions_open(READ_GRAPH WRITE("read", "0"));
  TF_Tensor* second = functions_run(&f, "graph", 0, first, NULL);
  functions_close(&f);
  EXPECT(READ_GRAPH ALL_OF("read"), second, 10, 11, 12, 13, 14);
}

// Graphs that differ are told apart, and each may come again.
static void test_a_session_reads_many_graphs(void** state) {
  functions_t f = functions_open(READ_GRAPH ALL_OF("read"));
  for (int i = 0; i < 4; ++i) {
    expect_all(&f, written(PLAIN RANGE MAP("map", "range", "Inner") WRITE("map", "0")), 5,
               (const int64_t[]){10, 11, 12, 13, 14});
    expect_all(&f, written(LIBRARY WITH("Inner", "AddV2", "20") OUTER END RANGE MAP(
                       "map", "range", "Inner") WRITE("map", "0")), 5,
               (const int64_t[]){20, 21, 22, 23, 24});
  }
  functions_close(&f);
}

// Sixty datasets, each of which reads the one below twice, would be 2^60 if each way were written.
static void test_a_dataset_below_in_many_ways_is_written_once(void** state) {
  char text[20000] = RANGE;
  char below[8] = "range";
  for (int i = 0; i < 60; ++i) {
    char name[8];
    snprintf(name, sizeof name, "d%d", i);
    snprintf(text + strlen(text), sizeof text - strlen(text),
             NODE("%s", "ConcatenateDataset", IN("%s") IN("%s"), ELEMENT), name, below, below);
    strcpy(below, name);
  }
  strcat(text, WRITE("d59", "0"));
  TF_Tensor* graph = written(text);
  assert_true(TF_StringGetSize(TF_TensorData(graph)) < 40000);
  TF_DeleteTensor(graph);
}

static void test_external_state_is_judged(void** state) {
  static const struct {
    const char* text;
    TF_Code code;
  } cases[] = {
      {LIBRARY RANDOM END RANGE MAP("map", "range", "Random") WRITE("map", "0"), TF_OK},
      {LIBRARY RANDOM END RANGE MAP("map", "range", "Random") WRITE("map", "1"), TF_OK},
      {LIBRARY RANDOM END RANGE MAP("map", "range", "Random") WRITE("map", "2"),
       TF_FAILED_PRECONDITION},
      {LIBRARY RANDOM END RANGE MAP("map", "range", "Random")
           NODE("graph", "DatasetToGraph", IN("map"), ),
       TF_FAILED_PRECONDITION},
      {PLAIN RANGE MAP("map", "range", "Outer") WRITE("map", "2"), TF_OK},
      {PLAIN RANGE MAP("map", "range", "Outer") NODE("graph", "DatasetToGraph", IN("map"), ),
       TF_OK},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    functions_t f = functions_open(cases[i].text);
    assert_int_equal(functions_try(&f, "graph", NULL, 0), cases[i].code);
    functions_close(&f);
  }
}

// A map over |RANGE| whose function adds what node |op| says of the captured handle.
#define READER(op, output, attrs)                                                              \
  LIBRARY FUNCTION("Reader", ARG("a", "INT64") ARG("h", "RESOURCE") OUT("r", "INT64"),         \
                   DEF("v", op, IN("h"), attrs)                                                \
                       DEF("b", "AddV2", IN("a") IN("v:" output ":0"), TYPE("T", "INT64"))     \
                           RET("r", "b:z:0")) END RANGE                                        \
      NODE("map", "MapDataset", IN("range") IN("handle"),                                      \
           ELEMENT TYPES("Targuments", "DT_RESOURCE") FUNC("f", "Reader")) WRITE("map", "1")
#define READ_VARIABLE READER("ReadVariableOp", "value", TYPE("dtype", "INT64"))
#define VARIABLE(name) \
  NODE(name, "VarHandleOp", , TYPE("dtype", "INT64") " attr { key: 'shape' value { shape {} } }")
// The handle |name| when node |filler| has run.
#define FILLED(name, filler) \
  NODE("handle", "Identity", IN(name) IN("^" filler), TYPE("T", "RESOURCE"))

// Each graph has a variable of its own, with the value that the captured one had.
static void test_a_captured_variable_comes_along(void** state) {
  static const char kWriter[] =
      READ_VARIABLE VARIABLE("v") NODE("x", "Placeholder", , TYPE("dtype", "INT64"))
          NODE("set", "AssignVariableOp", IN("v") IN("x"), TYPE("dtype", "INT64"))
              FILLED("v", "set");
  TF_Tensor* graphs[2];
  functions_t writer = functions_open(kWriter);
  for (int64_t i = 0; i < 2; ++i) {
    TF_Tensor* value = TF_AllocateTensor(TF_INT64, NULL, 0, sizeof(int64_t));
    *(int64_t*)TF_TensorData(value) = 100 * (i + 1);
    graphs[i] = functions_run(&writer, "graph", 0, value, NULL);
  }
  functions_close(&writer);
  functions_t f = functions_open(
      READ_GRAPH NODE("y", "Placeholder", , TYPE("dtype", "STRING"))
          NODE("other", "DatasetFromGraph", IN("y"), )
              NODE("both", "ConcatenateDataset", IN("read") IN("other"), ELEMENT) ALL_OF("both"));
  TF_Tensor* all = functions_run(&f, "all", 0, graphs[0], graphs[1]);
  assert_int_equal(TF_TensorElementCount(all), 10);
  for (int64_t i = 0; i < 10; ++i) {
    assert_int_equal(((const int64_t*)TF_TensorData(all))[i], 100 * (1 + i / 5) + i % 5);
  }
  TF_DeleteTensor(all);
  functions_close(&f);
}

static void test_a_captured_table_comes_along(void** state) {
  static const char kTypes[] = TYPE("key_dtype", "INT64") TYPE("value_dtype", "INT64");
  static const char* const kTables[] = {"HashTableV2", "MutableHashTableV2", "AnonymousHashTable"};
  for (size_t i = 0; i < sizeof kTables / sizeof *kTables; ++i) {
    char text[8000];
    snprintf(text, sizeof text,
             READER("LookupTableSizeV2", "size", ) NODE("t", "%s", , "%s")
                 NODE("keys", "Const", , INT64("7"))
                     NODE("row", "ExpandDims", IN("keys") IN("axis"),
                          TYPE("T", "INT64") TYPE("Tdim", "INT64"))
                         NODE("axis", "Const", , INT64("0"))
                             NODE("set", "LookupTableImportV2", IN("t") IN("row") IN("row"),
                                  TYPE("Tin", "INT64") TYPE("Tout", "INT64")) FILLED("t", "set"),
             kTables[i], kTypes);
    EXPECT(READ_GRAPH ALL_OF("read"), written(text), 1, 2, 3, 4, 5);
  }
}

static void expect_unread(const char* writer, TF_Code code) {
  functions_t f = functions_open(READ_GRAPH ALL_OF("read"));
  assert_int_equal(functions_try(&f, "all", written(writer), 0), code);
  functions_close(&f);
}

// What has no content yet has none where it is read, and other resources are left behind.
static void test_what_does_not_come_along_fails_where_it_is_read(void** state) {
  expect_unread(READ_VARIABLE VARIABLE("handle"), TF_FAILED_PRECONDITION);
  expect_unread(LIBRARY FUNCTION("Reader", ARG("a", "INT64") ARG("h", "RESOURCE")
                                               OUT("r", "INT64"),
                                 DEF("n", "QueueSizeV2", IN("h"), )
                                     DEF("b", "Cast", IN("n:size:0"),
                                         TYPE("SrcT", "INT32") TYPE("DstT", "INT64"))
                                         RET("r", "b:y:0")) END RANGE
                    NODE("handle", "FIFOQueueV2", , TYPES("component_types", "DT_INT64"))
                        NODE("map", "MapDataset", IN("range") IN("handle"),
                             ELEMENT TYPES("Targuments", "DT_RESOURCE") FUNC("f", "Reader"))
                            WRITE("map", "1"),
                TF_NOT_FOUND);
}

static TF_Tensor* bytes_tensor(const void* data, size_t size) {
  TF_Tensor* tensor = TF_AllocateTensor(TF_STRING, NULL, 0, sizeof(TF_TString));
  TF_TString* text = TF_TensorData(tensor);
  TF_StringInit(text);
  TF_StringCopy(text, data, size);
  return tensor;
}

static TF_Tensor* graph_of(const char* text) {
  TF_Graph* graph = TF_NewGraph();
  TF_Status* status = TF_NewStatus();
  TF_Buffer* buffer = TF_NewBuffer();
  assert_int_equal(functions_import(graph, text, status), TF_OK);
  TF_GraphToGraphDef(graph, buffer, status);
  assert_int_equal(TF_GetCode(status), TF_OK);
  TF_Tensor* tensor = bytes_tensor(buffer->data, buffer->length);
  TF_DeleteBuffer(buffer);
  TF_DeleteStatus(status);
  TF_DeleteGraph(graph);
  return tensor;
}

#define RETURN(name, index, dtype, from)          \
  NODE(name, "_Retval", IN(from), TYPE("T", dtype) \
       " attr { key: 'index' value { i: " index " } }")

static void test_what_is_no_dataset_is_refused(void** state) {
  functions_t f = functions_open(READ_GRAPH ALL_OF("read"));
  TF_Tensor* graphs[] = {
      kit_string("no graph"),
      graph_of(RANGE),
      graph_of(RANGE RETURN("dataset", "0", "INT64", "one")),
      graph_of(RANGE RETURN("dataset", "0", "VARIANT", "range")
                   RETURN("other", "1", "VARIANT", "range")),
  };
  for (size_t i = 0; i < sizeof graphs / sizeof *graphs; ++i) {
    assert_int_equal(functions_try(&f, "all", graphs[i], 0), TF_INVALID_ARGUMENT);
  }
  // A graph without a function that it calls; and then a sound one.
  TF_Tensor* lacking = graph_of(RANGE MAP("map", "range", "Nowhere")
                                    RETURN("dataset", "0", "VARIANT", "map"));
  assert_int_equal(functions_try(&f, "all", lacking, 0), TF_NOT_FOUND);
  expect_all(&f, graph_of(RANGE RETURN("dataset", "0", "VARIANT", "range")), 5,
             (const int64_t[]){0, 1, 2, 3, 4});
  functions_close(&f);
}

static uint64_t fingerprint(const char* text) {
  functions_t f = functions_open(text);
  TF_Tensor* tensor = functions_run(&f, "print", 0, NULL, NULL);
  uint64_t value = *(const uint64_t*)TF_TensorData(tensor);
  TF_DeleteTensor(tensor);
  functions_close(&f);
  return value;
}

static void test_fingerprints_tell_datasets_apart(void** state) {
#define PRINT(dataset) NODE("print", "DatasetFingerprint", IN(dataset), )
  const char* const texts[] = {
      RANGE PRINT("range"),
      PLAIN RANGE MAP("map", "range", "Inner") PRINT("map"),
      PLAIN RANGE MAP("map", "range", "Outer") PRINT("map"),
      RANGE NODE("take", "TakeDataset", IN("range") IN("one"), ELEMENT) PRINT("take"),
      RANGE NODE("take", "TakeDataset", IN("range") IN("five"), ELEMENT) PRINT("take"),
  };
  enum { COUNT = sizeof texts / sizeof *texts };
  uint64_t prints[COUNT];
  for (int i = 0; i < COUNT; ++i) {
    prints[i] = fingerprint(texts[i]);
    assert_true(prints[i] == fingerprint(texts[i]));
    for (int k = 0; k < i; ++k) assert_true(prints[i] != prints[k]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_graph_brings_its_functions),
      cmocka_unit_test(test_functions_of_one_name_are_kept_apart),
      cmocka_unit_test(test_such_functions_make_no_graph),
      cmocka_unit_test(test_what_was_read_is_written),
      cmocka_unit_test(test_a_session_reads_many_graphs),
      cmocka_unit_test(test_a_dataset_below_in_many_ways_is_written_once),
      cmocka_unit_test(test_external_state_is_judged),
      cmocka_unit_test(test_a_captured_variable_comes_along),
      cmocka_unit_test(test_a_captured_table_comes_along),
      cmocka_unit_test(test_what_does_not_come_along_fails_where_it_is_read),
      cmocka_unit_test(test_what_is_no_dataset_is_refused),
      cmocka_unit_test(test_fingerprints_tell_datasets_apart),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
