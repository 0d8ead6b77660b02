// SavedModels: read, imported and, when they are sound, restored, with limits on memory and time.
// The input is a saved_model.pb, or '#' and a saved_model.pbtxt; there are no variables. The
// model's directory is a file system in memory in which that one file exists, so that whatever else
// a model names is not found. Restoring runs ops that the model chose, for 50 ms at most and not
// where they touch files.
#include "init.h"
#include "memory_file.h"
#include "memory_limit.h"
#include "session/meta_graph.h"

enum { kMostBytes = 1 << 26, kMostMs = 50 };

static bool is_text;

// Only the one file is there.
static leat_status_t stat_one(leat_file_system_t* self, const char* path,
                              leat_file_stat_t* out_stat) {
  (void)self;
  if (!strcmp(path, is_text ? "m/saved_model.pbtxt" : "m/saved_model.pb")) {
    *out_stat = (leat_file_stat_t){.size_bytes = 1};
    return leat_ok_status();
  }
  return leat_make_status(LEAT_NOT_FOUND, "%s is not there", path);
}

// Files are not the target's to write.
static bool touches_files(const char* data, size_t size) {
  static const char* const words[] = {"Save", "Write", "Merge", "File", "Restore", "Summary",
                                      "Print", "Reader", "Dataset"};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(words); ++i) {
    size_t length = strlen(words[i]);
    for (size_t k = 0; k + length <= size; ++k) {
      if (!memcmp(data + k, words[i], length)) return true;
    }
  }
  return false;
}

static leat_status_t restore(leat_meta_graph_t* m, leat_file_system_t* fs) {
  const leat_runtime_t* runtime;
  leat_session_options_t options = leat_session_options_default();
  leat_shared_graph_t* graph;
  leat_session_t* session = NULL;
  options.intra_op_threads = 1;
  LEAT_RETURN_IF_ERROR(leat_runtime_get(&runtime));
  LEAT_RETURN_IF_ERROR(leat_shared_graph_create(runtime, &graph));
  leat_status_t status = leat_session_create(runtime, graph, &options, &session);
  if (!status) status = leat_meta_graph_import(m, graph);
  if (!status && !touches_files(m->bytes.data, m->bytes.size)) {
    status = leat_meta_graph_restore(m, fs, "m", graph, session, kMostMs);
  }
  leat_session_free(session);
  leat_shared_graph_release(graph);
  return leat_meta_graph_explain(m, status);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const char* const tags[] = {"serve"};
  memory_file_system_t fs;
  leat_meta_graph_t m;
  is_text = size > 0 && data[0] == '#';
  memory_file_system_initialize(data + is_text, size - is_text, &fs);
  leat_file_system_vtable_t vtable = *fs.base.vtable;
  vtable.stat = stat_one;
  fs.base.vtable = &vtable;
  memory_limit_install(kMostBytes);
  leat_status_t status = leat_meta_graph_read_saved_model(&fs.base, "m", tags, 1,
                                                          leat_allocator_system(), &m);
  if (!status) {
    status = restore(&m, &fs.base);
    leat_meta_graph_deinitialize(&m);
  }
  leat_status_free(status);
  leat_observer_install(NULL);
  return 0;
}
