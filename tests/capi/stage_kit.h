// The stages of compiling that a RunMetadata tells, for the tests that look at them. Every failure
// is a failure of the test.
#ifndef LEAT_TESTS_CAPI_STAGE_KIT_H_
#define LEAT_TESTS_CAPI_STAGE_KIT_H_

#include "base/test.h"
#include "formats/generated/run_metadata.h"
#include "tensorflow/c/c_api.h"

typedef leat_pb_run_metadata_graph_stage_t stage_t;
typedef leat_pb_run_metadata_placement_node_t placed_t;

// Decodes |encoded|, which must outlive the message, as must |arena|.
void stage_kit_read(const TF_Buffer* encoded, leat_arena_t* arena,
                    leat_pb_run_metadata_t* out_metadata);
// The first stage of that name.
const stage_t* stage_kit_find(const leat_pb_run_metadata_t* metadata, const char* name);
// The node as the stage has it; NULL: it is neither new nor other there.
const leat_pb_node_def_t* stage_kit_node(const stage_t* stage, const char* name);
bool stage_kit_is_removed(const stage_t* stage, const char* name);
// What is said of the placement of a node.
const placed_t* stage_kit_placed(const leat_pb_run_metadata_t* metadata, const char* name);
void stage_kit_expect_reason(const leat_pb_run_metadata_t* metadata, const char* name,
                             const char* reason, const char* beside);
// Stages are written as differences: puts them together, and expects the graphs of |devices|
// devices, which the metadata has too, byte by byte. Returns how many nodes these are.
size_t stage_kit_expect_sum(const leat_pb_run_metadata_t* metadata, size_t devices);

#endif  // LEAT_TESTS_CAPI_STAGE_KIT_H_
