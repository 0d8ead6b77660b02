// MetaGraphDefs: a graph with what it takes to use it (the saver, signatures, collections, assets).
// One is in a file (.meta), or in a SavedModel, which is a directory of
//
//   saved_model.pb, or .pbtxt     SavedModel: MetaGraphDefs, told apart by their sets of tags
//   variables/variables.*         a checkpoint in the current format
//   assets/*                      files whose paths are fed to the graph
//
// A leat_meta_graph_t owns the bytes that it was read from; one thread at a time uses it. The
// functions read files and run steps, so that they block.
#ifndef LEAT_SESSION_META_GRAPH_H_
#define LEAT_SESSION_META_GRAPH_H_

#include "base/file_system.h"
#include "formats/generated/meta_graph.h"
#include "session/session.h"

typedef struct leat_meta_graph_s {
  leat_arena_t arena;
  leat_allocator_t* allocator;
  char* file;  // the bytes that were read; NULL after leat_meta_graph_parse
  leat_string_view_t bytes;          // the MetaGraphDef, a view
  leat_string_view_t graph_def;      // its graph, a view, not decoded
  leat_pb_meta_graph_def_t message;  // everything but the graph
} leat_meta_graph_t;

// Reads a file, in text format where its name ends in "txt". NOT_FOUND; DATA_LOSS where it is not a
// MetaGraphDef.
LEAT_MUST_USE leat_status_t leat_meta_graph_read(leat_file_system_t* fs, const char* path,
                                                 leat_allocator_t* allocator,
                                                 leat_meta_graph_t* out_meta_graph);
// Reads a serialized message, whose |bytes| must outlive |out_meta_graph|. DATA_LOSS as above.
LEAT_MUST_USE leat_status_t leat_meta_graph_parse(leat_string_view_t bytes,
                                                  leat_allocator_t* allocator,
                                                  leat_meta_graph_t* out_meta_graph);
// Reads the MetaGraphDef of a SavedModel that has exactly these tags, in any order. NOT_FOUND where
// there is none.
LEAT_MUST_USE leat_status_t leat_meta_graph_read_saved_model(
    leat_file_system_t* fs, const char* directory, const char* const* tags, int tag_count,
    leat_allocator_t* allocator, leat_meta_graph_t* out_meta_graph);
void leat_meta_graph_deinitialize(leat_meta_graph_t* meta_graph);

// Finds a collection; NULL where there is none.
const leat_pb_collection_def_t* leat_meta_graph_collection(const leat_meta_graph_t* meta_graph,
                                                           const char* name);
// Adds the nodes of the graph to |graph|, under its lock.
LEAT_MUST_USE leat_status_t leat_meta_graph_import(leat_meta_graph_t* meta_graph,
                                                   leat_shared_graph_t* graph);
// Finds the tensor |name| ("x" or "x:1") in |graph|. NOT_FOUND where it has no such node.
LEAT_MUST_USE leat_status_t leat_meta_graph_find(leat_shared_graph_t* graph,
                                                 leat_string_view_t name,
                                                 leat_output_t* out_output);
// Brings |session|, whose graph is |graph| with the imported nodes, into the state saved in
// |directory|: restores the variables with the assets fed, then runs the initializer. |timeout_ms|
// is for each of the two steps; 0: that of the session.
LEAT_MUST_USE leat_status_t leat_meta_graph_restore(leat_meta_graph_t* meta_graph,
                                                    leat_file_system_t* fs, const char* directory,
                                                    leat_shared_graph_t* graph,
                                                    leat_session_t* session, int64_t timeout_ms);
// Explains why importing or restoring failed with |status|, which is taken: returns it, or
// FAILED_PRECONDITION where the graph has what TensorFlow refuses beforehand, which are constants
// without a value or of no definite size, and functions that call themselves.
LEAT_MUST_USE leat_status_t leat_meta_graph_explain(leat_meta_graph_t* meta_graph,
                                                    leat_status_t status);

#endif  // LEAT_SESSION_META_GRAPH_H_
