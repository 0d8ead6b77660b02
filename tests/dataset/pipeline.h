// Datasets built and read node by node: what the tests beside src/ops/dataset share. Elements are
// of one component, int64 unless a name says otherwise. Every failure that is not asked for fails
// the test.
#ifndef LEAT_TESTS_DATASET_PIPELINE_H_
#define LEAT_TESTS_DATASET_PIPELINE_H_

#include "base/test.h"
#include "op_harness/fixture.h"

typedef struct pipeline_s {
  leat_fixture_t fixture;
  leat_graph_t* graph;
  leat_builder_t b;
} pipeline_t;

void pipeline_open(pipeline_t* p);
void pipeline_close(pipeline_t* p);

// Nodes.
leat_output_t pipeline_number(pipeline_t* p, int64_t value);
leat_output_t pipeline_text(pipeline_t* p, const char* value);
leat_output_t pipeline_bool(pipeline_t* p, bool value);
leat_output_t pipeline_vector(pipeline_t* p, int count, const int64_t* values);
// One of |op| with attributes |types_name| = [dtype] and output_shapes = [unknown].
leat_output_t pipeline_typed(pipeline_t* p, const char* op, leat_outputs_t inputs,
                             const char* types_name, int dtype);
// The same with output_types = [int64].
leat_output_t pipeline_dataset(pipeline_t* p, const char* op, leat_outputs_t inputs);
// The same with more attributes.
leat_output_t pipeline_dataset_with(pipeline_t* p, const char* op, leat_outputs_t inputs,
                                    leat_attrs_t attrs);
leat_output_t pipeline_range(pipeline_t* p, int64_t start, int64_t stop);
leat_output_t pipeline_slices(pipeline_t* p, leat_output_t tensor);
// Of an input and a number.
leat_output_t pipeline_counted(pipeline_t* p, const char* op, leat_output_t input, int64_t count);

// Runs.
LEAT_MUST_USE leat_status_t pipeline_fetch(pipeline_t* p, leat_output_t output,
                                           leat_tensor_t* out_value);
// The only element of a dataset whose elements are of |dtype|.
leat_output_t pipeline_only_element(pipeline_t* p, leat_output_t dataset, int dtype);
// All elements of |dataset|, one after the other, are |wanted|.
void pipeline_expect_elements(pipeline_t* p, leat_output_t dataset, int count,
                              const int64_t* wanted);
#define PIPELINE_EXPECT(p, dataset, ...)                                             \
  pipeline_expect_elements((p), (dataset),                                           \
                           sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), \
                           (const int64_t[]){__VA_ARGS__})
// The same of strings; |wanted| ends with NULL.
void pipeline_expect_texts(pipeline_t* p, leat_output_t dataset, const char* const* wanted);
#define PIPELINE_EXPECT_TEXTS(p, dataset, ...) \
  pipeline_expect_texts((p), (dataset), (const char* const[]){__VA_ARGS__, NULL})
void pipeline_expect_failure(pipeline_t* p, leat_output_t output, leat_status_code_t code);
// That reading |dataset| to its end fails.
void pipeline_expect_bad_elements(pipeline_t* p, leat_output_t dataset, int dtype,
                                  leat_status_code_t code);
int64_t pipeline_cardinality(pipeline_t* p, leat_output_t dataset);

#endif  // LEAT_TESTS_DATASET_PIPELINE_H_
