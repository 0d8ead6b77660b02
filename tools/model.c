// Opens a model from a path so that it can be run: imports its graph, opens a session and restores
// the variables. The subcommands leat run and leat convert call it. What the path is follows from
// its name, and from whether it is a directory:
//
//     a directory, or saved_model.pb(txt) in it   SavedModel, for the tags that were given
//     *.meta, *.meta.pbtxt                        MetaGraphDef, with the checkpoint of its name
//     any other file                              GraphDef, whose variables have no values
//
// A SavedModel without given tags is opened for the tags of its only graph, or of the graph that
// has the tag "serve" alone. All functions complain on stderr themselves, so that the subcommands
// only return the exit code. A model that failed to open halfway has some members set, and
// model_close frees those.
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "command.h"
#include "graph_file.h"
#include "leat/files.h"
#include "view.h"

#define MAX_PATH 4096

int model_is_directory(const char* path) {
  struct stat about;
  return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

int model_source_add_tag(model_source_t* source, const char* command, const char* tag) {
  if (source->tag_count == MODEL_MOST_TAGS) {
    complain_usage(command, "more than %d tags", MODEL_MOST_TAGS);
    return 0;
  }
  source->tags[source->tag_count++] = tag;
  return 1;
}

static int is_file(const char* path) {
  struct stat about;
  return stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

// ---- SavedModels --------------------------------------------------------------------------------

// Writes the tags of graph |index|, such as "serve gpu", to |out|; they are cut where they do not
// fit.
static void print_tags(leat_message_view_t root, size_t index, char* out, size_t room) {
  leat_message_view_t info =
      leat_message_child(leat_message_child(root, "meta_graphs", index), "meta_info_def", 0);
  size_t used = 0;
  out[0] = 0;
  for (size_t i = 0; i < leat_message_count(info, "tags"); ++i) {
    name_t tag = view_string(info, "tags", i);
    used += (size_t)snprintf(out + used, room - used, "%s%.*s", i ? " " : "", (int)tag.size,
                             tag.data);
    if (used >= room) return;
  }
}

// Splits |text| at its blanks; the tags point into it.
static int split_tags(char* text, const char** tags) {
  int count = 0;
  for (char* tag = strtok(text, " "); tag && count < MODEL_MOST_TAGS; tag = strtok(NULL, " ")) {
    tags[count++] = tag;
  }
  return count;
}

// Writes to |text| the tags of the only graph, or of the one for serving. Where there is no such
// graph, it complains with a list of the tags that there are.
static int choose_tags(const model_source_t* source, char* text, size_t room, TF_Status* status) {
  char path[MAX_PATH], listed[512] = "";
  graph_file_t file;
  snprintf(path, sizeof path, "%s/saved_model.pb", source->path);
  if (!is_file(path)) snprintf(path, sizeof path, "%s/saved_model.pbtxt", source->path);
  if (!graph_file_open(path, &file, status)) return complain("%s", TF_Message(status));
  size_t count = leat_message_count(file.root, "meta_graphs"), used = 0;
  bool chosen = false;
  for (size_t i = 0; i < count && !chosen; ++i) {
    print_tags(file.root, i, text, room);
    chosen = count == 1 || !strcmp(text, "serve");
    if (used < sizeof listed) {
      used += (size_t)snprintf(listed + used, sizeof listed - used, "%s'%s'", i ? ", " : "", text);
    }
  }
  graph_file_close(&file);
  if (chosen) return EXIT_OK;
  return complain("%s has graphs for the tags %s; choose by --tag, one for each tag",
                  source->path, count ? listed : "(none)");
}

static int open_saved_model(const model_source_t* source, model_t* m) {
  char text[1024];
  const char* chosen[MODEL_MOST_TAGS];
  const char* const* tags = source->tags;
  int count = source->tag_count;
  if (count == 0) {
    int code = choose_tags(source, text, sizeof text, m->status);
    if (code) return code;
    count = split_tags(text, chosen);
    tags = chosen;
  }
  TF_SessionOptions* options = TF_NewSessionOptions();
  m->bytes = TF_NewBuffer();
  m->session = TF_LoadSessionFromSavedModel(options, NULL, source->path, tags, count, m->graph,
                                            m->bytes, m->status);
  TF_DeleteSessionOptions(options);
  return m->session ? EXIT_OK : complain_status(source->path, m->status);
}

// ---- MetaGraphs and GraphDefs -------------------------------------------------------------------

static int ends_with(const char* path, const char* ending) {
  size_t size = strlen(path), wanted = strlen(ending);
  return size >= wanted && !strcmp(path + size - wanted, ending);
}

static int open_session(model_t* m) {
  TF_SessionOptions* options = TF_NewSessionOptions();
  m->session = TF_NewSession(m->graph, options, m->status);
  TF_DeleteSessionOptions(options);
  return m->session ? EXIT_OK : complain_status("opening a session", m->status);
}

// Whether a checkpoint can be opened under |prefix|; a damaged one counts as none.
static int is_checkpoint(const char* prefix) {
  TF_Status* status = TF_NewStatus();
  leat_checkpoint_t* checkpoint = leat_checkpoint_open(prefix, status);
  leat_checkpoint_close(checkpoint);
  TF_DeleteStatus(status);
  return checkpoint != NULL;
}

// A checkpoint that was not named is restored only if it exists: a graph may have no variables.
static int open_meta_graph(const model_source_t* source, model_t* m) {
  char prefix[MAX_PATH];
  m->bytes = TF_NewBuffer();
  leat_saver_operations_t saver =
      leat_meta_graph_load(source->path, m->graph, m->bytes, m->status);
  if (TF_GetCode(m->status) != TF_OK) return complain_status(source->path, m->status);
  int code = open_session(m);
  size_t ending = strlen(ends_with(source->path, ".meta") ? ".meta" : ".meta.pbtxt");
  snprintf(prefix, sizeof prefix, "%.*s", (int)(strlen(source->path) - ending), source->path);
  if (source->checkpoint) snprintf(prefix, sizeof prefix, "%s", source->checkpoint);
  if (code || (!source->checkpoint && !is_checkpoint(prefix))) return code;
  if (!saver.restore) return complain("%s has no saver to restore %s by", source->path, prefix);
  leat_variables_restore(m->session, &saver, prefix, m->status);
  return TF_GetCode(m->status) == TF_OK ? EXIT_OK : complain_status(prefix, m->status);
}

static int open_graph(const model_source_t* source, model_t* m) {
  TF_Buffer* bytes = graph_file_read(source->path, m->status);
  if (!bytes) return complain("%s", TF_Message(m->status));
  TF_ImportGraphDefOptions* options = TF_NewImportGraphDefOptions();
  TF_GraphImportGraphDef(m->graph, bytes, options, m->status);
  TF_DeleteImportGraphDefOptions(options);
  TF_DeleteBuffer(bytes);
  if (TF_GetCode(m->status) != TF_OK) return complain_status(source->path, m->status);
  return open_session(m);
}

int model_open(const model_source_t* source, model_t* m) {
  *m = (model_t){.graph = TF_NewGraph(), .status = TF_NewStatus()};
  model_source_t own = *source;
  char directory[MAX_PATH];
  const char* slash = strrchr(own.path, '/');
  const char* name = slash ? slash + 1 : own.path;
  if (!strcmp(name, "saved_model.pb") || !strcmp(name, "saved_model.pbtxt")) {
    snprintf(directory, sizeof directory, "%.*s", slash ? (int)(slash - own.path) : 1,
             slash ? own.path : ".");
    own.path = directory;
  }
  int code;
  if (model_is_directory(own.path)) {
    code = open_saved_model(&own, m);
  } else if (ends_with(own.path, ".meta") || ends_with(own.path, ".meta.pbtxt")) {
    code = open_meta_graph(&own, m);
  } else {
    return open_graph(&own, m);
  }
  if (code) return code;
  m->message = leat_message_open("MetaGraphDef", m->bytes, m->status);
  return m->message ? EXIT_OK : complain_status(own.path, m->status);
}

void model_close(model_t* m) {
  if (m->session) TF_DeleteSession(m->session, m->status);
  leat_message_close(m->message);
  TF_DeleteBuffer(m->bytes);
  TF_DeleteGraph(m->graph);
  TF_DeleteStatus(m->status);
}

// ---- Signatures ---------------------------------------------------------------------------------

leat_message_view_t model_signature(const model_t* m, const char* name) {
  leat_message_view_t meta = leat_message_view(m->message);
  leat_message_view_t signature = view_entry(meta, "signature_def", name);
  char listed[512] = "";
  size_t used = 0, count = leat_message_count(meta, "signature_def");
  if (signature.data) return signature;
  for (size_t i = 0; i < count && used < sizeof listed; ++i) {
    name_t key = view_string(leat_message_child(meta, "signature_def", i), "key", 0);
    used += (size_t)snprintf(listed + used, sizeof listed - used, "%s'%.*s'", i ? ", " : "",
                             (int)key.size, key.data);
  }
  complain("there is no signature '%s'%s%s", name, count ? "; there are " : "", listed);
  return signature;
}

int model_signature_tensor(leat_message_view_t signature, const char* field, const char* name,
                           char* out_tensor, size_t room) {
  name_t tensor = view_string(view_entry(signature, field, name), "name", 0);
  if (tensor.size == 0 || tensor.size >= room) return 0;
  snprintf(out_tensor, room, "%.*s", (int)tensor.size, tensor.data);
  return 1;
}
