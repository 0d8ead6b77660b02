// Graphs with what it takes to use them: a MetaGraphDef in a file (.meta), or in a SavedModel,
// a directory of
//
//   saved_model.pb, or .pbtxt     SavedModel: MetaGraphDefs told apart by their sets of tags
//   variables/variables.*         a checkpoint of the second version
//   assets/*                      files whose paths are fed to the graph
#ifndef LEAT_SESSION_META_GRAPH_H_
#define LEAT_SESSION_META_GRAPH_H_

#include "base/file_system.h"
#include "formats/generated/meta_graph.h"
#include "session/session.h"

typedef struct leat_meta_graph_s {
  leat_arena_t arena;
  leat_allocator_t* allocator;
  char* file;
  leat_string_view_t bytes;          // of the MetaGraphDef
  leat_string_view_t graph_def;      // of its graph
  leat_pb_meta_graph_def_t message;  // all but its graph
} leat_meta_graph_t;

// Reads a file; text when its name ends in "txt". NOT_FOUND; DATA_LOSS when it is no MetaGraphDef.
LEAT_MUST_USE leat_status_t leat_meta_graph_read(leat_file_system_t* fs, const char* path,
                                                 leat_allocator_t* allocator,
                                                 leat_meta_graph_t* out_meta_graph);
// |bytes| of a message, which must outlive |out_meta_graph|. DATA_LOSS.
LEAT_MUST_USE leat_status_t leat_meta_graph_parse(leat_string_view_t bytes,
                                                  leat_allocator_t* allocator,
                                                  leat_meta_graph_t* out_meta_graph);
// Reads the graph of a SavedModel that has exactly these tags; NOT_FOUND when none has.
LEAT_MUST_USE leat_status_t leat_meta_graph_read_saved_model(
    leat_file_system_t* fs, const char* directory, const char* const* tags, int tag_count,
    leat_allocator_t* allocator, leat_meta_graph_t* out_meta_graph);
void leat_meta_graph_deinitialize(leat_meta_graph_t* meta_graph);

// NULL when there is none.
const leat_pb_collection_def_t* leat_meta_graph_collection(const leat_meta_graph_t* meta_graph,
                                                           const char* name);
// Adds the graph to |graph|.
LEAT_MUST_USE leat_status_t leat_meta_graph_import(leat_meta_graph_t* meta_graph,
                                                   leat_shared_graph_t* graph);
// The tensor |name| ("x", "x:1"). NOT_FOUND.
LEAT_MUST_USE leat_status_t leat_meta_graph_find(leat_shared_graph_t* graph,
                                                 leat_string_view_t name,
                                                 leat_output_t* out_output);
// Brings |session| on |graph|, which the graph_def was imported into, to the state that was saved
// in |directory|: variables and assets, then the initialiser.
LEAT_MUST_USE leat_status_t leat_meta_graph_restore(leat_meta_graph_t* meta_graph,
                                                    leat_file_system_t* fs, const char* directory,
                                                    leat_shared_graph_t* graph,
                                                    leat_session_t* session, int64_t timeout_ms);
// Why importing or restoring failed: |status|, or FAILED_PRECONDITION for what TensorFlow looks for
// before it tries: constants without a value or of no certain size, functions that call themselves.
LEAT_MUST_USE leat_status_t leat_meta_graph_explain(leat_meta_graph_t* meta_graph,
                                                    leat_status_t status);

#endif  // LEAT_SESSION_META_GRAPH_H_
